"""Files with impossible times, before 1970 and in the far future, that are saved repeatedly with such times."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.machine import Machine

pytestmark = pytest.mark.slow

YEAR_S = 31_556_952
SHM = Path("/dev/shm")
# The year 9999; just after 2262; the limits of the system; before all calendars.
ABSURD_S = [253_370_764_800, 9_223_372_037, 2**62, 2**63 - 100, -60_000_000_000, -(2**62)]
YEARS = [-60, -1, 0, 1, 57, 100, 250, 292, 293, 400]


def test_files_of_any_time_are_indexed_and_their_changes_noticed(machine: Machine) -> None:
    machine.write(**{f"n{year}_md": f"# Year {year}\n\nkestrel" for year in YEARS})
    for year in YEARS:
        os.utime(machine.notes / f"n{year}.md", (year * YEAR_S, year * YEAR_S))
    machine.ok("init", str(machine.notes), "--name", "notes")
    status = machine.quiet()
    assert len(machine.paths("kestrel", "-n", "50")) == len(YEARS), status["errors"]
    assert machine.ok("ls")
    for turn in range(2):  # in the second round, the clock has gone back
        for year in YEARS:
            path = machine.notes / f"n{year}.md"
            path.write_text(f"# Year {year}\n\nturn{turn}")
            shift = (1 - 2 * turn) * 60
            os.utime(path, (year * YEAR_S + shift, year * YEAR_S + shift))
        machine.ok("index")
        assert len(machine.paths(f"turn{turn}", "-n", "50")) == len(YEARS)
    assert machine.quiet()["freshness"]["current"]
    machine.ok("search", "turn1", "--json")
    machine.ok("status", "--errors")


def test_times_that_no_calendar_has_are_indexed_and_their_changes_noticed(machine: Machine) -> None:
    """A file system in memory accepts any time; others have limits."""
    if not SHM.is_dir():
        pytest.skip("needs a file system in memory")
    with tempfile.TemporaryDirectory(dir=SHM, prefix="gnod-") as name:
        notes = Path(name)
        for time_s in ABSURD_S:
            _save(notes / f"n{time_s}.md", "first zq", time_s)
        machine.ok("collection", "add", str(notes), "--name", "notes")
        status = machine.quiet()
        assert len(machine.paths("first", "-n", "50")) == len(ABSURD_S), status["errors"]
        modified = {each["path"]: each["modified"] for each in machine.json("ls")["documents"]}
        assert modified["n253370764800.md"].startswith("2262-0")
        assert not machine.json("get", "notes/n253370764800.md")["stale"]
        assert machine.paths("first modified:>2200", "-n", "50"), "they sort as files of the far future"
        for time_s in ABSURD_S:
            _save(notes / f"n{time_s}.md", "other zq", time_s + 60)
        machine.ok("index")
        assert len(machine.paths("other", "-n", "50")) == len(ABSURD_S)
        for words in (["search", "zq sort:modified"], ["status", "--errors"], ["why", str(notes / "n253370764800.md")]):
            machine.ok(*words)


def _save(path: Path, text: str, time_s: int) -> None:
    path.write_text(f"# {path.name}\n\n{text}\n")
    os.utime(path, (time_s, time_s))
