"""Read the words of the full-text index: the terms that consist of letters. Keeps nothing.

The postings have the document frequency of each term. FTS5 would read every posting to count it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gnod.store.connection import Connection
from gnod.store.keyword_index.postings.view import view_of

MIN_LETTERS, MAX_LETTERS = 3, 32
# Read a range of first letters at a time. One long statement could not be interrupted, and would need more memory.
_RANGE = 64
_FIRST, _LAST = "a", chr(0x10FFFF)
# ASCII characters that are not letters. Identifiers and numbers are not words.
_NO_LETTER = "'*[!-@[-`{-~]*'"
_WORD = re.compile(rf"[^!-@\[-`{{-~]{{{MIN_LETTERS},{MAX_LETTERS}}}")


class Words(NamedTuple):
    """The joined terms with one length and first letter. `frequent`: they occur in more than one document."""

    length: int
    first: str
    frequent: bool
    joined: str


def is_soon_quicker(connection: Connection) -> bool:
    """Tell whether the postings will soon have all words. Reading the words from the table takes seven times as
    long."""
    return view_of(connection).is_nearly_complete


def read(connection: Connection) -> Iterator[Words]:
    """Yield all words. Needs one snapshot."""
    view = view_of(connection)
    yield from _of_frequencies(view.frequencies(_FIRST.encode())) if view.is_complete else _from_table(connection)


def _of_frequencies(frequencies: Mapping[bytes, int]) -> Iterator[Words]:
    together: defaultdict[tuple[int, str, bool], list[str]] = defaultdict(list)
    for term, documents in frequencies.items():
        word = term.decode(errors="surrogatepass")
        if word >= _FIRST and _WORD.fullmatch(word):
            together[len(word), word[0], documents > 1].append(word)
    return (Words(*key, "".join(words)) for key, words in together.items())


def _from_table(connection: Connection) -> Iterator[Words]:
    connection.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab ('main', 'documents_fts', 'row')")
    try:
        at = _FIRST
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
    """Return the first character after the range of this one. Each ASCII letter has its own range."""
    return chr(code + 1 if code < 128 else min((code // _RANGE + 1) * _RANGE, 0x10FFFF))
