"""The memory that is free for models: the machine's, or what is left of the limit of a container."""

from __future__ import annotations

from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")


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
