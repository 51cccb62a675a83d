"""Times that cannot be: files from before 1970 and from the far future, saved again and again with any of them."""

from __future__ import annotations

import os

import pytest

from tests.machine import Machine

pytestmark = pytest.mark.slow

YEAR_S = 31_556_952
YEARS = [-60, -1, 0, 1, 57, 100, 250, 292, 293, 400]


def test_files_of_any_time_are_indexed_and_their_changes_noticed(machine: Machine) -> None:
    machine.write(**{f"n{year}_md": f"# Year {year}\n\nkestrel" for year in YEARS})
    for year in YEARS:
        os.utime(machine.notes / f"n{year}.md", (year * YEAR_S, year * YEAR_S))
    machine.ok("init", str(machine.notes), "--name", "notes")
    status = machine.quiet()
    assert len(machine.paths("kestrel", "-n", "50")) == len(YEARS), status["errors"]
    assert machine.ok("ls")
    for turn in range(2):  # the second time the clock has gone back
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
