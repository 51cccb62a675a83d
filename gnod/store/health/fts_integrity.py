"""Check that the full-text index has every word that was put into it.

SQLite's integrity check cannot: a list of segments that lost some is valid, and FTS5 does not store the text
(`content = ''`). But it stores the number of words of each document, and counting the words of the index takes a fifth
of the time of that check.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnod.store.database import Connection

_MOST_BYTES = 9  # of a number; the last has eight bits


def has_lost_words(connection: Connection) -> bool:
    """Compare the number of words with the sum over all documents. Needs one snapshot. Raises apsw.Error."""
    kept = "SELECT sz FROM documents_fts_docsize WHERE typeof(sz) = 'blob'"
    expected = sum(sum(_numbers(sizes)) for (sizes,) in connection.execute(kept))
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab ('main', 'documents_fts', 'row')")
    try:
        return int(connection.execute("SELECT total(cnt) FROM temp.words").get) != expected
    finally:
        connection.execute("DROP TABLE IF EXISTS temp.words")  # an interrupt may have rolled it back


def _numbers(sizes: bytes) -> Iterator[int]:
    """Yield the numbers of a record of document sizes (SQLite's varints): words in each column."""
    number, length = 0, 0
    for byte in sizes:
        length += 1
        if length == _MOST_BYTES or byte < 0x80:
            yield number << 8 | byte if length == _MOST_BYTES else number << 7 | byte
            number, length = 0, 0
        else:
            number = number << 7 | byte & 0x7F
