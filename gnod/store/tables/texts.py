"""Read the text of a document in parts. Reading a long text at once would take several times its size in memory, and
hold the GIL."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from gnod.store import packing
from gnod.store.connection import Connection

# Nearly all texts are shorter. They are read at once.
WHOLE_BYTES = packing.MOST_BYTES
_PART_BYTES = 256 << 10
# A sample takes this many characters of each text. Most texts are shorter by about this factor.
_SAMPLE_CHARACTERS, _SHORTER = 20_000, 8


def whole(connection: Connection, mirror_hash: str) -> str | None:
    """Return the text of a mirror, or None if it is long or unknown."""
    found = connection.execute(
        "SELECT packed, iif(octet_length(markdown) <= ?, markdown, NULL) FROM mirrors WHERE mirror_hash = ?",
        (WHOLE_BYTES, mirror_hash),
    ).fetchone()
    if not found:
        return None
    # Unpack it here: SQLite would copy the text twice.
    packed, text = found
    return text if packed is None else packing.unpack(connection, packed)


def parts(connection: Connection, mirror_hash: str) -> Iterator[str]:
    """Yield the text of a mirror: at once if it is short, else in parts that end at a line or word. Yields nothing for
    an unknown mirror."""
    found = connection.execute(
        "SELECT rowid, octet_length(markdown), unpacked(packed) FROM mirrors WHERE mirror_hash = ?", (mirror_hash,)
    ).fetchone()
    if not found:
        return
    rowid, left, unpacked = found
    if unpacked is not None:
        yield unpacked
        return
    size = left if left <= WHOLE_BYTES else _PART_BYTES
    decoder = codecs.getincrementaldecoder("utf-8")()
    text = ""
    with connection.blob_open("main", "mirrors", "markdown", rowid, False) as blob:
        while left > 0:
            data = blob.read(min(size, left))
            left -= len(data)
            text += decoder.decode(data, final=left == 0)
            end = _end_of_part(text) if left else len(text)
            yield text[:end]
            text = text[end:]


def sample(connection: Connection, characters: int) -> Iterator[tuple[str | None, str]]:
    """Yield languages and beginnings of texts, spread over the index: at most `characters` in total."""
    count = int(connection.execute("SELECT count(*) FROM mirrors").get)
    rows = connection.execute(
        "SELECT (SELECT language FROM documents d WHERE d.mirror_hash = m.mirror_hash AND active LIMIT 1),"
        " substr(coalesce(unpacked(packed), markdown), 1, ?) FROM mirrors m WHERE m.rowid % ? = 0",
        (_SAMPLE_CHARACTERS, max(count * _SAMPLE_CHARACTERS // (characters * _SHORTER), 1)),
    )
    for language, text in rows:
        yield language, text
        characters -= len(text)
        if characters <= 0:
            break


def stretch(connection: Connection, mirror_hash: str, start: int, end: int) -> str:
    """Return `text[start:end]` of a mirror's text."""
    start = max(start, 0)
    found = connection.execute(
        "SELECT substr(coalesce(unpacked(packed), markdown), ?, ?) FROM mirrors"
        " WHERE mirror_hash = ? AND octet_length(markdown) <= ?",
        (start + 1, max(end - start, 0), mirror_hash, WHOLE_BYTES),
    ).fetchone()
    return str(found[0]) if found else _stretch_of_long(connection, mirror_hash, start, end)


def _stretch_of_long(connection: Connection, mirror_hash: str, start: int, end: int) -> str:
    kept: list[str] = []
    for part in parts(connection, mirror_hash):
        kept.append(part[max(start, 0) : max(end, 0)])
        start -= len(part)
        end -= len(part)
        if end <= 0:
            break
    return "".join(kept)


def _end_of_part(text: str) -> int:
    return text.rfind("\n") + 1 or text.rfind(" ") + 1 or len(text)
