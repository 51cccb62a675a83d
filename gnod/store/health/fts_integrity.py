"""Check that the full-text index has every word that was put into it.

SQLite's integrity check cannot: a list of segments that lost some is valid, and FTS5 does not store the text
(`content = ''`). But it stores the number of words of each document, and counting the words of the index takes a fifth
of the time of that check.
"""

from __future__ import annotations

from gnod.store.connection import Connection
from gnod.store.keyword_index.columns import column_sizes


def has_lost_words(connection: Connection) -> bool:
    """Compare the number of words with the sum over all documents. Needs one snapshot. Raises apsw.Error."""
    kept = "SELECT sz FROM documents_fts_docsize WHERE typeof(sz) = 'blob'"
    expected = sum(sum(column_sizes(sizes)) for (sizes,) in connection.execute(kept))
    connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab ('main', 'documents_fts', 'row')")
    try:
        return int(connection.execute("SELECT total(cnt) FROM temp.words").get) != expected
    finally:
        connection.execute("DROP TABLE IF EXISTS temp.words")  # an interrupt may have rolled it back
