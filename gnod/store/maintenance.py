"""Counting and compacting."""

from __future__ import annotations

from typing import NamedTuple

from gnod.store.database import Connection


class Totals(NamedTuple):
    documents: int
    chunks: int
    bytes: int


def totals(connection: Connection) -> Totals:
    row = connection.execute(
        "SELECT (SELECT count(*) FROM documents WHERE active), (SELECT count(*) FROM chunks),"
        " (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size)"
    ).fetchone()
    assert row is not None
    return Totals(*row)


def purge(connection: Connection) -> tuple[int, int]:
    """Delete the rows that removed documents left, and content that no active document has (there is none unless
    something went wrong). Returns how many of each."""
    connection.execute("DELETE FROM documents WHERE NOT active")
    documents = connection.changes()
    connection.execute("DELETE FROM content WHERE mirror_hash NOT IN (SELECT mirror_hash FROM documents WHERE active)")
    contents = connection.changes()
    connection.execute("INSERT INTO documents_fts (documents_fts) VALUES ('optimize')")
    return documents, contents


def compact(connection: Connection) -> None:
    """Give free pages back to the file system. Outside a transaction; needs as much free disk as the index has."""
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
