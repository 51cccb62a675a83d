"""The daemon as a user service: systemd units, or a launchd agent. The search commands do not import it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gnod.client.connection import Connection
from gnod.client.opening import START_TIMEOUT_S, connect_now
from gnod.client.starting import lock_is_held
from gnod.errors import DaemonNotRunning, TimedOut, Unavailable, UsageError
from gnod.lock_holder import last_failure
from gnod.paths import IndexPaths

if TYPE_CHECKING:
    from gnoctl.service.launchd import Launchd
    from gnoctl.service.systemd import Systemd

STARTED_BY_GNOCTL = "gnoctl starts gnod when it is needed"

# launchd starts a job at most this often (ThrottleInterval), so a daemon that has just ended starts later.
THROTTLE_S = 10
_START_TIMEOUT_S = THROTTLE_S + START_TIMEOUT_S
_POLL_S = 0.05


class ServiceState(NamedTuple):
    """`manager`: systemd or launchd. `unavailable`: why it cannot run services here. `running`: the daemon runs as the
    service; `starts`: at login or when a client connects. `pid`: 0 if it is not running."""

    manager: str
    unavailable: str | None
    installed: bool
    starts: bool
    running: bool
    pid: int
    files: list[str]


class Service:
    """What both services have. `files`: what `write` writes."""

    manager: str
    files: tuple[Path, ...]

    def is_installed(self) -> bool:
        """Return whether the manager knows it. Runs no program, so it is fast."""
        return self.files[0].exists()


def service_of(places: IndexPaths) -> Systemd | Launchd:
    """Return the service of an index, installed or not."""
    if sys.platform == "darwin":
        from gnoctl.service.launchd import Launchd

        return Launchd(places)
    if sys.platform == "linux":
        from gnoctl.service.systemd import Systemd

        return Systemd(places)
    raise UsageError(f"services need systemd (Linux) or launchd (macOS): {STARTED_BY_GNOCTL}")


def check_running(places: IndexPaths) -> None:
    """Raise DaemonNotRunning if the daemon is a stopped service: connecting would start it."""
    if service_of(places).is_installed() and not lock_is_held(places):
        failure = last_failure(places.lock_file)
        reason = f"its last start failed: {failure}" if failure else "it starts when it is needed"
        raise DaemonNotRunning(
            f"gnod is a service for index '{places.index}' and is not running now; {reason}",
            {"index": places.index},
        )


def start_installed(places: IndexPaths) -> Connection | None:
    """Start the service and return a connection; None if there is no service, or no manager that can run it."""
    service = service_of(places)
    if not service.is_installed() or service.state().unavailable:
        return None
    before_ns = _last_written_ns(places)
    service.start()
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            return connect_now(places)
        except DaemonNotRunning:
            # launchd does not report a start that failed. The daemon writes the file when it starts, and when it ends.
            failure = last_failure(places.lock_file)
            if failure and _last_written_ns(places) != before_ns:
                raise Unavailable(f"gnod could not start: {failure}") from None
            if time.monotonic() > deadline:
                raise TimedOut(
                    f"{service.manager} started gnod, but it does not answer: see `gnoctl daemon logs`"
                ) from None
        time.sleep(_POLL_S)


def _last_written_ns(places: IndexPaths) -> int:
    return places.lock_file.stat().st_mtime_ns if places.lock_file.exists() else 0
