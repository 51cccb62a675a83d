"""The messages between the daemon and the fetching child."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`folder`: the model cache. `force`: fetch an installed model again; it stays until the new file is complete.
    `accept`: a SHA-256 to accept instead of the known one."""

    uri: str
    folder: str
    force: bool = False
    accept: str = ""


class FetchProgress(msgspec.Struct, frozen=True, tag="progress"):
    """`stage`: wait, download, check, unpack or prepare. Sizes are in bytes; `total` is None while unknown."""

    stage: str
    done: int
    total: int | None = None


class Fetched(msgspec.Struct, frozen=True, tag="fetched"):
    """The model is installed."""


class FetchFailed(msgspec.Struct, frozen=True, tag="failed"):
    """An error for the daemon to raise as a GnoError."""

    code: int
    message: str
    details: dict[str, object]


FetchReply = FetchProgress | Fetched | FetchFailed
OnProgress = Callable[[FetchProgress], None]
