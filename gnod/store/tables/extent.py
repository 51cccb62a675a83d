"""How much text is to be embedded, and in which languages."""

from __future__ import annotations

from typing import NamedTuple

from gnod.store.connection import Connection

_SAMPLES = 200
_SAMPLE_CHARACTERS = 500


class Extent(NamedTuple):
    """`languages`: documents of each, by ISO 639-1 code. `samples`: beginnings of documents whose language is not
    known."""

    documents: int
    chunks: int
    characters: int
    languages: dict[str, int]
    samples: list[str]


def extent(connection: Connection) -> Extent:
    """Return the extent of all active documents. Equal chunks count once."""
    ((chunks, characters),) = connection.execute(
        "SELECT count(*), coalesce(sum(length), 0) FROM ("
        " SELECT max(end - start) AS length FROM chunks k"
        " WHERE EXISTS (SELECT 1 FROM documents d WHERE d.mirror_hash = k.mirror_hash AND d.active)"
        " GROUP BY embed_hash)"
    )
    languages = dict(
        connection.execute(
            "SELECT language, count(*) FROM documents WHERE active AND language IS NOT NULL GROUP BY language"
        )
    )
    samples = connection.execute(
        "SELECT substr(c.markdown, 1, ?1) FROM documents d JOIN content c ON c.mirror_hash = d.mirror_hash"
        " WHERE d.active AND d.language IS NULL LIMIT ?2",
        (_SAMPLE_CHARACTERS, _SAMPLES),
    )
    documents = connection.execute("SELECT count(*) FROM documents WHERE active").get
    return Extent(int(documents), int(chunks), int(characters), languages, [text for (text,) in samples])
