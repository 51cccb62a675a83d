"""Run a random model of a shape for a moment and return the speed of the whole model. In the measuring child."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import wait
from functools import partial
from pathlib import Path

import numpy as np

from gnod.models.run.llama import library
from gnod.models.run.llama.bindings import llama_cpp
from gnod.models.run.llama.lane import Lane
from gnod.models.run.llama.packing import STEP_TOKENS
from gnod.models.run.messages import ModelSpec
from gnod.models.supply.speed.random_model import VOCABULARY, write_random_model
from gnod.models.supply.speed.shapes import Shape

# The time of the steps that count, after one that does not.
MEASURE_S = 0.15


def tokens_per_s(shape: Shape, folder: Path, *, threads: int, gpu: bool) -> float:
    """Return how many tokens of documents a model of this shape embeds in a second: of `measured_layers`, all of which
    it must have. Raises GnoError, OSError."""
    path = folder / "random.gguf"
    try:
        write_random_model(path, shape)
        model = library.load(ModelSpec(path=str(path), gpu=gpu, threads=threads))
    finally:
        path.unlink(missing_ok=True)
    lanes: list[Lane] = []
    try:
        # Like `EmbeddingEngine` with documents: encoders use one lane for each core.
        count, each = (1, threads) if library.is_causal(model) else (threads, 1)
        for _ in range(count):
            lanes.append(Lane(model, tokens=STEP_TOKENS, threads=each, background=False))
        return _speed(lanes, shape)
    finally:
        for lane in lanes:
            lane.close()
        llama_cpp.llama_model_free(model)


def _speed(lanes: Sequence[Lane], shape: Shape) -> float:
    # Use the clock: on virtual machines, processor time leaves out what others take.
    parts = np.random.default_rng(7).integers(1, VOCABULARY, (STEP_TOKENS // shape.passage, shape.passage)).tolist()
    _run(lanes, parts, 0)
    started = time.monotonic()
    done = _run(lanes, parts, MEASURE_S)
    return done / (time.monotonic() - started)


def _run(lanes: Sequence[Lane], parts: list[list[int]], least_s: float) -> int:
    """Let every lane repeat the step for this time, at least once; return the tokens of all."""
    until = time.monotonic() + least_s

    def repeat(lane: Lane) -> int:
        done = 0
        while not done or time.monotonic() < until:
            lane.run(parts)
            done += sum(map(len, parts))
        return done

    running = [lane.submit(partial(repeat, lane)) for lane in lanes]
    wait(running)  # wait for all of them before a lane is closed
    return sum(each.result() for each in running)
