"""The messages between the daemon and the measuring child. Plain data, sent as msgpack frames (gnod/child)."""

from __future__ import annotations

import msgspec

from gnod.models.supply.speed.shapes import Shape


class MeasureRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`folder`: for the random models, one at a time. `least_tokens_per_s`: shapes that are certainly slower are not
    measured; the smallest ones must come first."""

    shapes: list[Shape]
    threads: int
    gpu: bool
    least_tokens_per_s: float
    folder: str


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """A graphics card as llama.cpp reports it, in bytes."""

    name: str
    total_bytes: int
    free_bytes: int


class Devices(msgspec.Struct, frozen=True, kw_only=True, tag="devices"):
    gpus: list[Gpu]


class SpeedMeasured(msgspec.Struct, frozen=True, kw_only=True, tag="measured"):
    """`tokens_per_s`: of the layers that are measured, alone."""

    shape: Shape
    tokens_per_s: float


class SpeedSkipped(msgspec.Struct, frozen=True, kw_only=True, tag="skipped"):
    """It would be too slow."""

    shape: Shape


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """The last message, sent even after a failure."""

    failure: str | None = None


MeasureReply = Devices | SpeedMeasured | SpeedSkipped | Finished
