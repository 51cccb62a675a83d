"""Measures the free memory and checks that a model fits before it is loaded: a system that runs out of memory kills
arbitrary processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil

from gnod.errors import NotEnoughMemory
from gnod.models.run.messages import ModelSpec

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
# The buffers of a small model and the rest of the system need this much memory in addition to the file.
_MARGIN_BYTES = 200_000_000


def free_memory(cgroups: Path = _CGROUPS, own_groups: Path = _OWN_GROUPS) -> int:
    """Return the free bytes: those of the system, limited by this process's control groups."""
    return max(0, min([int(psutil.virtual_memory().available), *_left_in_groups(cgroups, own_groups)]))


def _left_in_groups(cgroups: Path, own_groups: Path) -> Iterator[int]:
    try:
        lines = own_groups.read_text().splitlines()
    except OSError:  # not Linux
        return
    for _, controllers, path in (line.split(":", 2) for line in lines):
        own = Path(path.strip("/"))
        # A container may see its own group as the topmost, under another path.
        for group in (own, *own.parents):
            if not controllers:  # cgroup v2
                yield from _left(cgroups / group, "memory.max", "memory.current", "")
            elif "memory" in controllers.split(","):
                yield from _left(cgroups / "memory" / group, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_")


def _left(group: Path, limit: str, used: str, prefix: str) -> Iterator[int]:
    try:
        free = int((group / limit).read_text()) - int((group / used).read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        # The file cache counts as used, but the system releases it when memory is needed.
        yield free + sum(int(stat[f"{prefix}{name}_file"]) for name in ("active", "inactive"))
    except (OSError, ValueError, KeyError):  # the group is not here, or its limit is "max"
        return


def require(spec: ModelSpec) -> None:
    """Raise NotEnoughMemory unless the model's file fits into the free memory."""
    try:
        size = Path(spec.path).stat().st_size
    except OSError:
        return  # loading reports the error
    if size + _MARGIN_BYTES > free_memory():
        raise NotEnoughMemory(message(spec), {"path": spec.path})


def message(spec: ModelSpec) -> str:
    return (
        f"there is not enough memory for the model {spec.path}: {free_memory() / 1e6:,.0f} MB are free. Close other "
        "programs, or choose a smaller preset with `gnoctl models use`; gnod tries again by itself"
    )
