"""The installed program replaces the running one in the same process, with the same lock and socket."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from functools import partial
from pathlib import Path

import pytest

from gnod import __version__
from gnod.client.connection import connect
from gnod.daemon.replacing import Replacement, handed_over
from gnod.lock_holder import holder_of
from gnod.protocol.base import NoParams
from gnod.protocol.daemon import DaemonShutdownResult
from gnod.rpc.stats import Stats
from tests.daemon.small_daemon_process import Daemon, daemon, send
from tests.waiting import until

CLOSED = ("closing while the socket is there", "closed")


def replace(served: Daemon) -> None:
    """Request a replacement, and wait until the next program starts."""
    assert "result" in served.call("index.retry")
    for line in CLOSED:
        served.hears(line)


def test_the_process_the_lock_and_the_socket_stay() -> None:
    with daemon() as served:
        before, inode = holder_of(served.places.lock_file), served.places.socket.stat().st_ino
        for _ in range(2):
            replace(served)
            served.hears("ready")
            assert served.call("daemon.status")["result"]["requests"] == 1, "it is another program"
            assert served.places.socket.stat().st_ino == inode
        now = holder_of(served.places.lock_file)
        assert before
        assert now
        assert (now.pid, now.socket) == (before.pid, before.socket) == (served.process.pid, str(served.places.socket))
        assert now.started_at > before.started_at
        served.signal(signal.SIGTERM)
        served.ends_with(*CLOSED, "clean")


def test_a_client_that_connects_meanwhile_waits() -> None:
    with daemon() as served, served.connection() as idle:
        assert "result" in served.call("index.retry")
        served.hears(CLOSED[0])
        with served.connection() as stream:
            send(stream, "daemon.status")
            assert json.loads(stream.readline())["result"]["requests"] == 1
        assert json.loads(idle.readline())["error"]["data"]["kind"] == "index_reopening"


def test_a_call_that_must_not_be_repeated_is_made_once() -> None:
    """A client may repeat a call after an error that guarantees that nothing was done."""
    with daemon() as served, connect(served.places) as client:
        client.call("index.retry", NoParams(), DaemonShutdownResult)
        client.call("doctor.run", NoParams(), DaemonShutdownResult)
        rest = [served.process.stdout.readline().strip() for _ in range(4)] if served.process.stdout else []
        assert sorted(rest) == sorted([*CLOSED, "ready", "nap begun"])


def test_without_a_program_the_old_one_goes_on() -> None:
    with daemon("--no-program") as served:
        replace(served)
        assert served.call("daemon.status")["result"]["requests"] == 2, "it is the same program"
        holder = holder_of(served.places.lock_file)
        assert holder
        assert holder.socket == str(served.places.socket)


@pytest.mark.skipif(sys.platform != "linux", reason="needs the environment of a process in /proc")
def test_a_service_manager_is_notified_and_its_variables_stay() -> None:
    with daemon(environment={"WATCHDOG_USEC": "60000000", "NOTIFY_SOCKET": "@nobody-listens"}) as served:
        replace(served)
        served.hears("ready")
        environment = Path(f"/proc/{served.process.pid}/environ").read_bytes().split(b"\0")
        assert {b"WATCHDOG_USEC=60000000", b"NOTIFY_SOCKET=@nobody-listens"} <= set(environment)


@pytest.mark.parametrize(
    "left", ["", "no JSON", '{"pid":1}', '{"pid":1,"lock":1,"socket":1,"path":"","owns_file":true}']
)
def test_a_child_does_not_take_what_was_left_to_its_parent(left: str) -> None:
    environment = {"GNOD_HANDED_OVER": left}
    assert handed_over(environment) is None
    assert environment == {}


@pytest.mark.slow
async def test_it_waits_for_requests_that_would_be_cut_off_and_for_no_others() -> None:
    stats, replaced, waited = Stats(), asyncio.Event(), list[int]()
    stats.in_flight = {1: "search.lexical", 2: "models.pull", 3: "index.sync", 4: "daemon.restart"}
    asked = asyncio.create_task(Replacement(stats, replaced.set).when_idle(waited.append))
    for number, left in ((2, 2), (3, 1)):
        await until(partial(_ends_with, waited, left))
        assert not replaced.is_set()
        del stats.in_flight[number]
    assert await asked == __version__
    assert replaced.is_set()


def _ends_with(numbers: list[int], last: int) -> bool:
    return numbers[-1:] == [last]
