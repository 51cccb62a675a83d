"""A daemon that is killed at random moments of its work loses nothing. Short; `python -m benchmarks.crashes` is long.

`GNOD_CRASHES_SEED` chooses other moments.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from benchmarks import torn_log
from benchmarks.crashes import Crashes
from benchmarks.restless_folder import KINDS, RestlessFolder
from gnod.store.database import Database
from tests.end_to_end.index_faults import faults_left_behind

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

KILLS = 12
SEED = int(os.environ.get("GNOD_CRASHES_SEED", "7"))


def test_killed_again_and_again(short_tmp: Path, minilm_gguf: Path) -> None:
    crashes = Crashes(short_tmp, minilm_gguf, SEED, documents=40)
    try:
        crashes.run(KILLS)
    finally:
        crashes.close()
    assert crashes.kills.total() == KILLS
    assert crashes.compared
    assert {event for event in crashes.complaints() if "error" in event} == set()


def test_the_same_seed_makes_the_same_folder(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        folder = RestlessFolder(tmp_path / name, random.Random(3), 30)
        folder.fill()
        folder.change(100)
        made.append({path.relative_to(folder.root): path.read_bytes() for path in folder.files()})
    assert made[0] == made[1]
    assert {path.suffix[1:] for path in made[0]} == set(KINDS)


def test_a_log_is_torn_where_a_power_cut_may_tear_it(tmp_path: Path) -> None:
    """What was torn is a whole state of the past; what a checkpoint has copied is never torn."""
    lost = 0
    for seed in range(30):
        path = tmp_path / f"{seed}.sqlite"
        database = Database(path)
        database.write(lambda c: c.execute("CREATE TABLE t (n INTEGER, filler BLOB)")).result()
        database.maintain(lambda c: c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()).result()
        for number in range(20):
            database.write(lambda c, n=number: c.execute("INSERT INTO t VALUES (?, randomblob(3000))", (n,))).result()  # type: ignore[misc]
            if number == seed % 20:
                database.maintain(lambda c: c.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()).result()
        left = tmp_path / "left.sqlite"
        for suffix in ("", "-wal", "-shm"):  # while it is open: as a crash leaves it
            left.with_name(left.name + suffix).write_bytes(path.with_name(path.name + suffix).read_bytes())
        database.close()
        lost += bool(torn_log.tear(left, random.Random(seed)))
        assert faults_left_behind(left, {}) == []
        after = Database(left)
        rows = [n for (n,) in after.read(lambda c: c.execute("SELECT n FROM t ORDER BY n").fetchall()).result()]
        after.close()
        assert rows == list(range(len(rows)))
        assert len(rows) > seed % 20
        for suffix in ("", "-wal", "-shm"):
            left.with_name(left.name + suffix).unlink(missing_ok=True)
    assert lost > 15
