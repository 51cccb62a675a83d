"""Read the words of the full-text index: its terms that consist of letters. Knows FTS5; keeps nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gnod.store.database import Connection

MIN_LETTERS, MAX_LETTERS = 3, 32
# A range of first letters is read at a time: a long statement could not be interrupted, and would need more memory.
_RANGE = 64
_LAST = chr(0x10FFFF)
# ASCII characters that are no letters: identifiers and numbers are no words.
_NO_LETTER = "'*[!-@[-`{-~]*'"


class Words(NamedTuple):
    """Terms of one length that begin with the same letter, joined. `frequent`: they occur in more than one document."""

    length: int
    first: str
    frequent: bool
    joined: str


def read(connection: Connection) -> Iterator[Words]:
    """Yield all words. Needs one snapshot."""
    connection.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab ('main', 'documents_fts', 'row')")
    try:
        at = "a"
        while first := connection.execute("SELECT term FROM temp.vocabulary WHERE term >= ? LIMIT 1", (at,)).get:
            below = _end_of_range(ord(first[0]))
            yield from _between(connection, first[0], below)
            if below == _LAST:
                break
            at = below
    finally:
        connection.execute("DROP TABLE IF EXISTS temp.vocabulary")  # an interrupt may have rolled it back


def _between(connection: Connection, first: str, below: str) -> Iterator[Words]:
    rows = connection.execute(
        "SELECT length(term), substr(term, 1, 1), doc > 1, group_concat(term, '') FROM temp.vocabulary"
        f" WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ? AND term NOT GLOB {_NO_LETTER}"
        " GROUP BY 1, 2, 3",
        (first, below, MIN_LETTERS, MAX_LETTERS),
    )
    return (Words(length, letter, bool(frequent), joined) for length, letter, frequent, joined in rows)


def _end_of_range(code: int) -> str:
    """Return the first character behind the range of this one: ASCII letters have ranges of their own."""
    return chr(code + 1 if code < 128 else min((code // _RANGE + 1) * _RANGE, 0x10FFFF))
