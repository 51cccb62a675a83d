"""Measure the speed of models of given shapes in a child process (`gnod.models.supply.speed`), and find the graphics
cards.

The child is killed at its time limit; what it measured until then counts.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from gnod.child import frames
from gnod.child.process import ChildProcess, launch
from gnod.models.run.worker_process import ENVIRONMENT
from gnod.models.supply.speed.messages import (
    Devices,
    Finished,
    Gpu,
    MeasureReply,
    MeasureRequest,
    SpeedMeasured,
    SpeedSkipped,
)
from gnod.models.supply.speed.shapes import Shape

LIMIT_S = 15.0

_replies = msgspec.msgpack.Decoder(MeasureReply)

OnProgress = Callable[[int, int], None]


class Speeds(NamedTuple):
    """`gpus`: the cards that llama.cpp can use. `tokens_per_s`: of the shapes that were measured; `too_slow`: those
    that were not, because they would be too slow. `failure`: why another was not."""

    gpus: list[Gpu]
    tokens_per_s: dict[Shape, float]
    too_slow: frozenset[Shape] = frozenset()
    failure: str | None = None


async def measure(
    shapes: Sequence[Shape],
    *,
    threads: int,
    gpu: bool,
    least_tokens_per_s: float,
    on_progress: OnProgress,
    limit_s: float = LIMIT_S,
) -> Speeds:
    """Measure the shapes in their order, which begins with the smallest. Without a graphics card, those that certainly
    do not reach `least_tokens_per_s` are left out. `on_progress` gets the models that are done, and all. Never raises
    for a measurement that fails."""
    # Shapes that differ only in the number of their layers share a measurement.
    samples = {shape.sample: shape for shape in shapes}
    heard = _Heard([], {}, set())
    with tempfile.TemporaryDirectory(prefix="gnod-speed-") as folder:
        request = MeasureRequest(
            shapes=list(samples.values()),
            threads=threads,
            gpu=gpu,
            least_tokens_per_s=least_tokens_per_s,
            folder=folder,
        )
        failure = await _run(request, heard, lambda: on_progress(heard.done, len(samples)), limit_s)
    speeds = {
        shape: heard.speeds[shape.sample] * shape.measured_layers / shape.layers
        for shape in shapes
        if shape.sample in heard.speeds
    }
    too_slow = frozenset(shape for shape in shapes if shape.sample in heard.skipped)
    return Speeds(heard.gpus, speeds, too_slow, failure)


class _Heard(NamedTuple):
    """The reports of the child so far. `speeds` and `skipped` are about samples."""

    gpus: list[Gpu]
    speeds: dict[Shape, float]
    skipped: set[Shape]

    @property
    def done(self) -> int:
        return len(self.speeds) + len(self.skipped)


async def _run(request: MeasureRequest, heard: _Heard, on_report: Callable[[], None], limit_s: float) -> str | None:
    """Run a child; return why it failed."""
    try:
        child = await launch("gnod.models.supply.speed", environment=ENVIRONMENT)
    except OSError as error:
        return f"the measuring process cannot be started: {error.strerror}"
    try:
        async with asyncio.timeout(limit_s):
            await child.send(frames.encode(request))
            return await _listen(child, heard, on_report)
    except TimeoutError:
        return f"the measurement took over {limit_s:g} s"
    except (frames.FrameError, msgspec.DecodeError, ConnectionError):
        return "the measuring process crashed"
    finally:
        child.kill()
        await asyncio.shield(child.ended())


async def _listen(child: ChildProcess, heard: _Heard, on_report: Callable[[], None]) -> str | None:
    while True:
        on_report()
        match await frames.read(child.reader, _replies):
            case Devices() as devices:
                heard.gpus.extend(devices.gpus)
            case SpeedMeasured() as measured:
                heard.speeds[measured.shape.sample] = measured.tokens_per_s
            case SpeedSkipped() as skipped:
                heard.skipped.add(skipped.shape.sample)
            case Finished() as finished:
                return finished.failure
            case None:
                return "the measuring process crashed"
