"""Real processes: start, signals, `daemon.shutdown`, a second daemon."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gnod.errors import EXIT_RUNTIME, EXIT_VALIDATION
from gnod.protocol.jsonrpc import encode_call
from tests.server.harness import places_in, short_folder

ROOT = Path(__file__).parents[2]


class Daemon:
    """A running small daemon in a folder of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.places = places_in(folder)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.server.small_daemon", str(folder), *options],
            cwd=ROOT,
            env={**os.environ, "PYTHONWARNINGS": "error"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def hears(self, words: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{words}\n", self.complaints()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ends_with(self, *words: str, status: int = 0) -> None:
        rest, _ = self.process.communicate(timeout=10)
        assert rest.splitlines() == list(words)
        assert self.process.returncode == status
        assert not self.places.socket.exists()

    def complaints(self) -> str:
        if self.process.poll() is None or self.process.stderr is None:
            return ""
        return self.process.stderr.read()

    @contextmanager
    def connection(self) -> Iterator[socket.SocketIO]:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(str(self.places.socket))
            with client.makefile("rwb", buffering=0) as stream:
                yield stream

    def call(self, method: str) -> Any:
        with self.connection() as stream:
            return call(stream, method)


def send(stream: socket.SocketIO, method: str) -> None:
    stream.write(encode_call(method, {}, 1) + b"\n")


def call(stream: socket.SocketIO, method: str) -> Any:
    send(stream, method)
    return json.loads(stream.readline())


@contextmanager
def daemon(*options: str) -> Iterator[Daemon]:
    with short_folder() as folder:
        started = Daemon(folder, *options)
        try:
            yield started
        finally:
            started.process.kill()
            started.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_daemon_in_order(number: signal.Signals) -> None:
    with daemon() as served:
        served.hears("ready")
        assert served.call("daemon.status")["result"]["requests"] == 1
        served.signal(number)
        served.ends_with("closing while the socket is there", "closed", "clean")
        assert served.places.lock_file.exists()


def test_a_request_within_the_grace_period_is_answered() -> None:
    with daemon() as served:
        served.hears("ready")
        with served.connection() as stream:
            send(stream, "doctor.run")
            served.hears("nap begun")
            served.signal(signal.SIGTERM)
            assert json.loads(stream.readline())["result"] == {"stopping": False}
        served.ends_with("closing while the socket is there", "closed", "clean")


def test_a_request_beyond_the_grace_period_is_told_why_it_ends() -> None:
    with daemon() as served:
        served.hears("ready")
        with served.connection() as stream:
            send(stream, "index.sync")
            served.hears("sync begun")
            served.signal(signal.SIGTERM)
            assert json.loads(stream.readline())["error"]["data"]["kind"] == "shutting_down"
        served.ends_with("sync cancelled", "closing while the socket is there", "closed", "clean")


def test_the_shutdown_method_answers_first() -> None:
    with daemon() as served:
        served.hears("ready")
        assert served.call("daemon.shutdown")["result"] == {"stopping": True}
        served.ends_with("closing while the socket is there", "closed", "clean")


def test_a_second_signal_waits_for_nothing() -> None:
    with daemon("--stuck-close") as served:
        served.hears("ready")
        served.signal(signal.SIGTERM)
        served.hears("closing while the socket is there")
        served.signal(signal.SIGTERM)
        served.ends_with("forced")


def test_a_signal_during_the_start_ends_it() -> None:
    with daemon("--slow-start") as served:
        served.hears("starting")
        served.signal(signal.SIGTERM)
        served.ends_with("start cancelled", "clean")


def test_a_start_that_fails_leaves_nothing_behind() -> None:
    with daemon("--bad-config") as served:
        served.ends_with("the config file is no YAML", status=EXIT_VALIDATION)


def test_a_hangup_reloads_and_a_reload_that_fails_stops_nothing() -> None:
    with daemon() as served:
        served.hears("ready")
        for count in (1, 2, 3):
            served.signal(signal.SIGHUP)
            served.hears(f"reload {count}")
        assert "result" in served.call("daemon.status")


def test_a_second_daemon_is_refused_and_the_first_goes_on() -> None:
    with daemon() as served:
        served.hears("ready")
        second = Daemon(served.places.data_dir.parent)
        message, _ = second.process.communicate(timeout=10)
        assert message == f"another gnod (pid {served.process.pid}) already serves index 'default'\n"
        assert second.process.returncode == EXIT_RUNTIME
        assert "result" in served.call("daemon.status")


def test_a_killed_daemon_is_in_nobodys_way() -> None:
    with daemon() as served:
        served.hears("ready")
        served.signal(signal.SIGKILL)
        served.process.communicate(timeout=10)
        assert served.places.socket.exists()
        second = Daemon(served.places.data_dir.parent)
        try:
            second.hears("ready")
            assert "result" in second.call("daemon.status")
        finally:
            second.process.kill()
            second.process.communicate()
