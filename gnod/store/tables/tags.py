"""Normalise and store the tags of documents. Must not know where a document has them.

`voyage/iceland` also gives its document the tag above it, `voyage`. So filters, counts and engines of shared
collections compare only whole tags.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from gnod.store.connection import Connection

# The maximum number of tags of a document, including the tags above them.
MOST = 1000
# A capital I is the dotless i in Turkish, and the dotted one elsewhere: all four are one letter in a tag.
_DOTTED = re.compile("i\u0307+|ı\u0307*")
# Variation selectors of emoji are invisible.
_SELECTOR = re.compile("[\ufe0e\ufe0f]")


def written(tag: str) -> str:
    """Return a tag without the characters around it.

    >>> written(" #Voyage//Iceland/ ")
    'Voyage/Iceland'
    """
    one_line = unicodedata.normalize("NFC", " ".join(tag.split())).lstrip("#/ ")
    return "/".join(filter(None, map(str.strip, one_line.split("/"))))


def key(tag: str) -> str:
    """Return the form in which tags are compared, ignoring case.

    >>> key("#Voyage"), key("İSTANBUL") == key("ISTANBUL") == key("istanbul")
    ('voyage', True)
    """
    if tag.isascii():
        return written(tag).lower()
    return written(_DOTTED.sub("i", _SELECTOR.sub("", unicodedata.normalize("NFC", tag)).casefold()))


def with_those_above(tags: Iterable[str]) -> dict[str, str]:
    """Return tags by key, as they are written, followed by the tags above them."""
    own = list(map(written, tags))
    found: dict[str, str] = {}
    for tag in chain(own, chain.from_iterable(map(_above, own))):
        if tag:
            found.setdefault(key(tag), tag)
        if len(found) >= MOST:
            break
    return found


def put(connection: Connection, document_id: int, tags: Collection[str]) -> None:
    own = set(map(key, tags))
    rows = ((document_id, tag, shown, tag in own) for tag, shown in with_those_above(tags).items())
    connection.executemany("INSERT INTO tags VALUES (?, ?, ?, ?)", rows)


def of(connection: Connection, document_id: int) -> list[str]:
    """Return the document's own tags, as they are written."""
    rows = connection.execute("SELECT written FROM tags WHERE document_id = ? AND is_own ORDER BY tag", (document_id,))
    return [tag for (tag,) in rows]


def _above(tag: str) -> Iterator[str]:
    """Yield the tags above a tag: `a` and `a/b` above `a/b/c`."""
    parts = tag.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))
