"""The real daemon under service managers: systemd where it can run, and imitations of its sockets and variables."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.namespace import Namespace, namespace
from tests.machine import Machine, wait_until
from tests.systems import needs_linux

pytestmark = pytest.mark.slow

GNOD = [sys.executable, "-m", "gnod"]
SYSTEMD = Path("/usr/lib/systemd/systemd")


class Heard:
    """The notifications of a daemon to the socket in NOTIFY_SOCKET."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.settimeout(60)
        self.socket.bind(str(path))

    def until(self, word: str, timeout_s: float = 60.0) -> list[str]:
        """Return the lines of the messages up to the message with this line."""
        deadline = time.monotonic() + timeout_s
        lines: list[str] = []
        while word not in lines:
            self.socket.settimeout(max(deadline - time.monotonic(), 0.01))
            lines += self.socket.recv(4096).decode().splitlines()
        return lines

    def forget(self) -> None:
        self.socket.setblocking(False)
        try:
            while self.socket.recv(4096):
                pass
        except BlockingIOError:
            return

    def is_silent(self, seconds: float) -> bool:
        self.socket.settimeout(seconds)
        try:
            return not self.socket.recv(4096)
        except TimeoutError:
            return True


@contextmanager
def running(machine: Machine, *command: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command, env=machine.environment | variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture
def heard(machine: Machine) -> Iterator[Heard]:
    heard = Heard(machine.folder / "notify")
    yield heard
    heard.socket.close()


def test_each_state_is_notified_and_only_by_the_daemon(machine: Machine, heard: Heard) -> None:
    machine.write(a_md="# Zebra\n")
    with running(machine, *GNOD, NOTIFY_SOCKET=str(heard.path), WATCHDOG_USEC="2000000") as daemon:
        assert "STATUS=serving index 'default'" in heard.until("READY=1")
        assert machine.is_serving()
        heard.until("WATCHDOG=1")
        machine.ok("init", str(machine.notes))
        children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children")
        for child in children.read_text().split() if children.exists() else []:
            assert b"NOTIFY_SOCKET" not in Path(f"/proc/{child}/environ").read_bytes()
        daemon.send_signal(signal.SIGHUP)
        assert any(line.startswith("MONOTONIC_USEC=") for line in heard.until("RELOADING=1"))
        heard.until("READY=1")
        daemon.send_signal(signal.SIGTERM)
        heard.until("STOPPING=1")
        assert daemon.wait(60) == 0


def test_an_error_at_the_start_is_reported(machine: Machine, heard: Heard) -> None:
    machine.config.parent.mkdir()
    machine.config.write_text("collections: nonsense\n")
    with running(machine, *GNOD, NOTIFY_SOCKET=str(heard.path)) as daemon:
        assert daemon.wait(60) == 1
        said = heard.socket.recv(4096).decode()
    assert said.startswith("STATUS=")
    assert "index.yml" in said


@needs_linux("imitates systemctl")
@pytest.mark.stress
def test_a_failed_start_that_its_manager_does_not_report_is_reported(machine: Machine) -> None:
    """Like launchd, this systemctl starts the daemon and does not report how it ended."""
    programs, units = machine.folder / "bin", machine.folder / "units/systemd/user"
    programs.mkdir()
    units.mkdir(parents=True)
    (units / "gnod.socket").touch()
    (programs / "systemctl").write_text(
        f'#!/bin/sh\ncase "$3" in start) "{sys.executable}" -m gnod >/dev/null 2>&1 & ;; esac\n'
    )
    (programs / "systemctl").chmod(0o755)
    machine.config.parent.mkdir()
    machine.config.write_text("collections: nonsense\n")
    path = f"{programs}:{machine.environment['PATH']}"
    for _ in range(2):  # in the second round, the lock file has the failure of the first
        done = machine.run("daemon", "start", PATH=path, XDG_CONFIG_HOME=str(machine.folder / "units"))
        assert done.returncode == 2
        assert "gnod could not start: " in done.stderr
        assert "index.yml" in done.stderr


@pytest.mark.stress
def test_the_watchdog_is_fed_while_the_writer_gets_on_and_not_while_it_hangs(machine: Machine, heard: Heard) -> None:
    with running(machine, *GNOD, NOTIFY_SOCKET=str(heard.path), WATCHDOG_USEC="400000"):
        for _ in range(5):
            heard.until("WATCHDOG=1")
        # Another program locks the database, so the writer waits.
        other = sqlite3.connect(machine.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with machine.connect() as client:
            client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"index.pause","params":{}}\n')
            heard.is_silent(0.5)
            heard.forget()
            assert heard.is_silent(2.0)
            other.execute("ROLLBACK")
            other.close()
            heard.until("WATCHDOG=1")


def is_listening(path: Path) -> bool:
    """Check without a connection, which would start the daemon. The socket file exists earlier."""
    sockets = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    return ["00010000", str(path)] in [[fields[3], fields[-1]] for fields in sockets]


@pytest.mark.skipif(shutil.which("systemd-socket-activate") is None, reason="systemd is not installed")
def test_a_connection_starts_the_daemon_and_its_end_leaves_the_socket(machine: Machine) -> None:
    machine.write(a_md="# Zebra\n")
    command = ["systemd-socket-activate", "-l", str(machine.socket)]
    passed = [f"--setenv={name}" for name in machine.environment if name.startswith("GNO_")]
    with running(machine, *command, *passed, *GNOD) as process:
        wait_until(lambda: is_listening(machine.socket))
        machine.ok("init", str(machine.notes), "--no-start")
        assert machine.paths("zebra") == ["a.md"]
        status = machine.json("daemon", "status")
        assert (status["pid"], status["manager"]) == (process.pid, "systemd")
        stopped = machine.run("daemon", "stop")
        assert stopped.stdout == f"stopped gnod (pid {process.pid}) for index 'default'\n"
        assert "systemd starts it again when a client connects" in stopped.stderr
        assert process.wait(60) == 0
    assert machine.socket.is_socket()
    machine.socket.unlink()


class Session:
    """A login session: a real systemd that runs the user's services in a separate namespace."""

    def __init__(self, machine: Machine, inside: Namespace) -> None:
        self.machine = machine
        self._inside = inside
        inside.run("mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/user/0 && chmod 700 /run/user/0")
        inside.run("mount -t tmpfs tmpfs /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup")
        inside.run("unset GNO_SOCKET; export XDG_RUNTIME_DIR=/run/user/0; cd /")
        inside.run(f"{SYSTEMD} --user --log-target=null </dev/null >/dev/null 2>&1 & manager=$!")
        wait_until(lambda: self.tries("systemctl --user show-environment"))

    def run(self, command: str) -> str:
        return self._inside.run(f"{command} 2>&1")

    def tries(self, command: str) -> bool:
        return self._inside.run(f"if {command} >/dev/null 2>&1; then echo yes; else echo no; fi") == "yes"

    def gnoctl(self, words: str) -> str:
        return self.run(f"{sys.executable} -m gnoctl {words}")

    def json(self, words: str) -> Any:
        return json.loads(self.gnoctl(f"{words} --json"))

    def status_of(self, words: str) -> int:
        return int(self._inside.run(f"{sys.executable} -m gnoctl {words} >/dev/null 2>/dev/null; echo $?"))

    def show(self, name: str) -> str:
        return self.run(f"systemctl --user show --value --property={name} gnod.service")

    def end(self) -> None:
        self._inside.run("kill $manager; wait $manager")


@pytest.fixture
def session(machine: Machine) -> Iterator[Session]:
    if not SYSTEMD.exists() or shutil.which("systemctl") is None:
        pytest.skip("systemd is not installed")
    options = ("--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--cgroup")
    with namespace(machine, *options) as inside:
        opened = Session(machine, inside)
        yield opened
        opened.end()


@pytest.mark.stress
def test_the_daemon_as_a_service_of_systemd(machine: Machine, session: Session) -> None:
    machine.write(a_md="# Zebra\n")
    assert session.status_of("service status") == 3
    session.gnoctl(f"init {machine.notes}")
    by_gnoctl = session.json("daemon status")

    session.gnoctl("service install")
    state = session.json("service status")
    assert (state["installed"], state["starts"], state["running"]) == (True, True, True)
    assert state["pid"] != by_gnoctl["pid"], "the service replaced the daemon that gnoctl had started"
    status = session.json("daemon status")
    assert (status["pid"], status["manager"]) == (state["pid"], "systemd")
    assert "a.md" in session.gnoctl("search zebra")
    assert session.show("StatusText") == "serving index 'default'"
    assert session.show("WatchdogUSec") == "1min"
    for unit in state["files"]:
        session.run(f"systemd-analyze verify --user --man=no {unit}")

    # It stops on request. Status requests do not start it again, but a search does.
    assert "systemd starts it again" in session.gnoctl("daemon stop")
    assert session.status_of("daemon status") == 3
    assert session.status_of("daemon stop") == 3
    assert session.json("service status")["running"] is False
    assert "a.md" in session.gnoctl("search zebra")
    second = session.json("daemon status")["pid"]
    assert second != state["pid"]

    session.run("systemctl --user reload gnod.service")
    wait_until(lambda: session.show("ActiveState") == "active")
    assert session.json("daemon status")["pid"] == second

    # After a crash, systemd starts it again by itself.
    session.run(f"kill -KILL {second}")
    wait_until(lambda: session.show("NRestarts") == "1" and session.show("ActiveState") == "active")
    assert "a.md" in session.gnoctl("search zebra")

    assert "gnod started" in session.gnoctl("daemon restart")
    session.run("systemctl --user stop gnod.socket gnod.service")
    assert session.status_of("search zebra --no-start") == 3
    session.gnoctl("daemon start")
    assert session.json("daemon status")["manager"] == "systemd"

    before = session.json("daemon status")["pid"]
    session.gnoctl("service install")  # a second time, for instance after an upgrade
    assert session.json("daemon status")["pid"] != before

    session.gnoctl("service uninstall")
    assert session.status_of("service status") == 3
    assert session.status_of("daemon status") == 3
    assert not list((machine.folder / ".config/systemd/user").rglob("gnod*"))
    assert session.run("ls /run/user/0/gno") == ""


def test_a_service_that_cannot_start_says_why(machine: Machine, session: Session) -> None:
    machine.config.parent.mkdir()
    machine.config.write_text("collections: nonsense\n")
    output = session.run(f"{sys.executable} -m gnoctl service install || true")
    assert output.startswith("gnoctl: gnod could not start: ")
    assert "index.yml" in output
    machine.config.write_text("collections: []\n")
    session.gnoctl("daemon start")
    assert session.json("service status")["running"] is True
    session.gnoctl("service uninstall")


@pytest.mark.stress
def test_a_daemon_that_hangs_is_replaced(machine: Machine, session: Session) -> None:
    session.gnoctl("service install")
    session.run("mkdir -p $HOME/.config/systemd/user/gnod.service.d")
    session.run("printf '[Service]\\nWatchdogSec=2\\n' > $HOME/.config/systemd/user/gnod.service.d/soon.conf")
    session.run("systemctl --user daemon-reload && systemctl --user restart gnod.service")
    pid = int(session.show("MainPID"))
    session.run("sleep 3")
    assert int(session.show("MainPID")) == pid, "a working daemon is not replaced"
    session.run(f"kill -STOP {pid}")
    wait_until(lambda: session.show("NRestarts") == "1" and session.show("ActiveState") == "active", timeout_s=40)
    assert session.json("daemon status")["pid"] != pid
    session.gnoctl("service uninstall")
    assert os.path.isdir(machine.folder / ".config/systemd/user/gnod.service.d"), "the user's own file stays"  # noqa: PTH112
