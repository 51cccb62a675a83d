"""Real daemon processes close and reopen the index while their socket stays."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gnod.client import AsyncClient
from gnod.client.connection import connect
from gnod.protocol.base import NoParams
from gnod.protocol.daemon import DaemonShutdownResult, DaemonStatusResult
from tests.daemon.small_daemon_process import Daemon, call, daemon, send

CLOSING = "closing while the socket is there"


def reopen(served: Daemon, method: str = "index.cleanup") -> None:
    """Request a reopening, and wait until the index is closed."""
    assert "result" in served.call(method)
    hears_closing(served, *(["before"] if method == "index.cleanup" else []))


def hears_closing(served: Daemon, *more: str) -> None:
    for line in (CLOSING, "closed", *more):
        served.hears(line)


def let_go(served: Daemon) -> None:
    served.places.data_dir.mkdir(exist_ok=True)
    (served.places.data_dir / "go").touch()


def is_held(lock_file: Path) -> bool:
    import fcntl

    with lock_file.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_the_lock_and_the_socket_stay_and_requests_are_counted_on() -> None:
    with daemon("--hold") as served:
        before = served.places.socket.stat().st_ino
        reopen(served)
        assert is_held(served.places.lock_file)
        assert served.places.socket.stat().st_ino == before
        let_go(served)
        assert served.call("daemon.status")["result"]["requests"] == 2
        assert served.places.socket.stat().st_ino == before
        served.signal(signal.SIGTERM)
        served.ends_with(CLOSING, "closed", "clean")


def test_a_connection_during_reopening_is_served_afterwards() -> None:
    with daemon("--hold") as served:
        reopen(served)
        with served.connection() as early, served.connection() as late:
            send(early, "daemon.status")
            let_go(served)
            assert json.loads(early.readline())["result"]["requests"] == 2
            assert "result" in call(late, "daemon.status")


@pytest.fixture(scope="module")
def shared() -> Iterator[Daemon]:
    """A daemon that several tests reopen."""
    with daemon() as served:
        yield served


def test_a_request_in_flight_is_answered_within_the_grace_period(shared: Daemon) -> None:
    with shared.connection() as stream:
        send(stream, "doctor.run")
        shared.hears("nap begun")
        assert "result" in shared.call("index.cleanup")
        assert json.loads(stream.readline())["result"] == {"stopping": False}
        assert json.loads(stream.readline())["error"]["data"]["kind"] == "index_reopening"
        assert stream.readline() == b"", "the connection was closed with the index"
    hears_closing(shared, "before")
    assert "result" in shared.call("daemon.status")


def test_a_request_that_outlasts_reopening_may_be_retried(shared: Daemon) -> None:
    with shared.connection() as stream:
        send(stream, "index.sync")
        shared.hears("sync begun")
        assert "result" in shared.call("index.cleanup")
        error = json.loads(stream.readline())["error"]
        assert error["data"]["kind"] == "shutting_down"
        assert "reopened" in error["message"]
    shared.hears("sync cancelled")
    hears_closing(shared, "before")
    assert "result" in shared.call("daemon.status")


def test_what_raises_before_stops_neither_the_next_nor_the_start(shared: Daemon) -> None:
    reopen(shared, "index.resume")
    shared.hears("the second")
    assert "result" in shared.call("daemon.status")


def test_two_at_once_are_one_closing_with_both_in_their_order(shared: Daemon) -> None:
    reopen(shared, "index.pause")
    shared.hears("the first")
    shared.hears("the second")
    assert "result" in shared.call("daemon.status")


def test_asked_for_during_the_start_it_comes_after_it() -> None:
    with daemon("--reopen-in-start") as served:
        hears_closing(served, "before")
        assert "result" in served.call("daemon.status")


def test_new_clients_do_not_notice_it(shared: Daemon) -> None:
    finished = threading.Event()

    def call_until_finished() -> int:
        calls = 0
        while not finished.is_set():
            with connect(shared.places) as connection:
                connection.call("daemon.status", NoParams(), DaemonStatusResult)
            calls += 1
        return calls

    async def call_until_finished_in_a_loop() -> int:
        calls = 0
        while not finished.is_set():
            async with AsyncClient(shared.places, start=False) as client:
                await client.call("daemon.status", NoParams(), DaemonStatusResult)
            calls += 1
        return calls

    with ThreadPoolExecutor() as threads:
        answered = [threads.submit(call_until_finished) for _ in range(3)]
        answered.append(threads.submit(lambda: asyncio.run(call_until_finished_in_a_loop())))
        try:
            for _ in range(30):
                with connect(shared.places) as connection:
                    connection.call("index.cleanup", NoParams(), DaemonShutdownResult)
                hears_closing(shared, "before")
        finally:
            finished.set()
    assert all(each.result() for each in answered)


def test_a_signal_during_reopening_ends_it_after_the_work_before() -> None:
    with daemon("--hold") as served:
        reopen(served)
        served.signal(signal.SIGTERM)
        let_go(served)
        served.ends_with("clean")


def test_a_second_signal_during_reopening_ends_it_at_once() -> None:
    with daemon("--hold") as served:
        reopen(served)
        served.signal(signal.SIGTERM)
        served.signal(signal.SIGINT)
        served.ends_with("forced")


def test_a_signal_while_it_starts_again_ends_it() -> None:
    with daemon("--slow-second-start") as served:
        reopen(served)
        served.hears("starting")
        served.signal(signal.SIGTERM)
        served.ends_with("start cancelled", "clean")


def test_a_hangup_during_reopening_is_handled_afterwards() -> None:
    with daemon("--hold") as served:
        reopen(served)
        served.signal(signal.SIGHUP)
        let_go(served)
        served.hears("reload 1")


def test_the_service_manager_and_the_watchdog_are_notified_throughout(short_tmp: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.settimeout(60)
        manager.bind(str(short_tmp / "notify"))

        def told() -> dict[str, Any]:
            return dict(line.split("=", 1) for line in manager.recv(4096).decode().split("\n"))

        def told_next() -> dict[str, Any]:
            while (news := told()) == {"WATCHDOG": "1"}:
                pass
            return news

        variables = {"NOTIFY_SOCKET": str(short_tmp / "notify"), "WATCHDOG_USEC": "200000"}
        with daemon("--hold", environment=variables) as served:
            assert told_next()["READY"] == "1"
            reopen(served)
            news = told_next()
            assert (news["RELOADING"], news["STATUS"]) == ("1", "starting again")
            assert int(news["MONOTONIC_USEC"]) > 0
            for _ in range(3):
                assert told() == {"WATCHDOG": "1"}
            let_go(served)
            assert told_next() == {"READY": "1", "STATUS": "serving index 'default'"}
            served.signal(signal.SIGTERM)
            assert told_next()["STOPPING"] == "1"
            served.ends_with(CLOSING, "closed", "clean")
