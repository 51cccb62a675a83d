"""An idle daemon and its children let the machine sleep."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from tests.machine import Machine
from tests.systems import needs_linux

pytestmark = [
    pytest.mark.slow,
    needs_linux("Linux tells how often a thread woke up"),
]

_LOOK_S = 8.0
_LOOKS = 3  # ending workers that were idle for 10 or 30 seconds wakes the daemon up once each


@pytest.mark.stress
def test_it_wakes_up_less_than_once_a_second(machine: Machine, minilm_onnx: Path) -> None:
    machine.write(a_md="# Zebra\n", folder__b_md="# Lion\n")
    machine.config.parent.mkdir(parents=True, exist_ok=True)
    machine.config.write_text(
        f'collections:\n  - {{name: notes, path: {machine.notes}, models: {{embed: "file:{minilm_onnx}"}}}}\n'
    )
    machine.ok("update")
    machine.ok("embed")
    machine.quiet()  # leaves a connection open
    daemon = psutil.Process(machine.pid())
    time.sleep(2)
    assert len(awakenings(daemon)) >= 3, "the daemon, a converter and the inference worker"
    assert any(woken(daemon) < _LOOK_S for _ in range(_LOOKS))


def woken(daemon: psutil.Process) -> int:
    """Return how often the surviving processes woke up within the next seconds."""
    before = awakenings(daemon)
    time.sleep(_LOOK_S)
    after = awakenings(daemon)
    return sum(after[pid] - before[pid] for pid in before.keys() & after.keys())


def awakenings(daemon: psutil.Process) -> dict[int, int]:
    """Return how often each process went to sleep, summed over its threads."""
    return {each.pid: sum(map(slept, tasks(each.pid))) for each in [daemon, *daemon.children(recursive=True)]}


def tasks(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/task").iterdir())


def slept(task: Path) -> int:
    (line,) = (s for s in (task / "status").read_text().splitlines() if s.startswith("voluntary_ctxt_switches"))
    return int(line.split()[1])
