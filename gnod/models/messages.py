"""What the daemon and the inference worker say to each other. Plain data, sent as msgpack frames (gnod/child)."""

from __future__ import annotations

from typing import Literal

import msgspec


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How to load a model. `window`: tokens that it takes at once, specials included; None: what its file says,
    within reason. `threads`: of the processor, for one step of the model."""

    path: str
    window: int | None = None
    gpu: bool = True
    threads: int = 1


class Embed(msgspec.Struct, frozen=True, kw_only=True, tag="embed"):
    """`interactive`: somebody waits for it, so it goes ahead of all that is not."""

    id: int
    model: ModelSpec
    texts: list[str]
    interactive: bool


class Cancel(msgspec.Struct, frozen=True, kw_only=True, tag="cancel"):
    """Forget a request if it has not begun. Nothing is answered."""

    id: int


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The worker has started."""


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag="begun"):
    """The worker works on this request from here on: if it dies now, this is the one that is lost."""

    id: int


class Loaded(msgspec.Struct, frozen=True, kw_only=True, tag="loaded"):
    """A model is in memory."""

    path: str
    took_s: float


class Unloaded(msgspec.Struct, frozen=True, kw_only=True, tag="unloaded"):
    """A model is no longer in memory."""

    path: str


class Embedded(msgspec.Struct, frozen=True, kw_only=True, tag="embedded"):
    """`vectors`: float32, little-endian, one row of `dimensions` a text, each of length 1. `tokens`: of all texts."""

    id: int
    dimensions: int
    vectors: bytes
    tokens: int


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """`kind`: the file is damaged, the model cannot do this, or anything else went wrong."""

    id: int
    kind: Literal["corrupt", "rejected", "failed"]
    message: str


Request = Embed | Cancel
Reply = Ready | Begun | Loaded | Unloaded | Embedded | Failed
