"""`gnoctl follow` with a real daemon. test_python_client_daemon.py follows in other ways, and through kills."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.machine import Machine

pytestmark = pytest.mark.slow


def test_gnoctl_follow(machine: Machine) -> None:
    machine.ok("init", str(machine.notes), "--name", "notes")
    with following(machine, "-c", "notes") as process:
        assert "Ctrl-C stops" in process.stderr.readline()
        machine.write(a_md="# Alpha\n")
        assert process.stdout.readline() == "indexed  gno://notes/a.md  Alpha\n"
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        assert process.returncode == 130
    clock = error.splitlines()[-1].split()[3].strip("`")
    machine.write(b_md="# Beta\n")
    machine.ok("index")
    with following(machine, "--since", clock, "--json") as process:
        state, changed = (json.loads(process.stdout.readline()) for _ in range(2))
        assert state["clock"] == int(clock)
        reported = {each["path"] for each in changed["indexed"]}
        assert "b.md" in reported
        assert reported <= {"a.md", "b.md"}, "a change that Ctrl-C interrupts may be repeated, but is never lost"


@contextmanager
def following(machine: Machine, *arguments: str) -> Iterator[Any]:
    """Run `gnoctl follow` during the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "gnoctl", "follow", *arguments],
        env=machine.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
