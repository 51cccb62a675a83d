"""Background priority of a process, of a thread, and of the threads that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import psutil

from gnod.child.priority import lower_process, lower_thread
from tests.systems import needs_linux

pytestmark = needs_linux("only Linux has priorities of threads")


class Priority(NamedTuple):
    nice: int
    disk: tuple[int, int]


LAST_ON_DISK = (2, 7)


def of(thread: int) -> Priority:
    disk = psutil.Process(thread).ionice()
    return Priority(os.getpriority(os.PRIO_PROCESS, thread), (int(disk.ioclass), disk.value))


def of_this_thread() -> Priority:
    return of(threading.get_native_id())


def lowered(nice: int) -> Priority:
    return Priority(min(of_this_thread().nice + nice, 19), LAST_ON_DISK)


def in_a_new_process(work: str) -> list[str]:
    script = (
        f"import os, psutil\nfrom gnod.child.priority import *\n{work}\nprint(os.nice(0), *psutil.Process().ionice())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.replace("IOPriority.IOPRIO_CLASS_BE", "2").split()


def test_lower_process() -> None:
    nice, disk = lowered(3)
    assert in_a_new_process("lower_process(3)") == [str(nice), *map(str, disk)]


def test_lowering_a_process_by_0_changes_nothing() -> None:
    before = of_this_thread()
    lower_process(0)
    assert of_this_thread() == before


def test_a_lowered_thread_and_its_children() -> None:
    before = of_this_thread()
    with ThreadPoolExecutor(1, initializer=lower_thread) as threads:
        found = threads.submit(of_this_thread).result()
        with threads.submit(ThreadPoolExecutor, 1).result() as others:
            # The first submit starts the thread, so the lowered thread must call it.
            inherited = threads.submit(lambda: others.submit(of_this_thread)).result().result()
    assert found == inherited == Priority(max(before.nice, 10), LAST_ON_DISK)
    assert of_this_thread() == before


def test_a_thread_of_lower_priority_keeps_it() -> None:
    assert in_a_new_process("os.nice(19)\nlower_thread()")[0] == "19"
