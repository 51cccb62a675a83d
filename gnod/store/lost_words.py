"""Tell whether the lexical index still has every word that was put into it.

SQLite's own checks cannot: the list of an index's parts that has lost some is sound in itself, and the text that would
show it is not kept by FTS5 (`content = ''`). But each document's number of words is, in a table of its own, and
counting what the index has takes a fifth of the time of those checks.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnod.store.database import Connection

_MOST_BYTES = 9  # of a number; the last has eight bits


def are_lost(connection: Connection) -> bool:
    """Count all words. Must see one consistent state; may be on a read-only connection. Raises apsw.Error."""
    kept = "SELECT sz FROM documents_fts_docsize WHERE typeof(sz) = 'blob'"
    expected = sum(sum(_numbers(sizes)) for (sizes,) in connection.execute(kept))
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab ('main', 'documents_fts', 'row')")
    try:
        return int(connection.execute("SELECT total(cnt) FROM temp.words").get) != expected
    finally:
        connection.execute("DROP TABLE IF EXISTS temp.words")  # an interrupt may have taken it back already


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
