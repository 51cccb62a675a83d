"""The speed of models that are not here: random weights in the real child process."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnod.models.supply.speed import shapes
from gnod.models.supply.speed.devices import gpus
from gnod.models.supply.speed.measuring import Speeds, measure
from gnod.models.supply.speed.shapes import Shape

pytestmark = pytest.mark.slow

ALL = [shapes.ETTIN_17M, shapes.MINILM, shapes.E5_SMALL_Q4, shapes.GRANITE_97M, shapes.BGE_M3, shapes.QWEN3_600M]


async def _measured(wanted: list[Shape], least: float = 0.0, limit_s: float = 60.0) -> tuple[Speeds, list[int]]:
    done: list[int] = []
    speeds = await measure(
        wanted,
        threads=2,
        gpu=False,
        least_tokens_per_s=least,
        on_progress=lambda number, _: done.append(number),
        limit_s=limit_s,
    )
    return speeds, done


async def test_every_shape_of_a_preset_can_be_measured() -> None:
    speeds, done = await _measured(ALL)
    assert speeds.failure is None
    assert list(speeds.tokens_per_s) == ALL
    assert done[-1] == len(ALL)
    # By order of magnitude, whatever else this machine does: 10 and 440 million weights.
    assert speeds.tokens_per_s[shapes.MINILM] > 5 * speeds.tokens_per_s[shapes.QWEN3_600M] > 0


async def test_models_that_differ_only_in_their_layers_share_a_measurement() -> None:
    speeds, done = await _measured([shapes.MINILM, shapes.E5_SMALL])
    assert speeds.tokens_per_s[shapes.MINILM] == pytest.approx(2 * speeds.tokens_per_s[shapes.E5_SMALL])
    assert done[-1] == 1


async def test_what_would_be_far_too_slow_is_not_measured() -> None:
    speeds, done = await _measured([shapes.MINILM, shapes.QWEN3_600M], least=1e9)
    assert list(speeds.tokens_per_s) == [shapes.MINILM]  # small models always are
    assert speeds.too_slow == {shapes.QWEN3_600M}
    assert done[-1] == 2


async def test_a_measurement_that_fails_says_why_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    speeds, _ = await _measured(ALL, limit_s=0.01)
    assert speeds.failure == "the measurement took over 0.01 s"
    impossible = Shape("bert", 1, 100, 100, 3, 3, 33, "q8_0")
    speeds, _ = await _measured([shapes.MINILM, impossible])
    assert speeds.failure
    assert shapes.MINILM in speeds.tokens_per_s
    assert not list(tmp_path.iterdir())


def test_graphics_cards_are_those_of_llama_cpp() -> None:
    for gpu in gpus():  # none where llama.cpp was built for processors only
        assert gpu.name
        assert gpu.total_bytes >= gpu.free_bytes
