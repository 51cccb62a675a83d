"""The memory that is free for models, on a machine and in a container."""

from __future__ import annotations

from pathlib import Path

import psutil

from gnod.models.run.memory import free_memory


def test_the_limit_of_a_container_counts(tmp_path: Path) -> None:
    assert 0 < free_memory(tmp_path) <= psutil.virtual_memory().total
    (tmp_path / "memory.current").write_text("900000\n")
    (tmp_path / "memory.stat").write_text("anon 500000\nactive_file 100000\ninactive_file 200000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory(tmp_path) > 1_000_000
    (tmp_path / "memory.max").write_text("1000000\n")
    assert free_memory(tmp_path) == 400_000
