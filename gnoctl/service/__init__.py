"""Run the daemon as a user service: systemd units or a launchd agent. Also knows which service files are shipped, and
which ones gnoctl may replace. The search commands do not import it."""

from __future__ import annotations

import os
import sys
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gnod.atomic_file import replacing
from gnod.client.connection import Connection
from gnod.client.opening import START_TIMEOUT_S, connect_now
from gnod.client.starting import lock_is_held
from gnod.errors import DaemonNotRunning, Refused, TimedOut, Unavailable, UsageError
from gnod.lock_holder import last_failure
from gnod.paths import IndexPaths

if TYPE_CHECKING:
    from gnoctl.service.launchd import Launchd
    from gnoctl.service.systemd import Systemd

MARK = "Written by `gnoctl service install`; `gnoctl service uninstall` removes it."

_HERE = Path(__file__).parent
_SETTINGS = ("GNO_CONFIG_DIR", "GNO_DATA_DIR", "GNO_CACHE_DIR", "GNO_SOCKET")
_BASES = {"GNO_CONFIG_DIR": "XDG_CONFIG_HOME", "GNO_DATA_DIR": "XDG_DATA_HOME", "GNO_CACHE_DIR": "XDG_CACHE_HOME"}

STARTED_BY_GNOCTL = "gnoctl starts gnod when it is needed"

# Seconds. launchd waits this long between two starts of a job (ThrottleInterval), so a daemon that has just ended
# starts later.
THROTTLE_S = 10
_START_TIMEOUT_S = THROTTLE_S + START_TIMEOUT_S
_POLL_S = 0.05


class ServiceState(NamedTuple):
    """`manager`: systemd or launchd. `unavailable`: why it cannot run services here. `running`: the daemon runs as the
    service. `starts`: it starts at login or when a client connects. `pid`: 0 if it is not running."""

    manager: str
    unavailable: str | None
    installed: bool
    starts: bool
    running: bool
    pid: int
    files: list[str]


class Service(ABC):
    """The base of both services. `files`: the files that `write` writes."""

    manager: str
    files: tuple[Path, ...]

    def is_installed(self) -> bool:
        """Return whether the manager knows the service. Runs no program, so it is fast."""
        return self.files[0].exists()

    @abstractmethod
    def missing(self) -> str | None:
        """Return why the manager cannot run services of this user; None if it can."""

    @abstractmethod
    def seen(self) -> tuple[bool, int | None]:
        """Return whether the manager starts the service, and the process id; None if it is not running."""

    def state(self) -> ServiceState:
        missing = self.missing()
        starts, pid = (False, None) if missing else self.seen()
        return ServiceState(
            manager=self.manager,
            unavailable=missing,
            installed=self.is_installed(),
            starts=starts,
            running=pid is not None,
            pid=pid or 0,
            files=[str(path) for path in self.files if path.exists()],
        )


def service_of(places: IndexPaths) -> Systemd | Launchd:
    if sys.platform == "darwin":
        from gnoctl.service.launchd import Launchd

        return Launchd(places)
    if sys.platform == "linux":
        from gnoctl.service.systemd import Systemd

        return Systemd(places)
    raise UsageError(f"services need systemd (Linux) or launchd (macOS): {STARTED_BY_GNOCTL}")


def check_running(places: IndexPaths) -> None:
    """Raise DaemonNotRunning if the daemon is a stopped service, because a connection would start it."""
    if service_of(places).is_installed() and not lock_is_held(places):
        failure = last_failure(places.lock_file)
        reason = f"its last start failed: {failure}" if failure else "it starts when it is needed"
        raise DaemonNotRunning(
            f"gnod is a service for index '{places.index}' and is not running now; {reason}", {"index": places.index}
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
            # launchd does not report a failed start. The daemon writes the file when it starts and when it ends.
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


# The files of a service


def shipped(name: str) -> str:
    """Return the text of a shipped file such as `systemd/gnod.service`, from the wheel or the repository."""
    in_wheel = _HERE / "patterns" / name
    return (in_wheel if in_wheel.exists() else _HERE.parents[1] / name).read_text(encoding="utf-8")


def daemon_command(places: IndexPaths) -> list[str]:
    """Return the command line of the daemon, with this Python: the service may have another PATH."""
    return [sys.executable, "-P", "-m", "gnod", "--index", places.index]


def environment(places: IndexPaths) -> dict[str, str]:
    """Return the variables of this shell that the service needs: those for the folders, so that it uses the same ones
    as its clients, and PATH for the update commands of collections."""
    values = {
        "GNO_CONFIG_DIR": places.config_dir,
        "GNO_DATA_DIR": places.data_dir,
        "GNO_CACHE_DIR": places.cache_dir,
        "GNO_SOCKET": places.socket,
    }
    is_set = [name for name in _SETTINGS if os.environ.get(name) or os.environ.get(_BASES.get(name, ""))]
    path = {"PATH": os.environ["PATH"]} if os.environ.get("PATH") else {}
    return path | {name: str(values[name]) for name in is_set}


def refuse_foreign(path: Path) -> None:
    """Raise Refused if the file exists and gnoctl did not write it."""
    if os.path.lexists(path) and MARK.encode() not in _content(path):
        raise Refused(f"{path} was not written by gnoctl: move it away and try again", {"path": str(path)})


def write_file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, mode=0o644) as file:
        file.write(text.encode())


def _content(path: Path) -> bytes:
    # gnoctl never creates a symbolic link here, but `systemctl mask` does.
    return b"" if path.is_symlink() or not path.is_file() else path.read_bytes()
