"""The soak runs, and finds nothing in some seconds. `python -m benchmarks.soak` goes on for minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import soak
from benchmarks.soak import Soak

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_some_seconds_of_everything(short_tmp: Path, minilm_gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "MAX_GROWTH", 1.0)  # what is flat shows after minutes only
    for name in ("TELL_EVERY_S", "KILL_EVERY_S", "INVITE_EVERY_S"):
        monkeypatch.setattr(soak, name, 3.0)
    lines: list[str] = []
    run = Soak(short_tmp, minilm_gguf, None, seed=1, documents=20)
    try:
        run.run(10, lines.append)
        assert run.failures == []
    finally:
        run.close()
    assert lines
    assert any("collections added and removed" in line for line in run.table())
