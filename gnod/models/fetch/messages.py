"""What the daemon and the fetching child say to each other."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class FetchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`folder`: the cache of models. `force`: fetch also what is there; it stays until the new file is whole."""

    uri: str
    folder: str
    force: bool = False


class FetchProgress(msgspec.Struct, frozen=True, tag="progress"):
    """`stage`: wait, download, check, unpack or convert. In bytes; `total` is None while it is not known."""

    stage: str
    done: int
    total: int | None = None


class Fetched(msgspec.Struct, frozen=True, tag="fetched"):
    """The model is in its place."""

    bytes: int


class FetchFailed(msgspec.Struct, frozen=True, tag="failed"):
    """A GnoError on its way to the daemon."""

    code: int
    message: str
    details: dict[str, object]


FetchReply = FetchProgress | Fetched | FetchFailed
Report = Callable[[FetchProgress], None]
