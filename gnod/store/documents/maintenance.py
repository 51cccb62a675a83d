"""Counting and compacting."""

from __future__ import annotations

from typing import NamedTuple

from gnod.store.connection import Connection
from gnod.store.documents import writing
from gnod.store.tables import changes, scans


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
    """Delete the rows of removed documents, and content and vectors without an active document. Returns how many
    documents and contents."""
    connection.execute("DELETE FROM documents WHERE NOT active")
    removed = connection.changes()
    changes.prune(connection)
    scans.purge(connection)
    contents = writing.drop_orphans(connection, writing.orphans(connection))
    for table in ("content_vectors", "embedding_errors"):
        connection.execute(f"DELETE FROM {table} WHERE embed_hash NOT IN (SELECT embed_hash FROM chunks)")
    connection.execute("INSERT INTO documents_fts (documents_fts) VALUES ('optimize')")
    return removed, contents


def compact(connection: Connection) -> None:
    """Return free pages to the file system. Outside a transaction; needs as much free space as the index takes."""
    connection.execute("PRAGMA temp_store = FILE")  # VACUUM makes a copy of the index
    try:
        connection.execute("VACUUM")
    finally:
        connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
