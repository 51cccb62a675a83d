"""The notifications to a service manager. A small imitation of systemd's socket receives them."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from gnod.daemon.notify import Notifier, feed_watchdog, from_environment
from tests.systems import needs_linux
from tests.waiting import until


class Manager:
    """The other end of NOTIFY_SOCKET."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(60)
        self._socket.bind(address.replace("@", "\0", 1) if address.startswith("@") else address)

    def hears(self) -> dict[str, str]:
        lines = self._socket.recv(4096).decode().split("\n")
        return dict(line.split("=", 1) for line in lines)

    def waiting(self) -> int:
        """Read all waiting messages and return their number."""
        self._socket.setblocking(False)
        count = 0
        try:
            while self._socket.recv(4096):
                count += 1
        except BlockingIOError:
            return count
        return count

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def manager(short_tmp: Path) -> Iterator[Manager]:
    listening = Manager(str(short_tmp / "notify"))
    yield listening
    listening.close()


def test_each_state_of_the_daemon_is_notified(manager: Manager) -> None:
    notifier = Notifier(manager.address)
    notifier.ready("serving index 'default'")
    assert manager.hears() == {"READY": "1", "STATUS": "serving index 'default'"}
    before = time.monotonic_ns() // 1000
    notifier.reloading("reading the config")
    reported = manager.hears()
    assert reported["RELOADING"] == "1"
    assert before <= int(reported["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
    notifier.alive()
    assert manager.hears() == {"WATCHDOG": "1"}
    notifier.stopping()
    reported = manager.hears()
    assert (reported["STOPPING"], reported["WATCHDOG"]) == ("1", "1")


def test_no_message_becomes_two_settings(manager: Manager) -> None:
    Notifier(manager.address).failed("index.yml has two faults:\n  READY=1\n  b")
    assert manager.hears() == {"STATUS": "index.yml has two faults:   READY=1   b"}


@needs_linux("abstract sockets")
def test_an_abstract_address_is_understood() -> None:
    manager = Manager(f"@gnod-test-{os.getpid()}")
    Notifier(manager.address).alive()
    assert manager.hears() == {"WATCHDOG": "1"}
    manager.close()


def test_a_missing_service_manager_is_no_error(short_tmp: Path) -> None:
    Notifier().ready("x")
    Notifier(str(short_tmp / "absent")).ready("x")
    Notifier(str(short_tmp / ("x" * 200))).ready("x")


def test_the_variables_of_the_manager_are_removed_from_the_environment() -> None:
    pid = str(os.getpid())
    environment = {"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": pid, "SYSTEMD_EXEC_PID": pid}
    notifier = from_environment(environment)
    assert (notifier.watchdog_s, notifier.manager) == (60.0, "systemd")
    assert environment == {"SYSTEMD_EXEC_PID": pid}


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"WATCHDOG_USEC": "60000000"},
        {"NOTIFY_SOCKET": "/x"},
        {"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "0"},
        {"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "soon"},
        {"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1", "SYSTEMD_EXEC_PID": "1"},
    ],
)
def test_variables_of_other_processes_or_without_a_number_are_ignored(environment: dict[str, str]) -> None:
    notifier = from_environment(environment)
    assert (notifier.watchdog_s, notifier.manager) == (None, None)


@pytest.mark.slow
async def test_heartbeats_come_twice_per_interval(manager: Manager) -> None:
    pulses: list[float] = []

    async def heartbeat() -> None:
        pulses.append(asyncio.get_running_loop().time())

    def pauses() -> list[float]:
        return [after - before for before, after in pairwise(pulses)]

    feeding = asyncio.create_task(feed_watchdog(Notifier(manager.address, 0.4), heartbeat))
    await until(lambda: min(pauses(), default=1) < 0.4)  # a busy machine may be slow, but not every time
    feeding.cancel()
    assert min(pauses()) > 0.19
    assert manager.waiting() == len(pulses)


async def test_a_hanging_heartbeat_stops_the_watchdog_until_it_returns(manager: Manager) -> None:
    free = asyncio.Event()

    async def heartbeat() -> None:
        await free.wait()

    feeding = asyncio.create_task(feed_watchdog(Notifier(manager.address, 0.05), heartbeat))
    await asyncio.sleep(0.3)
    assert manager.waiting() == 0
    free.set()
    await until(manager.waiting)
    feeding.cancel()


async def test_without_a_watchdog_nothing_is_done() -> None:
    async def heartbeat() -> None:
        raise AssertionError

    await feed_watchdog(Notifier("/nowhere"), heartbeat)
