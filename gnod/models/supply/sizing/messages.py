"""The messages between the daemon and the child that asks for sizes, sent as msgpack frames (gnod/child)."""

from __future__ import annotations

import msgspec


class SizesRequest(msgspec.Struct, frozen=True, kw_only=True):
    uris: list[str]


class Started(msgspec.Struct, frozen=True, tag="started"):
    """The child has loaded what it needs, and asks now."""


class DownloadSize(msgspec.Struct, frozen=True, kw_only=True, tag="size"):
    """The size of a download. `bytes`: if the hub or the index says so. `problem`: why the model cannot be downloaded
    now."""

    uri: str
    bytes: int | None = None
    problem: str | None = None


class AllAsked(msgspec.Struct, frozen=True, tag="all_asked"):
    """The end."""


SizesReply = Started | DownloadSize | AllAsked
