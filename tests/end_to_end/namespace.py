"""A shell in its own user namespace, where tests can lower limits and mount file systems without privileges."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from tests.machine import Machine, wait_until


class Namespace:
    """A running shell. Use `namespace` to make one."""

    def __init__(self, machine: Machine, *options: str) -> None:
        self._machine = machine
        self._shell = subprocess.Popen(
            ["unshare", "--map-root-user", *options, "sh"],
            env=machine.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, command: str) -> str:
        """Run a shell command, expect success, return its output."""
        assert self._shell.stdin
        assert self._shell.stdout
        self._shell.stdin.write(f"{command}\ncode=$?; echo; echo =$code=\n")
        self._shell.stdin.flush()
        lines: list[str] = []
        while not (line := self._shell.stdout.readline()).startswith("="):
            assert line, f"the shell has ended: {lines}"
            lines.append(line)
        assert line == "=0=\n", (command, line, lines)
        return "".join(lines).strip()

    def start_daemon(self) -> None:
        self.run(f"{sys.executable} -m gnod </dev/null >/dev/null 2>&1 &")
        wait_until(self._machine.is_serving)

    def close(self) -> None:
        assert self._shell.stdin
        assert self._shell.stdout
        self._shell.stdin.close()
        self._shell.wait(60)
        self._shell.stdout.close()


@contextmanager
def namespace(machine: Machine, *options: str) -> Iterator[Namespace]:
    """Open a shell with `unshare`. Stops its daemon at the end. Skips the test if namespaces are not permitted."""
    if reason := _problem(*options):
        pytest.skip(f"no user namespaces here: {reason}")
    inside = Namespace(machine, *options)
    try:
        yield inside
    finally:
        inside.close()  # the shell is a process of this machine, and `end` waits for all processes
        machine.end()


@cache
def _problem(*options: str) -> str | None:
    if shutil.which("unshare") is None:
        return "unshare is not installed"
    tried = subprocess.run(
        ["unshare", "--map-root-user", *options, "true"], capture_output=True, text=True, check=False
    )
    return tried.stderr.strip() if tried.returncode else None
