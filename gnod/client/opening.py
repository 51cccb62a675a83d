"""Connect to the daemon of an index, or start it. Every `gnoctl` command imports this module."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gnod.client.connection import SILENCE_S, Connection, connect
from gnod.errors import DaemonNotRunning, Refused, TimedOut, Unavailable
from gnod.folders import DEFAULT_INDEX
from gnod.lock_holder import Holder, holder_of, last_failure
from gnod.paths import IndexPaths, resolve

if TYPE_CHECKING:
    from gnod.client.starting import OnStarted

# A daemon that starts may be upgrading a large index.
START_TIMEOUT_S = 15.0
# A daemon notices within two seconds that its socket was deleted.
RENEW_TIMEOUT_S = 3.0
_POLL_S = 0.05

OnWait = Callable[[], None]
"""Called once, after a second without an answer."""


def places_of(index: str | None, socket: Path | None) -> IndexPaths:
    """Return the paths of `index`. `socket` replaces the usual socket."""
    places = resolve(index)
    return places if socket is None else msgspec.structs.replace(places, socket=socket.expanduser().absolute())


def connect_or_start(
    places: IndexPaths, *, may_start: bool, on_started: OnStarted | None = None, on_wait: OnWait | None = None
) -> Connection:
    """Return a connection. If the daemon is not running, start it if `may_start`, unless GNO_NO_AUTOSTART is set."""
    try:
        return connect_running(places, on_wait=on_wait)
    except DaemonNotRunning:
        if not may_start or os.environ.get("GNO_NO_AUTOSTART"):
            raise
    from gnod.client.starting import start  # this imports subprocess

    return start(places, on_demand=True, on_started=on_started)


def connect_running(
    places: IndexPaths, *, timeout_s: float = START_TIMEOUT_S, on_wait: OnWait | None = None
) -> Connection:
    """Return a connection. While a daemon holds the index's lock, wait at most `timeout_s` until it listens.

    Raises DaemonNotRunning if no daemon holds the lock, and Unavailable if the holder does not accept connections.
    """
    started = time.monotonic()
    while True:
        try:
            connection = connect_now(places)
            connection.on_silence = on_wait
            return connection
        except DaemonNotRunning as error:
            holder = holder_of(places.lock_file)
            if holder is None:
                raise _not_running(places) from error
        waited_s = time.monotonic() - started
        if waited_s > min(timeout_s, RENEW_TIMEOUT_S if holder.socket else START_TIMEOUT_S):
            raise _not_listening(places, holder)
        if on_wait is not None and waited_s > SILENCE_S:
            on_wait()
            on_wait = None
        time.sleep(_POLL_S)


def connect_now(places: IndexPaths) -> Connection:
    """Return a connection to the usual socket, or to the socket that the holder of the index's lock names. Raises
    DaemonNotRunning if no process listens there."""
    try:
        return connect(places)
    except (Unavailable, Refused):
        elsewhere = socket_in_use(places)
        if elsewhere == places.socket:
            raise
    return connect(msgspec.structs.replace(places, socket=elsewhere))


def socket_in_use(places: IndexPaths) -> Path:
    """Return the socket path of the running daemon; the usual path if none is running."""
    holder = holder_of(places.lock_file)
    return Path(holder.socket) if holder and holder.socket else places.socket


def gnoctl(places: IndexPaths) -> str:
    """Return the gnoctl command for this index, for messages."""
    return "gnoctl" if places.index == DEFAULT_INDEX else f"gnoctl --index {places.index}"


def _not_running(places: IndexPaths) -> DaemonNotRunning:
    failure = last_failure(places.lock_file)
    reason = f"its last start failed: {failure}" if failure else f"nothing listens at {places.socket}"
    return DaemonNotRunning(
        f"gnod is not running for index '{places.index}' ({reason}): run `{gnoctl(places)} daemon start`",
        {"index": places.index, "socket": str(places.socket)},
    )


def _not_listening(places: IndexPaths, holder: Holder) -> Unavailable:
    if holder.socket is None:
        return still_starting(places, holder)
    return Unavailable(
        f"gnod (pid {holder.pid}) runs, but nothing listens at {holder.socket}: see `{gnoctl(places)} daemon logs`, or"
        f" end it with `{gnoctl(places)} daemon stop --force`",
        {"index": places.index, "pid": holder.pid, "socket": holder.socket},
    )


def still_starting(places: IndexPaths, holder: Holder) -> TimedOut:
    return TimedOut(
        f"gnod (pid {holder.pid}) is starting and does not answer yet: it may be upgrading a large index, so try again"
        f" in a minute, or see {places.log_file}",
        {"index": places.index, "pid": holder.pid},
    )
