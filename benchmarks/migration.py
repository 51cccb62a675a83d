"""Rehearse the first migration: upgrade a copy of a database, and kill the upgrade (SIGKILL) at every step.

    .venv/bin/python -m benchmarks.migration DATABASE [--memories]

DATABASE is an index of gnod (`gnoctl status` prints its path) or its database of memories. The migration has steps that
a later release may need: a column with a value in each row, a table that is filled from another one, an index, and a
rewritten table. The process is killed before each statement, within long statements, and at moments between start and
end. After each kill, the database is opened again: it must equal the old or the upgraded database, row by row. Prints
the time and the largest memory and disk size of the upgrade without a kill.
"""

from __future__ import annotations

import argparse
import filecmp
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import apsw

from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.index_schema import SCHEMA as INDEX
from gnod.store.memory.memory_schema import SCHEMA as MEMORIES
from gnod.store.schema import Schema

# Kill a statement after this many steps of SQLite's virtual machine, while it writes rows.
WITHIN = (2_000, 1_000_000)
MOMENTS = 6

# The statements that record the version and end the transaction.
_OWN = 3
_INDEX = (
    "ALTER TABLE documents ADD COLUMN rehearsed REAL",
    "UPDATE documents SET rehearsed = indexed_at",
    "CREATE TABLE rehearsal (document_id INTEGER PRIMARY KEY, note TEXT NOT NULL) STRICT",
    "INSERT INTO rehearsal SELECT id, title FROM documents",
    "CREATE INDEX rehearsal_by_note ON rehearsal (note)",
    "CREATE TABLE new_dictionaries (id INTEGER PRIMARY KEY, texts INTEGER NOT NULL, data BLOB NOT NULL) STRICT",
    "INSERT INTO new_dictionaries SELECT * FROM dictionaries",
    "DROP TABLE dictionaries",
    "ALTER TABLE new_dictionaries RENAME TO dictionaries",
)
_MEMORIES = (
    "ALTER TABLE memories ADD COLUMN rehearsed INTEGER",
    "UPDATE memories SET rehearsed = updated_ms",
    "CREATE TABLE rehearsal (memory_id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT",
    "INSERT INTO rehearsal SELECT id, body FROM memories",
    "CREATE INDEX rehearsal_by_body ON rehearsal (body)",
)


class Rehearsal(NamedTuple):
    """A schema and the statements of the next migration."""

    schema: Schema
    statements: Sequence[str]

    def next(self, killer: Killer | None = None) -> Schema:
        """Return the schema with the migration; `killer` may kill the process in it."""
        return self.schema._replace(migrations=(*self.schema.migrations, partial(self._migrate, killer)))

    def _migrate(self, killer: Killer | None, connection: Connection) -> None:
        if killer:
            killer.watch(connection)
        for statement in self.statements:
            connection.execute(statement)


REHEARSALS = {"index": Rehearsal(INDEX, _INDEX), "memories": Rehearsal(MEMORIES, _MEMORIES)}


class Killer:
    """Kills this process before a statement, or after some steps of it. The end of the transaction is also a
    statement."""

    def __init__(self, statement: int, steps: int) -> None:
        self._left = statement
        self._steps = steps

    def watch(self, connection: Connection) -> None:
        self._connection = connection
        connection.set_exec_trace(self._trace)

    def _trace(self, *_: object) -> bool:
        if self._left == 0 and self._steps:
            self._connection.set_progress_handler(self._kill, self._steps)
        elif self._left == 0:
            self._kill()
        elif self._left == -1:  # the statement took fewer steps
            os._exit(0)
        self._left -= 1
        return True

    def _kill(self) -> bool:
        os.kill(os.getpid(), signal.SIGKILL)
        return True


def rehearse(database: Path, kind: str, folder: Path) -> Iterator[str]:
    """Yield a report for each kill. Raises AssertionError if data was lost."""
    rehearsal = REHEARSALS[kind]
    copy = folder / "copy.sqlite"
    _copy(database, copy)
    Database(copy, schema=rehearsal.schema).close()  # merges its write-ahead log into the file
    source, upgraded = folder / "source.sqlite", folder / "upgraded.sqlite"
    _copy(copy, source)
    began = time.perf_counter()
    child = _upgrade(copy, kind)
    peak_bytes, disk_bytes = _watched(child, copy)
    assert child.returncode == 0, "the upgrade failed"
    took_s = time.perf_counter() - began
    assert content(copy, columns(source)) == content(source), "data was lost"
    _copy(copy, upgraded)
    yield (
        f"without a kill: {took_s:.1f} s, at most {peak_bytes / 1e6:.0f} MB of memory,"
        f" disk {database.stat().st_size / 1e6:.0f} → at most {disk_bytes / 1e6:.0f} MB"
    )
    for number, steps in product(range(len(rehearsal.statements) + _OWN), (0, *WITHIN)):
        _copy(source, copy)
        if _upgrade(copy, kind, number, steps).wait() == -signal.SIGKILL:  # otherwise the statement is shorter
            yield f"statement {number} after {steps} steps: {_found(copy, rehearsal, source, upgraded)}"
    for moment in range(MOMENTS):
        _copy(source, copy)
        child = _upgrade(copy, kind)
        time.sleep(took_s * (moment + 1) / MOMENTS)
        child.kill()
        child.wait()
        yield f"after {(moment + 1) / MOMENTS:.0%} of the time: {_found(copy, rehearsal, source, upgraded)}"


Columns = dict[str, list[str]]


def columns(path: Path) -> Columns:
    """Return the columns of each table, including the tables of FTS5, but without the schema version."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = connection.execute(
            "SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table'"
            " AND s.sql NOT LIKE 'CREATE VIRTUAL%' AND s.name NOT LIKE 'sqlite_stat%' AND s.name <> 'schema_meta'"
        )
        found: Columns = {}
        for table, column in rows:
            found.setdefault(str(table), []).append(str(column))
        return found
    finally:
        connection.close()


def content(path: Path, of: Columns | None = None) -> dict[str, str]:
    """Return a hash of the rows of each table, over the columns `of` or over all."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return {table: _hash(connection, table, names) for table, names in (of or columns(path)).items()}
    finally:
        connection.close()


def _hash(connection: apsw.Connection, table: str, names: Sequence[str]) -> str:
    seen = hashlib.sha256()
    for row in connection.execute(f'SELECT {", ".join(names)} FROM "{table}"'):
        seen.update(repr(row).encode())
    return seen.hexdigest()


def _found(copy: Path, rehearsal: Rehearsal, source: Path, upgraded: Path) -> str:
    """Open the database with the version that wrote it, compare it, and upgrade it."""
    opened = apsw.Connection(str(copy))
    is_old = opened.execute("SELECT value FROM schema_meta WHERE key = 'version'").get == str(rehearsal.schema.newest)
    opened.close()
    Database(copy, schema=rehearsal.schema if is_old else rehearsal.next()).close()
    assert _is_same(copy, source if is_old else upgraded), "the database is neither the old nor the new one"
    Database(copy, schema=rehearsal.next()).close()
    assert _is_same(copy, upgraded), "a second upgrade gives another database"
    return "as before" if is_old else "upgraded"


def _is_same(path: Path, other: Path) -> bool:
    if filecmp.cmp(path, other, shallow=False):
        return True
    connection = apsw.Connection(str(path))
    is_whole = connection.execute("PRAGMA quick_check").get == "ok"
    connection.close()
    return is_whole and content(path) == content(other)


def _copy(source: Path, target: Path) -> None:
    for suffix in ("-wal", "-shm"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    shutil.copy(source, target)
    if (log := source.with_name(f"{source.name}-wal")).exists():
        shutil.copy(log, target.with_name(f"{target.name}-wal"))


def _upgrade(copy: Path, kind: str, *kill: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.migration", str(copy), "--upgrade", kind, *map(str, kill)]
    return subprocess.Popen(command, cwd=Path(__file__).parents[1])


def _watched(child: subprocess.Popen[bytes], copy: Path) -> tuple[int, int]:
    """Wait for the end of the process; return the largest size of its memory and of the database with its log."""
    ended = threading.Event()
    largest = [0]

    def watch() -> None:
        while not ended.wait(0.05):
            largest[0] = max(largest[0], sum(path.stat().st_size for path in copy.parent.glob(f"{copy.name}*")))

    watching = threading.Thread(target=watch)
    watching.start()
    child.wait()
    ended.set()
    watching.join()
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, largest[0]


def main() -> None:
    parser = argparse.ArgumentParser(description="Rehearse the first migration on a copy of a database.")
    parser.add_argument("database", type=Path)
    parser.add_argument("--memories", action="store_true", help="DATABASE is a database of memories")
    parser.add_argument("--upgrade", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.upgrade:
        kind, *kill = arguments.upgrade
        killer = Killer(*map(int, kill)) if kill else None
        Database(arguments.database, schema=REHEARSALS[kind].next(killer)).close()
        return
    kind = "memories" if arguments.memories else "index"
    with tempfile.TemporaryDirectory(prefix="gnod-migration-", dir="/tmp") as folder:
        for line in rehearse(arguments.database, kind, Path(folder)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
