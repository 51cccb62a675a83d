"""Background threads of the inference worker, including those of OpenMP, have low priority."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import psutil
import pytest

from gnod.models.run.llama import library
from gnod.models.run.llama.lane import Lane
from gnod.models.run.llama.library import llama_cpp
from gnod.models.run.messages import ModelSpec
from tests.systems import needs_linux

pytestmark = [
    pytest.mark.slow,
    needs_linux("priorities of threads are Linux's"),
]

WORDS = [list(range(1000, 1200))]


@pytest.mark.parametrize("background", [True, False])
@pytest.mark.stress
def test_background_threads_have_low_priority(minilm_gguf: Path, background: bool) -> None:
    model = library.load(ModelSpec(path=str(minilm_gguf), window=256, gpu=False, threads=2))
    before = threads()
    lane = Lane(model, tokens=256, threads=2, background=background)
    try:
        lane.submit(partial(lane.run, WORDS)).result()
        team = threads() - before
        assert len(team) >= 2, "the lane's thread, and one of OpenMP's"
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert {os.getpriority(os.PRIO_PROCESS, t) for t in team} == {max(own, 10) if background else own}
        on_disk = (2, 7) if background else tuple(psutil.Process().ionice())
        assert {(int(io.ioclass), io.value) for io in (psutil.Process(t).ionice() for t in team)} == {on_disk}
    finally:
        lane.close()
        llama_cpp.llama_model_free(model)


def threads() -> set[int]:
    return {int(task.name) for task in Path("/proc/self/task").iterdir()}
