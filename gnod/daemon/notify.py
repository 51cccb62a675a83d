"""Report the state of the daemon to systemd. It implements sd_notify(3). Must not depend on requests."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping

SYSTEMD = "systemd"
LAUNCHD = "launchd"

# systemd recommends notifying its watchdog twice per interval.
_FEEDS = 2
_SEND_TIMEOUT_S = 1.0
_LAUNCHD_LABEL = "local.gnod."

_log = logging.getLogger(__name__)


class Notifier:
    """`address`: the address of the socket; None: send nothing. `watchdog_s`: the interval of heartbeats; None: send no
    heartbeats. `manager`: the service manager that runs this process, if any. `variables`: environment variables for a
    program that replaces this one, so that it can make the same notifier."""

    def __init__(
        self,
        address: str | None = None,
        watchdog_s: float | None = None,
        manager: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.variables = variables or {}
        self.watchdog_s = watchdog_s
        self.manager = manager
        self._is_stopping = False
        self._address = f"\0{address[1:]}" if address and address.startswith("@") else address

    def ready(self, status: str) -> None:
        self._send("READY=1", f"STATUS={status}")

    def reloading(self, what: str) -> None:
        """Report an activity such as reading the config. `ready` reports its end."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}", f"STATUS={what}")

    def stopping(self) -> None:
        """Report, once, that the daemon is shutting down."""
        if self._is_stopping:
            return
        self._is_stopping = True
        self._send("STOPPING=1", "WATCHDOG=1", "STATUS=finishing requests")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def failed(self, message: str) -> None:
        """Report why the daemon ends. `systemctl status` shows the message."""
        self._send(f"STATUS={message}")

    def _send(self, *lines: str) -> None:
        """Send one datagram. Ignore a manager that does not listen."""
        if self._address is None:
            return
        message = "\n".join(" ".join(line.splitlines()) for line in lines)
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.settimeout(_SEND_TIMEOUT_S)
            channel.connect(self._address)
            channel.send(message.encode())


def from_environment(environment: MutableMapping[str, str] | None = None) -> Notifier:
    """Return the notifier, and remove its variables from the environment, so that workers send no notifications."""
    variables = os.environ if environment is None else environment
    manager = manager_of(variables)  # read them before they are removed
    kept = {name: variables[name] for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID") if name in variables}
    if manager == SYSTEMD:
        kept["SYSTEMD_EXEC_PID"] = str(os.getpid())
    address = variables.pop("NOTIFY_SOCKET", None)
    microseconds = variables.pop("WATCHDOG_USEC", "")
    is_for_us = variables.pop("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    is_fed = address is not None and is_for_us and microseconds.isdecimal() and int(microseconds) > 0
    return Notifier(address, int(microseconds) / 1e6 if is_fed else None, manager, kept)


async def feed_watchdog(notifier: Notifier, heartbeat: Callable[[], Awaitable[None]]) -> None:
    """Notify the watchdog each time `heartbeat` has returned."""
    if notifier.watchdog_s is None:
        return
    while True:
        try:
            async with asyncio.timeout(notifier.watchdog_s):
                await heartbeat()
        except TimeoutError:
            _log.error("watchdog.starved", extra={"fields": {"after_s": notifier.watchdog_s}})
            continue
        notifier.alive()
        await asyncio.sleep(notifier.watchdog_s / _FEEDS)


def manager_of(variables: Mapping[str, str]) -> str | None:
    """Return the service manager that runs this process.

    Children inherit these variables, so only variables with our process id count.
    """
    ours = str(os.getpid())
    if ours in (variables.get("SYSTEMD_EXEC_PID"), variables.get("LISTEN_PID")):
        return SYSTEMD
    is_agent = os.getppid() == 1 and variables.get("XPC_SERVICE_NAME", "").startswith(_LAUNCHD_LABEL)
    return LAUNCHD if is_agent else None
