"""The scratch index of an experiment."""

from __future__ import annotations

from pathlib import Path

from gnod.store.database import Database
from gnod.tuning.experiment import remove_left_overs


def test_only_left_overs_of_the_same_index_are_removed(tmp_path: Path) -> None:
    for name in ("tuning-index-work.a1b2", "tuning-index-work-2.c3d4"):
        (tmp_path / name).mkdir()
    database = Database(tmp_path / "index-work.sqlite")
    remove_left_overs(database)
    database.close()
    assert [path.name for path in tmp_path.glob("tuning-*")] == ["tuning-index-work-2.c3d4"]
