"""`index.subscribe` and `gnoctl follow` against real processes: write, see, kill, resume."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.machine import Machine

pytestmark = pytest.mark.slow


@pytest.fixture
def machine(emptied: Machine) -> Machine:
    """Its daemon goes on from test to test."""
    return emptied


class Follower:
    """A client that keeps what it was told: path to title, and the clock."""

    def __init__(self, machine: Machine, since: int | None = None, known: dict[str, str] | None = None) -> None:
        self.known = dict(known or {})
        self.told: list[str] = []
        self._socket: socket.socket = machine.connect()
        self._stream = self._socket.makefile("rb")
        params = {} if since is None else {"since": since}
        request = {"jsonrpc": "2.0", "id": 1, "method": "index.subscribe", "params": params}
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        self.begun = self._message()["result"]
        self.clock: int = self.begun["clock"]
        if self.begun["reset"]:
            self.known = {}

    def until(self, *paths: str) -> None:
        """Listen until all these have been told, whatever became of them."""
        while not set(paths) <= set(self.told):
            self.listen()

    def listen(self) -> None:
        changed = self._message()["params"]
        assert changed["clock"] > self.clock or changed["reset"] or not changed["indexed"]
        self.clock = changed["clock"]
        if changed["reset"]:
            self.known = {}
        for each in changed["indexed"]:
            self.known[each["path"]] = each["title"]
        for each in changed["removed"]:
            self.known.pop(each["path"], None)
        self.told += [each["path"] for kind in ("indexed", "removed", "failed") for each in changed[kind]]

    def silent(self, seconds: float = 1.0) -> bool:
        """Tell whether no path is told for a while."""
        before = list(self.told)
        self._socket.settimeout(seconds)
        try:
            while self.told == before:
                self.listen()
        except TimeoutError:
            return True
        return False

    def hang_up(self) -> None:
        self._stream.close()
        self._socket.close()

    def _message(self) -> Any:
        line = self._stream.readline()
        assert line, "the daemon went away"
        return json.loads(line)


def listed(machine: Machine) -> dict[str, str]:
    return {each["path"]: each["title"] for each in machine.json("ls")["documents"]}


def test_write_a_file_and_see_it(machine: Machine) -> None:
    machine.write(a_md="# Alpha\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    machine.ok("index")
    first, second = Follower(machine), Follower(machine)
    assert first.begun["state"]["collections"][0]["documents"] == 1
    machine.write(b_md="# Beta\n")
    for follower in (first, second):
        follower.until("b.md")
        assert follower.known == {"b.md": "Beta"}
    (machine.notes / "a.md").unlink()
    first.until("a.md")
    second.hang_up()
    machine.write(c_md="# Gamma\n")
    first.until("c.md")
    first.hang_up()


@pytest.mark.stress
def test_resuming_after_a_restart_and_after_a_crash(machine: Machine) -> None:
    machine.write(a_md="# Alpha\n", b_md="# Beta\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    machine.ok("index")
    before = Follower(machine, since=0)
    before.until("a.md", "b.md")
    before.hang_up()

    machine.ok("daemon", "stop")
    machine.write(b_md="# Better\n", c_md="# Gamma\n")
    (machine.notes / "a.md").unlink()
    machine.ok("index")
    resumed = Follower(machine, since=before.clock, known=before.known)
    assert not resumed.begun["reset"]
    resumed.until("a.md", "b.md", "c.md")
    assert sorted(resumed.told) == ["a.md", "b.md", "c.md"]
    assert resumed.silent()
    assert resumed.known == {"b.md": "Better", "c.md": "Gamma"} == listed(machine)
    resumed.hang_up()

    resumed = Follower(machine, since=resumed.clock, known=resumed.known)
    many = [f"many/{n}.md" for n in range(400)]
    machine.write(**{path.replace("/", "__").replace(".md", "_md"): f"# {path}\n" for path in many})
    while not resumed.told:
        resumed.listen()
    machine.kill()
    machine.ok("index")
    resumed.hang_up()
    after = Follower(machine, since=resumed.clock, known=resumed.known)
    assert not after.begun["reset"]
    after.until(*set(many).difference(resumed.told))
    assert sorted(resumed.told + after.told) == sorted(many), "each once"
    assert after.silent()
    assert after.known == listed(machine)
    after.hang_up()


def test_a_clock_below_the_floor_gets_everything(machine: Machine) -> None:
    machine.write(a_md="# Alpha\n", b_md="# Beta\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    machine.ok("index")
    before = Follower(machine, since=0)
    before.until("a.md", "b.md")
    before.hang_up()
    (machine.notes / "b.md").unlink()
    machine.ok("index")
    machine.ok("cleanup")
    resumed = Follower(machine, since=before.clock, known=before.known)
    assert resumed.begun["reset"]
    resumed.until("a.md")
    assert resumed.known == {"a.md": "Alpha"}
    resumed.hang_up()

    machine.ok("daemon", "stop")
    for file in machine.database.parent.glob("index-default.sqlite*"):
        file.unlink()
    machine.ok("index")
    anew = Follower(machine, since=resumed.clock, known=resumed.known)
    assert anew.begun["reset"], "that clock was another database's"
    anew.hang_up()


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
        begun, changed = (json.loads(process.stdout.readline()) for _ in range(2))
        assert begun["clock"] == int(clock)
        told = {each["path"] for each in changed["indexed"]}
        assert "b.md" in told
        assert told <= {"a.md", "b.md"}, "what Ctrl-C came upon may be told again, and is never left out"


@contextmanager
def following(machine: Machine, *arguments: str) -> Iterator[Any]:
    """Run `gnoctl follow`, and end it at the end."""
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
