"""An index with an older schema, filled from a current index. Its full-text table is empty, because it cannot be read
back, and every document is due for reading."""

from __future__ import annotations

from pathlib import Path

import apsw

from gnod.store import migrations, schema
from gnod.store.health.faults import INDEX

_TABLES = ("collections", "content", "documents", "tags", "chunks", "ingest_errors")


def make(path: Path, version: int, source: Path) -> None:
    """Write an index with schema `version` and the documents of `source`."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA application_id = {INDEX.application_id}")
    for number in range(1, version + 1):
        with connection:
            migrations.MIGRATIONS[number - 1](connection)
            schema.record(connection, number)
            if number == 1:
                migrations.record_tokenizer(connection)
    connection.execute("ATTACH ? AS today", (str(source),))
    with connection:
        for table in _TABLES:
            theirs = {str(row[1]) for row in connection.execute(f"PRAGMA today.table_info({table})")}
            names = [str(row[1]) for row in connection.execute(f"PRAGMA main.table_info({table})")]
            columns = ", ".join(name for name in names if name in theirs and name != "served_by")
            connection.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM today.{table}")
        connection.execute("UPDATE documents SET mtime_ns = -1")
        connection.execute("INSERT INTO documents_fts (rowid, body) SELECT id, '' FROM documents WHERE active")
    connection.close()
