"""The journal of sent data: totals, limits, damage, and use by several processes."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gnod.errors import StorageFailed
from gnod.store.tables.egress_journal import TOGETHER, EgressJournal

SERVER = "http://10.1.2.3:8080/v1#m"


def test_totals_by_collection_count_a_request_once(tmp_path: Path) -> None:
    path = tmp_path / "data" / "egress.sqlite"
    journal = EgressJournal(path)
    assert journal.lines() == []
    assert not path.exists(), "looking makes no file"
    journal.note(SERVER, "embed", ["docs", "notes"], requests=1, size=100)
    journal.note(SERVER, "embed", ["docs"], requests=0, size=20)
    lines = {each.collection: each for each in journal.lines()}
    assert [(name, each.requests, each.bytes) for name, each in lines.items()] == [
        (TOGETHER, 1, 120),
        ("docs", 1, 120),
        ("notes", 1, 100),
    ]
    assert lines["docs"].first < lines["docs"].last
    other = EgressJournal(path)
    other.note(SERVER, "rerank", ["docs"], requests=1, size=1)
    assert len(journal.lines()) == 5
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {0o600}
    assert {each.name for each in path.parent.iterdir()} == {path.name, f"{path.name}-wal", f"{path.name}-shm"}
    other.close()
    journal.close()
    assert len(EgressJournal(path).lines()) == 5


def test_the_oldest_lines_are_deleted(tmp_path: Path) -> None:
    journal = EgressJournal(tmp_path / "egress.sqlite", most=10, pruned_after=4)
    for number in range(100):
        journal.note(f"http://10.1.2.3:{number}/v1#m", "embed", ["docs"], requests=1, size=1)
    kept = journal.lines()
    assert len(kept) <= 14
    assert f"http://10.1.2.3:{99}/v1#m" in {each.address for each in kept}


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "egress.sqlite"
    path.write_bytes(b"no database" * 1000)
    journal = EgressJournal(path)
    journal.note(SERVER, "embed", ["docs"], requests=1, size=1)
    assert len(journal.lines()) == 2
    assert (tmp_path / "egress.sqlite.damaged").exists()


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "egress.sqlite").mkdir()
    with pytest.raises(StorageFailed, match=r"egress\.sqlite cannot be used"):
        EgressJournal(tmp_path / "egress.sqlite").note(SERVER, "embed", [], requests=1, size=1)
