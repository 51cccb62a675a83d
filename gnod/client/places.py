"""Which daemon a client means: an index by name, or a socket. Knows no connection."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gnod.paths import Places, resolve


def places_of(index: str | None, socket: Path | None) -> Places:
    """Return the places of `index`; `socket` is used instead of the index's own."""
    places = resolve(index)
    return places if socket is None else msgspec.structs.replace(places, socket=socket.expanduser().absolute())
