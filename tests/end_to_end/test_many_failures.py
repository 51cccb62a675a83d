"""If very many files fail, the counts are exact and the list is limited."""

from __future__ import annotations

import os

import pytest

from tests.machine import Machine, wait_until
from tests.systems import needs_any_name

pytestmark = pytest.mark.slow
FAILED = 1003
EMPTY = 1200


@pytest.mark.stress
def test_a_large_folder_is_compared_with_the_disk_on_request(machine: Machine) -> None:
    machine.write(healthy_md="# Healthy\n\nThe boat lies in the harbour.\n")
    for number in range(20_000):
        (machine.notes / f"empty-{number:05d}.md").touch()
    machine.ok("init", str(machine.notes), "--name", "notes")
    (notes,) = machine.call("index.status")["collections"]
    assert (notes["verified"], notes["on_disk"], notes["excluded"]) == (False, None, None)
    assert (notes["indexed"], notes["skipped"], notes["pending"], notes["available"]) == (1, 20_000, 0, True)
    shown = machine.run("status").stdout
    assert "notes: not compared with the disk now" in shown
    assert "\ncurrent\n" in shown
    (notes,) = machine.call("index.status", verify=True)["collections"]
    assert (notes["verified"], notes["on_disk"]) == (True, 20_001)
    assert "compared with the disk now: names, sizes, inodes" in machine.run("status", "--verify").stdout
    machine.notes.rename(machine.notes.with_name("elsewhere"))
    wait_until(lambda: not machine.call("index.status")["collections"][0]["available"])


@pytest.mark.stress
@needs_any_name
def test_status_lists_the_first_thousand_failures_and_counts_all(machine: Machine) -> None:
    machine.write(healthy_md="# Healthy\n\nThe boat lies in the harbour.\n")
    for number in range(FAILED):
        os.close(os.open(os.fsencode(machine.notes) + b"/%04d\xff.md" % number, os.O_CREAT | os.O_WRONLY, 0o600))
    for number in range(EMPTY):
        (machine.notes / f"empty-{number:04d}.md").touch()
    machine.ok("init", str(machine.notes), "--name", "notes")
    status = machine.call("index.status", errors=True)
    (notes,) = status["collections"]
    assert (notes["indexed"], notes["failed"], notes["skipped"], notes["pending"]) == (1, FAILED, EMPTY, 0)
    assert notes["failed_by_kind"] == {"bad_name": FAILED}
    assert len(status["errors"]) == 1000
    assert status["errors_left_out"] == 3
    assert machine.call("index.status")["errors"] is None
    assert "3 more files" in machine.run("status", "--errors").stdout

    (machine.notes / "empty-0007.md").write_text("# No longer\n\nIt holds a lighthouse now.\n")
    machine.ok("update")
    found = machine.call("search.lexical", query="lighthouse")["hits"]
    assert [hit["path"] for hit in found] == ["empty-0007.md"]
    (notes,) = machine.call("index.status")["collections"]
    assert (notes["indexed"], notes["skipped"]) == (2, EMPTY - 1)
