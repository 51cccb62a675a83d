from __future__ import annotations

import socket
import subprocess

from tests import leftovers


def test_what_a_test_leaves_behind_is_ended() -> None:
    before = leftovers.running()
    process = subprocess.Popen(["sleep", "60"])
    ours, theirs = socket.socketpair()
    left = leftovers.running() - before
    assert len(left) == 3
    assert all(" (" in each for each in leftovers.described(left) if each.startswith("socket"))
    leftovers.end(left)
    assert leftovers.running() <= before
    assert process.returncode
    assert ours.fileno() == theirs.fileno() == -1
