"""The daemon as a service of the user's: systemd's user units, or launchd's agent. Imported by no everyday command."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import NamedTuple, Protocol

from gnod.client.connection import Connection, connect
from gnod.client.starting import lock_is_held
from gnod.errors import DaemonNotRunning, TimedOut, UsageError
from gnod.paths import Places

_START_TIMEOUT_S = 15.0
_POLL_S = 0.05


class State(NamedTuple):
    """`manager`: systemd or launchd. `unavailable`: why it runs no services here; None: it does. `running`: the daemon
    runs as the service; `starts`: it is started at login, or when somebody connects. `pid`: 0 when it does not run."""

    manager: str
    unavailable: str | None
    installed: bool
    starts: bool
    running: bool
    pid: int
    files: list[str]


class Service(Protocol):
    """One index's daemon as a service. `files`: what `install` writes."""

    manager: str
    files: tuple[Path, ...]

    def is_installed(self) -> bool:
        """Say whether its files are there. Asks nobody, so it is quick and works everywhere."""

    def require_manager(self) -> None:
        """Raises Unavailable where no service manager runs services for this user."""

    def write(self) -> None:
        """Write the files. Raises Refused when there are some by another hand."""

    def enable(self) -> None:
        """Have it started from now on, at login or when somebody connects."""

    def start(self) -> None:
        """Have it run now. Raises Unavailable with what the manager, or gnod, says."""

    def end(self) -> None:
        """End the service, also its waiting for clients, and `enable`. Nothing to end is no error."""

    def remove(self) -> None:
        """Remove the files."""

    def state(self) -> State: ...


def service_of(places: Places) -> Service:
    """Return the service of that index, installed or not."""
    if sys.platform == "darwin":
        from gnoctl.service.launchd import Launchd

        return Launchd(places)
    if sys.platform == "linux":
        from gnoctl.service.systemd import Systemd

        return Systemd(places)
    raise UsageError("gnod is made a service of systemd (Linux) or launchd (macOS); here gnoctl starts it when needed")


def check_running(places: Places) -> None:
    """Raise DaemonNotRunning where the daemon is a service and does not run: to connect would start it."""
    if service_of(places).is_installed() and not lock_is_held(places):
        raise DaemonNotRunning(
            f"gnod is a service for index '{places.index}' and does not run now: it starts when it is needed",
            {"index": places.index},
        )


def start_installed(places: Places) -> Connection | None:
    """Start the service and return a connection; None where there is no service, or nobody who runs it."""
    service = service_of(places)
    if not service.is_installed() or service.state().unavailable:
        return None
    service.start()
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            return connect(places)
        except DaemonNotRunning:
            if time.monotonic() > deadline:
                raise TimedOut(
                    f"{service.manager} has started gnod, and it does not answer: see `gnoctl daemon logs`"
                ) from None
        time.sleep(_POLL_S)
