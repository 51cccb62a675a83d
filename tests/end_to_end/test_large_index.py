"""The postings of an index: the same results after a crash and after damage."""

from __future__ import annotations

import pytest

from tests.machine import Machine, wait_until

pytestmark = pytest.mark.slow


@pytest.mark.stress
def test_postings_serve_searches_through_crashes_and_damage(machine: Machine) -> None:
    machine.configure()
    machine.write(**{f"n{n}_md": f"# Bird {n}\n\nA kestrel saw bird number {n} of many.\n" for n in range(30)})
    machine.ok("index")
    hold(machine, 30)
    assert "postings for fast keyword search: all documents" in machine.ok("status")
    machine.write(late_md="# Late\n\nA kestrel came late.\n")
    machine.ok("index")
    assert machine.paths('"came late"') == ["late.md"]
    hold(machine, 31)

    machine.hang_up()
    machine.kill()
    (machine.notes / "late.md").unlink()
    machine.start()
    machine.ok("index")
    assert len(machine.paths("kestrel", "--limit", "50")) == 30
    hold(machine, 30)

    machine.hang_up()
    machine.ok("daemon", "stop")
    for segment in machine.folder.rglob("*.segment"):
        segment.write_bytes(segment.read_bytes()[:-8] + b"\xff" * 8)
    machine.start()
    assert len(machine.paths("kestrel", "--limit", "50")) == 30
    hold(machine, 30)  # they were made again
    machine.ok("doctor")


def hold(machine: Machine, documents: int) -> None:
    """Wait until the postings hold so many documents."""
    wait_until(lambda: (machine.call("index.status")["postings"] or {}).get("documents") == documents)
