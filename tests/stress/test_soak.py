"""A short soak run finds no faults. `python -m tests.stress.soak` runs for minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress import soak
from tests.stress.soak import Soak

pytestmark = [pytest.mark.stress, pytest.mark.timeout(600)]


def test_a_short_soak_finds_no_faults(short_tmp: Path, minilm_onnx: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "MAX_GROWTH", 1.0)  # memory is stable only after minutes
    for name in ("REPORT_EVERY_S", "KILL_EVERY_S", "INVITE_EVERY_S"):
        monkeypatch.setattr(soak, name, 3.0)
    lines: list[str] = []
    run = Soak(short_tmp, minilm_onnx, None, seed=1, documents=20)
    try:
        run.run(10, lines.append)
        assert run.failures == []
    finally:
        run.close()
    assert lines
    assert any("collections added and removed" in line for line in run.table())
