"""Killing the first migration at any step loses no data. `benchmarks.migration` does the same with a large index."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from benchmarks import migration
from gnod.store.database import Database
from gnod.store.memory.memory_schema import SCHEMA as MEMORIES
from tests.small_index import SmallIndex

pytestmark = [pytest.mark.slow, pytest.mark.stress, pytest.mark.timeout(900)]

DOCUMENTS = 5_000


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("index") / "index.sqlite"
    small = SmallIndex(path)
    small.add({f"{number}.md": f"# Note {number}\n\nThe words of number {number}.\n" for number in range(DOCUMENTS)})
    small.close()
    return path


@pytest.fixture(scope="module")
def memories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database of memories. Their content is sealed, so any bytes will do."""
    path = tmp_path_factory.mktemp("memories") / "memories.sqlite"
    Database(path, schema=MEMORIES).close()
    connection = apsw.Connection(str(path))
    with connection:
        connection.execute("INSERT INTO namespaces VALUES (1, x'01', x'02', 0)")
        connection.executemany(
            "INSERT INTO memories (name, namespace_id, kind, created_ms, updated_ms, fingerprint, body)"
            " VALUES (?, 1, 'fact', 0, ?, ?, ?)",
            ((f"m{number}", number, number.to_bytes(8), os.urandom(200)) for number in range(DOCUMENTS)),
        )
    connection.close()
    return path


@pytest.mark.parametrize("kind", list(migration.REHEARSALS))
def test_a_migration_that_is_killed_leaves_the_old_database_or_the_new_one(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    database: Path = request.getfixturevalue(kind)
    found = [line.rpartition(": ")[2] for line in migration.rehearse(database, kind, tmp_path)]
    statements = len(migration.REHEARSALS[kind].statements)
    assert found.count("as before") >= statements + 3, "it was killed before each of them, and within some"
