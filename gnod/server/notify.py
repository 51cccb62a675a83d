"""Tell the service manager how the daemon fares: sd_notify(3), without its library. Knows nothing of requests.

Where nobody wants to be told (`gnoctl` or a shell has started the daemon, or launchd) every message goes nowhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping

SYSTEMD = "systemd"
LAUNCHD = "launchd"

# systemd advises to feed its watchdog twice in the time that it allows.
_FEEDS = 2
_SEND_TIMEOUT_S = 1.0
_LAUNCHD_LABEL = "local.gnod."

_log = logging.getLogger(__name__)


class Notifier:
    """`address`: where to; None: nowhere. `watchdog_s`: within what time a sign of life is due; None: none is.
    `manager`: who runs this process, in a word; None: nobody who would start it again."""

    def __init__(self, address: str | None = None, watchdog_s: float | None = None, manager: str | None = None) -> None:
        self.watchdog_s = watchdog_s
        self.manager = manager
        self._is_stopping = False
        self._address = f"\0{address[1:]}" if address and address.startswith("@") else address

    def ready(self, status: str) -> None:
        self._tell("READY=1", f"STATUS={status}")

    def reloading(self, what: str) -> None:
        """Say what goes on, such as reading the config; `ready` says when that is over."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}", f"STATUS={what}")

    def stopping(self) -> None:
        """Say, once, that the end has begun."""
        if self._is_stopping:
            return
        self._is_stopping = True
        # With a last sign of life: from here on the time limit for stopping counts.
        self._tell("STOPPING=1", "WATCHDOG=1", "STATUS=ending what is under way")

    def alive(self) -> None:
        self._tell("WATCHDOG=1")

    def failed(self, message: str) -> None:
        """Say why the daemon ends: `systemctl status` shows it."""
        self._tell(f"STATUS={message}")

    def _tell(self, *lines: str) -> None:
        """Send one datagram. A manager that does not listen must not trouble the daemon."""
        if self._address is None:
            return
        message = "\n".join(" ".join(line.splitlines()) for line in lines)
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.settimeout(_SEND_TIMEOUT_S)
            channel.connect(self._address)
            channel.send(message.encode())


def from_environment(environment: MutableMapping[str, str] | None = None) -> Notifier:
    """Return whom to tell, and take it out of the environment (default: this process's): no worker shall tell."""
    variables = os.environ if environment is None else environment
    manager = _manager(variables)  # before they are gone
    address = variables.pop("NOTIFY_SOCKET", None)
    microseconds = variables.pop("WATCHDOG_USEC", "")
    is_for_us = variables.pop("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    is_fed = address is not None and is_for_us and microseconds.isdecimal() and int(microseconds) > 0
    return Notifier(address, int(microseconds) / 1e6 if is_fed else None, manager)


async def feed_watchdog(notifier: Notifier, pulse: Callable[[], Awaitable[None]]) -> None:
    """Give signs of life for ever, each after `pulse` has returned: a loop or a `pulse` that hangs gives none."""
    if notifier.watchdog_s is None:
        return
    while True:
        try:
            async with asyncio.timeout(notifier.watchdog_s):
                await pulse()
        except TimeoutError:
            _log.error("watchdog.starved", extra={"fields": {"after_s": notifier.watchdog_s}})
            continue
        notifier.alive()
        await asyncio.sleep(notifier.watchdog_s / _FEEDS)


def _manager(variables: MutableMapping[str, str]) -> str | None:
    """Children inherit these variables, so the process ids in them decide."""
    ours = str(os.getpid())
    if ours in (variables.get("SYSTEMD_EXEC_PID"), variables.get("LISTEN_PID")):
        return SYSTEMD
    if sys.platform == "darwin" and os.getppid() == 1:
        return LAUNCHD if variables.get("XPC_SERVICE_NAME", "").startswith(_LAUNCHD_LABEL) else None
    return None
