"""The converter sandbox in a real daemon: doctor reports its protections, and a killed daemon leaves nothing behind."""

from __future__ import annotations

import stat
import sys

import pytest

from tests.child.sandboxed import has_landlock
from tests.machine import Machine, wait_until

pytestmark = pytest.mark.slow


def test_doctor_says_what_holds(machine: Machine) -> None:
    machine.write(note_md="# zqx31\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    assert machine.paths("zqx31") == ["note.md"]
    check = next(check for check in machine.json("doctor")["checks"] if check["name"] == "converter sandbox")
    assert ("Landlock (reading, writing" in check["message"]) == has_landlock()
    assert ("seccomp (network, programs, other processes)" in check["message"]) == (sys.platform == "linux")
    assert check["status"] == "ok"


def test_temporary_folders_are_private_and_go(machine: Machine) -> None:
    machine.write(note_md="# zqx32\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    folder = machine.folder / "cache" / "converting-default"
    machine.ok("doctor")
    left = list(folder.iterdir())
    assert left
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in [folder, *left])
    machine.kill()
    machine.write(other_md="# zqx33\n")
    machine.ok("doctor")
    assert not set(left) & set(folder.iterdir())
    machine.ok("daemon", "stop")
    wait_until(lambda: not folder.exists())
