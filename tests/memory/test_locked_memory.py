"""Arrays that stay out of swap and core dumps."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gnod.memory.key.process_memory import LockedArray
from tests.systems import needs_linux


def flags_of(array: LockedArray) -> set[str]:
    """Return the flags of the pages, as the kernel reports them: `lo` locked, `dd` not in core dumps."""
    address = array._bytes.ctypes.data
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        head = line.split(" ", 1)[0]
        if "-" in head and ":" not in head:
            low, high = (int(part, 16) for part in head.split("-"))
            inside = low <= address < high
        elif inside and line.startswith("VmFlags:"):
            return set(line.split()[1:])
    raise AssertionError("the pages are not mapped")


@needs_linux("/proc is Linux")
def test_pages_are_locked_and_not_dumped() -> None:
    array = LockedArray(1000, np.int64)
    array.values[:] = 7
    flags = flags_of(array)
    assert "dd" in flags
    assert ("lo" in flags) == array.is_locked
    array.wipe()
    assert not array._bytes.any()
    assert "lo" not in flags_of(array)


def test_empty_and_of_any_type() -> None:
    assert len(LockedArray(0, np.uint16).values) == 0
    table = LockedArray(3, np.dtype([("id", np.int64), ("live", np.bool_)])).values
    assert table["id"].tolist() == [0, 0, 0]
