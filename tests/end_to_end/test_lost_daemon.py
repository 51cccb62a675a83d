"""A daemon that has lost its socket, does not answer, or accepts no further connection."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.machine import Machine, alive, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def served(machine: Machine) -> Machine:
    """A machine with a daemon whose socket is in a separate folder."""
    machine.socket = machine.folder / "run" / "s.sock"
    machine.environment["GNO_SOCKET"] = str(machine.socket)
    machine.ok("daemon", "start")
    return machine


@pytest.fixture
def searched(served: Machine) -> Machine:
    """The same machine with one document, and the worker that has converted it."""
    served.write(a_md="# Zebra\n")
    served.ok("init", str(served.notes))
    return served


def delete_file(path: Path) -> None:
    path.unlink()


def delete_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def leave_stale_socket(path: Path) -> None:
    path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))


@pytest.mark.stress
def test_a_search_finds_the_daemon_whatever_happens_to_the_socket(searched: Machine) -> None:
    pid = searched.pid()
    searched.call("daemon.status")  # keeps the connection open
    losses: list[Callable[[Path], None]] = [delete_file, delete_folder, leave_stale_socket]
    for lose in losses:
        lose(searched.socket)
        assert searched.paths("zebra") == ["a.md"], lose.__name__
        assert searched.call("daemon.status")["pid"] == pid, "the same daemon, and the same connection"
    searched.socket.unlink()
    searched.ok("daemon", "stop")
    assert not alive(pid)
    assert not searched.socket.exists()


def test_the_socket_is_taken_back_from_another_process(served: Machine) -> None:
    served.socket.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(served.socket))
        other.listen()
        inode = served.socket.stat().st_ino
        wait_until(lambda: served.socket.exists() and served.socket.stat().st_ino != inode)
        assert served.paths("zebra") == []


@pytest.mark.stress
def test_where_the_socket_cannot_be_made_again_the_lock_file_leads_to_another(served: Machine) -> None:
    shutil.rmtree(served.socket.parent)
    served.socket.parent.write_text("a file where the folder was")
    assert served.paths("zebra") == []
    elsewhere = Path(served.ok("socket").strip())
    assert elsewhere != served.socket
    assert elsewhere.is_socket()
    assert served.json("daemon", "status")["socket"] == str(elsewhere)
    assert "other users" not in served.ok("doctor")
    served.ok("daemon", "stop")
    assert not elsewhere.exists()


def test_a_client_that_computes_another_path_finds_the_daemon_that_runs(served: Machine) -> None:
    pid = served.pid()
    usual, other = str(served.socket), str(served.folder / "other.sock")
    result = served.run("daemon", "status", "--json", GNO_SOCKET=other)
    assert json.loads(result.stdout)["pid"] == pid
    assert served.run("search", "zebra", GNO_SOCKET=other).returncode == 1
    assert f"gnod is already running (pid {pid})" in served.run("daemon", "start", GNO_SOCKET=other).stdout
    assert served.run("socket", GNO_SOCKET=other).stdout.strip() == usual
    assert served.run("daemon", "stop", GNO_SOCKET=other).returncode == 0
    assert not alive(pid)


@pytest.fixture
def stopped(searched: Machine) -> Iterator[tuple[Machine, int]]:
    """A machine with a stopped daemon that has workers, as if a disk blocked it; and the process id of the daemon."""
    pid = searched.pid()
    assert searched.call("daemon.status")["workers"]
    searched.hang_up()
    os.kill(pid, signal.SIGSTOP)
    yield searched, pid
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


@pytest.mark.stress
def test_a_daemon_that_does_not_answer_is_reported_and_can_be_ended(stopped: tuple[Machine, int]) -> None:
    machine, pid = stopped
    for words in (("daemon", "status"), ("daemon", "restart")):
        done = machine.run(*words)
        assert done.returncode == 2, words
        said = f"gnod (pid {pid}) does not answer: wait, or end it with `gnoctl daemon stop --force`"
        assert said in done.stderr, words
    machine.socket.unlink()
    assert f"stopped gnod (pid {pid})" in machine.ok("daemon", "stop", "--force")
    wait_until(lambda: not machine.processes())
    assert machine.run("daemon", "stop", "--force").returncode == 3
    assert machine.paths("zebra") == ["a.md"]


def test_a_restart_can_be_forced(stopped: tuple[Machine, int]) -> None:
    machine, pid = stopped
    assert "started" in machine.ok("daemon", "restart", "--force")
    wait_until(lambda: not alive(pid))
    assert machine.pid() != pid


def test_a_command_says_that_it_waits_and_can_be_interrupted(stopped: tuple[Machine, int]) -> None:
    machine, pid = stopped
    waiting = subprocess.Popen(
        [sys.executable, "-m", "gnoctl", "search", "zebra"], env=machine.environment, stderr=subprocess.PIPE, text=True
    )
    try:
        assert waiting.stderr is not None
        assert waiting.stderr.readline() == f"waiting for gnod (pid {pid}) …\n"
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(60) == 130
    finally:
        waiting.kill()
        waiting.communicate()


_HOLDS = """
import fcntl, json, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
file.write(json.dumps({"pid": int(sys.argv[2]) or os.getpid(), "socket": sys.argv[3] or None}))
file.flush()
print(flush=True)
time.sleep(600)
"""


@contextlib.contextmanager
def holding(machine: Machine, pid: int = 0, socket: str = "/nowhere") -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that holds the lock, ignores SIGTERM, and writes `pid` (0: its own) into the lock file."""
    lock_file = machine.folder / "data" / "index-default.lock"
    lock_file.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-c", _HOLDS, str(lock_file), str(pid), socket]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield holder
    finally:
        holder.kill()
        holder.communicate()


@pytest.mark.stress
def test_what_ignores_the_signal_is_killed(machine: Machine) -> None:
    with holding(machine) as holder:
        machine.ok("daemon", "stop", "--force")
        assert holder.wait(60) == -signal.SIGKILL


def test_a_process_that_only_has_the_pid_is_left_alone(machine: Machine) -> None:
    with holding(machine, os.getpid()) as holder:
        done = machine.run("daemon", "stop", "--force")
        assert "its process cannot be found from here" in done.stderr
        assert done.returncode == 2
        assert holder.poll() is None


def test_no_second_daemon_starts_while_the_first_does_not_listen(machine: Machine) -> None:
    with holding(machine) as holder:
        began = time.monotonic()
        done = machine.run("search", "zebra")
        took_s = time.monotonic() - began
        assert (done.returncode, done.stdout) == (2, "")
        assert f"gnod (pid {holder.pid}) runs, but nothing listens at /nowhere" in done.stderr
        assert "started gnod" not in done.stderr
        assert took_s < 13, "it gives up earlier than a start"


def test_a_daemon_that_still_starts_is_not_called_lost(machine: Machine) -> None:
    with holding(machine, socket="") as holder:
        result = machine.run("daemon", "status")
        assert result.returncode == 2
        assert f"gnod (pid {holder.pid}) is starting and does not answer yet" in result.stderr


@pytest.mark.stress
def test_a_leak_of_connections_does_not_prevent_a_stop(served: Machine) -> None:
    pid = served.pid()
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(served.connect())

        def is_full() -> bool:
            """Open connections until the daemon is full. Also replace a client that has just ended."""
            stack.enter_context(served.connect())
            return "256 connections are open" in served.run("search", "zebra").stderr

        wait_until(is_full)
        wait_until(lambda: served.run("daemon", "status").returncode == 0)
        served.ok("daemon", "stop")
        assert not alive(pid)


def test_the_reason_for_a_failed_start_is_shown_until_one_succeeds(served: Machine) -> None:
    served.ok("daemon", "stop")
    served.config.parent.mkdir(exist_ok=True)
    served.config.write_text("daemon: [\n")
    failed = served.run("daemon", "start")
    assert failed.returncode == 2
    for words in (("daemon", "status"), ("status", "--no-start")):
        result = served.run(*words)
        assert result.returncode == 3
        assert "its last start failed" in result.stderr
        assert "index.yml" in result.stderr
    served.config.unlink()
    served.ok("daemon", "start")
    served.ok("daemon", "stop")
    assert "nothing listens at" in served.run("daemon", "status").stderr
