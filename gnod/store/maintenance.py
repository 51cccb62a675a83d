"""Counting and compacting."""

from __future__ import annotations

from typing import NamedTuple

from gnod.store import changes, documents
from gnod.store.database import Connection


class Totals(NamedTuple):
    documents: int
    chunks: int
    bytes: int
    vectors: int


def totals(connection: Connection) -> Totals:
    row = connection.execute(
        "SELECT (SELECT count(*) FROM documents WHERE active), (SELECT count(*) FROM chunks),"
        " (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size),"
        " (SELECT count(*) FROM content_vectors)"
    ).fetchone()
    assert row is not None
    return Totals(*row)


def purge(connection: Connection) -> tuple[int, int]:
    """Delete the rows that removed documents left, and content and vectors that belong to no active document (there
    are none unless something went wrong). Returns how many documents and contents."""
    connection.execute("DELETE FROM documents WHERE NOT active")
    removed = connection.changes()
    changes.prune(connection)
    contents = documents.drop_orphans(connection)
    for table in ("content_vectors", "embedding_errors"):
        connection.execute(f"DELETE FROM {table} WHERE embed_hash NOT IN (SELECT embed_hash FROM chunks)")
    connection.execute("INSERT INTO documents_fts (documents_fts) VALUES ('optimize')")
    return removed, contents


def compact(connection: Connection) -> None:
    """Give free pages back to the file system. Outside a transaction; needs as much free disk as the index has."""
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
