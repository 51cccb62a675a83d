"""Connect to the daemon of an index, or start it. Every `gnoctl` command imports this module."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gnod.client.connection import Connection, connect
from gnod.errors import DaemonNotRunning
from gnod.paths import Places, resolve

if TYPE_CHECKING:
    from gnod.client.starting import OnStarted


def places_of(index: str | None, socket: Path | None) -> Places:
    """Return the places of `index`, with another socket if one is given."""
    places = resolve(index)
    return places if socket is None else msgspec.structs.replace(places, socket=socket.expanduser().absolute())


def connect_or_start(places: Places, *, may_start: bool, on_started: OnStarted | None = None) -> Connection:
    """Return a connection; start the daemon if it is not running and `may_start`, unless GNO_NO_AUTOSTART is set."""
    try:
        return connect(places)
    except DaemonNotRunning:
        if not may_start or os.environ.get("GNO_NO_AUTOSTART"):
            raise
    from gnod.client.starting import start  # imports subprocess

    return start(places, on_demand=True, on_started=on_started)
