"""The memory that is free for models, and whether one fits, before it is loaded: a system without memory kills any
process."""

from __future__ import annotations

from pathlib import Path

import psutil

from gnod.errors import NotEnoughMemory
from gnod.models.run.messages import ModelSpec

_CGROUP = Path("/sys/fs/cgroup")
# A small model's buffers and the rest of the system need this much memory beside the file.
_MARGIN_BYTES = 200_000_000


def free_memory(cgroup: Path = _CGROUP) -> int:
    """Return bytes. Reads the limit of the control group (cgroup v2) that a container sees as the topmost."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = int((cgroup / "memory.max").read_text())
        used = int((cgroup / "memory.current").read_text())
        # The cache of files counts as used, but is released when memory is needed.
        lines = (cgroup / "memory.stat").read_text().splitlines()
        cache = sum(int(line.split()[1]) for line in lines if line.startswith(("active_file ", "inactive_file ")))
    except (OSError, ValueError, IndexError):  # there is no limit, or it is "max", or this is another system
        return free
    return max(0, min(free, limit - used + cache))


def require(spec: ModelSpec) -> None:
    """Raise NotEnoughMemory unless the model's file fits into the free memory."""
    try:
        size = Path(spec.path).stat().st_size
    except OSError:
        return  # the loading says what is wrong
    if size + _MARGIN_BYTES > free_memory():
        raise NotEnoughMemory(message(spec), {"path": spec.path})


def message(spec: ModelSpec) -> str:
    return (
        f"there is not enough memory for the model {spec.path}: {free_memory() / 1e6:,.0f} MB are free. Close other "
        "programs, or choose a smaller preset with `gnoctl models use`; it is tried again by itself"
    )
