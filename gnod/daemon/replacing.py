"""Replace the running gnod with the installed one after an upgrade, in this process, without losing a request.

exec(2) keeps the process id, so a service manager notices nothing. It also keeps the lock and the listening socket, so
a client that connects meanwhile waits in the queue of the socket. Must not depend on the services.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path

import msgspec

import gnod
from gnod.errors import Unavailable
from gnod.periodic_checks import next_tick
from gnod.protocol.methods import LONG_S, METHODS
from gnod.rpc.stats import Stats

# Requests in flight may take this long when the program is replaced. New requests wait meanwhile.
GRACE_S = 30.0
CHECK_S = 2.0
# Package managers write files individually, so an upgrade may be incomplete until then.
SETTLED_S = 30.0
_POLL_S = 0.1
_IMPORT_TIMEOUT_S = 60.0
_RESTART = "daemon.restart"
_VARIABLE = "GNOD_HANDED_OVER"
# The probe imports all modules of a daemon: a broken installation must not replace one that works.
_PROBE = "import gnod.daemon.composition, gnod; print(gnod.__version__)"

_log = logging.getLogger(__name__)

OnWait = Callable[[int], None]
"""Called with the number of requests in flight that the replacement waits for."""


class HandedOver(msgspec.Struct, frozen=True, kw_only=True):
    """Data that a process passes to the program that replaces it: the descriptors of the lock and of the listening
    socket, the path of the socket, and whether this process made its file. A child inherits it too, with another
    `pid`."""

    pid: int
    lock: int
    socket: int
    path: str
    owns_file: bool


def handed_over(environment: MutableMapping[str, str]) -> HandedOver | None:
    """Return the data that the replaced program passed to this one, and remove it from the environment."""
    try:
        left = msgspec.json.decode(environment.pop(_VARIABLE, ""), type=HandedOver)
    except msgspec.DecodeError:
        return None
    if left.pid != os.getpid():
        return None
    _set_inheritable(left, False)
    return left


def execute(left: HandedOver, variables: Mapping[str, str]) -> None:
    """Execute the installed gnod in this process, with `variables` added to its environment. Returns only if this is
    impossible; then the caller continues."""
    # The daemon is already running, so the setting against starts on demand does not apply.
    words = [word for word in sys.orig_argv[1:] if word != "--on-demand"]
    environment = {**os.environ, **variables, _VARIABLE: msgspec.json.encode(left).decode()}
    _set_inheritable(left, True)
    try:
        os.execve(sys.executable, [sys.executable, *words], environment)
    except OSError as error:
        _log.error("replacing.failed", extra={"fields": {"message": str(error)}})
        _set_inheritable(left, False)


def _set_inheritable(left: HandedOver, value: bool) -> None:
    for descriptor in (left.lock, left.socket):
        os.set_inheritable(descriptor, value)


class Replacement:
    """Waits until this process can be replaced, and calls `replace`."""

    def __init__(self, stats: Stats, replace: Callable[[], None]) -> None:
        self._stats = stats
        self._replace = replace

    async def when_idle(self, on_wait: OnWait) -> str:
        """Replace this process as soon as no request can be lost; return the installed version.

        Raises Unavailable if the installed gnod cannot start.
        """
        version = await asyncio.to_thread(_installed_version)
        await self._replace_by(version, on_wait)
        return version

    async def _replace_by(self, version: str, on_wait: OnWait) -> None:
        while waiting := self._not_to_be_cut_off():
            on_wait(waiting)
            await asyncio.sleep(_POLL_S)
        _log.info("daemon.replacing", extra={"fields": {"version": gnod.__version__, "installed": version}})
        self._replace()

    async def follow_upgrades(self) -> None:
        """Replace this process some time after another version of gnod has been installed in its place, or the same
        version for another Python, whose packages are in another folder."""
        seen = _LOADED
        while True:
            await next_tick(CHECK_S)
            installed = _installed()
            if installed == seen or not _has_settled():
                continue
            seen = installed
            try:
                version = await asyncio.to_thread(_installed_version)
            except Unavailable as error:
                _log.warning("upgrade.broken", extra={"fields": {"message": error.message}})
                continue
            if version != gnod.__version__ or installed is None:
                await self._replace_by(version, lambda _: None)

    def _not_to_be_cut_off(self) -> int:
        """Return the number of requests in flight that may take longer than the grace period."""
        running = self._stats.in_flight.values()
        return sum(METHODS[method].limit_s == LONG_S for method in running if method != _RESTART)


def _installed_version() -> str:
    command = [sys.executable, "-P", "-c", _PROBE]
    try:
        return subprocess.check_output(
            command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=_IMPORT_TIMEOUT_S
        ).strip()
    except (OSError, subprocess.SubprocessError) as error:
        last_line = (getattr(error, "stderr", None) or str(error)).strip().rpartition("\n")[2]
        raise Unavailable(
            f"the installed gnod cannot start ({last_line}), so this one keeps running: install gnod again"
        ) from None


def _installed() -> tuple[int, int] | None:
    """Return the inode and ctime of the file of this package; None if it does not exist. Packages may set the mtime, so
    it is not used."""
    try:
        status = _PACKAGE.stat()
    except OSError:
        return None
    return status.st_ino, status.st_ctime_ns


def _has_settled() -> bool:
    """Return whether the last write or removal of the file of this package was some time ago."""
    nearest = next(path for path in (_PACKAGE, *_PACKAGE.parents) if path.exists())
    return not 0 <= time.time() - nearest.stat().st_ctime < SETTLED_S


_PACKAGE = Path(gnod.__file__)
_LOADED = _installed()
