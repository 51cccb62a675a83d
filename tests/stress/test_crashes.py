"""A daemon that is killed at random moments loses no data. `python -m tests.stress.crashes` runs longer.

`GNOD_CRASHES_SEED` chooses other moments.
"""

from __future__ import annotations

import os
import random
from functools import partial
from pathlib import Path

import pytest

from gnod.store.connection import Connection
from gnod.store.database import Database
from tests.end_to_end.index_faults import faults_left_behind
from tests.stress import torn_log
from tests.stress.crashes import Crashes

pytestmark = pytest.mark.slow

KILLS = 12
SEED = int(os.environ.get("GNOD_CRASHES_SEED", "7"))


@pytest.mark.stress
@pytest.mark.timeout(600)
def test_repeated_kills_lose_no_data(short_tmp: Path, minilm_onnx: Path) -> None:
    crashes = Crashes(short_tmp, minilm_onnx, SEED, documents=40)
    try:
        crashes.run(KILLS)
    finally:
        crashes.close()
    assert crashes.kills.total() == KILLS
    assert crashes.compared
    assert {event for event in crashes.complaints() if "error" in event} == set()


@pytest.mark.stress
def test_a_torn_log_leaves_a_consistent_earlier_state(tmp_path: Path) -> None:
    """Frames that a checkpoint has copied are never torn."""
    lost = 0
    for seed in range(30):
        path = tmp_path / f"{seed}.sqlite"
        database = Database(path)
        database.submit_write(lambda c: c.execute("CREATE TABLE t (n INTEGER, filler BLOB)")).result()
        database.submit_maintenance(lambda c: c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()).result()
        for number in range(20):
            insert = partial(_insert, number)
            database.submit_write(insert).result()
            if number == seed % 20:
                database.submit_maintenance(lambda c: c.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()).result()
        left = tmp_path / "left.sqlite"
        for suffix in ("", "-wal", "-shm"):  # copied while the database is open, as after a crash
            left.with_name(left.name + suffix).write_bytes(path.with_name(path.name + suffix).read_bytes())
        database.close()
        lost += bool(torn_log.tear(left, random.Random(seed)))
        assert faults_left_behind(left, {}) == []
        after = Database(left)
        rows = [n for (n,) in after.submit_read(lambda c: c.execute("SELECT n FROM t ORDER BY n").fetchall()).result()]
        after.close()
        assert rows == list(range(len(rows)))
        assert len(rows) > seed % 20
        for suffix in ("", "-wal", "-shm"):
            left.with_name(left.name + suffix).unlink(missing_ok=True)
    assert lost > 15


def _insert(number: int, connection: Connection) -> None:
    connection.execute("INSERT INTO t VALUES (?, randomblob(3000))", (number,))
