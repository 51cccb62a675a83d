"""The sandbox of a child process that reads untrusted data.

On Linux, Landlock blocks files, TCP and signals; seccomp blocks the rest of the network, programs and other access to
the system (docs/adr/0020). A kernel or container may support one, both or neither. macOS has its own sandbox.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import msgspec

import gnod
from gnod.child import landlock, seatbelt, seccomp
from gnod.child.system_calls import NotHeld

# Python, the C library and converters read these: programs, libraries, time zones, MIME types, and the number of CPUs.
_SYSTEM = """
    /usr /bin /sbin /lib /lib32 /lib64 /etc /opt /nix/store /gnu/store /run/current-system /home/linuxbrew/.linuxbrew
    /proc/self /proc/cpuinfo /proc/meminfo /proc/stat /proc/filesystems /proc/sys/vm
    /sys/devices/system /sys/fs/cgroup /dev/zero /dev/random /dev/urandom
"""


def confine(*, writable: str | None, readable: Sequence[str] | None) -> list[str]:
    """Give up programs, connections, other processes, and writing files except regular ones directly in `writable`.

    `readable`: folders below which files may be read, in addition to those of the system and Python; None: all files.
    Returns what is enforced, in words.
    """
    if sys.platform == "darwin":
        return _held("macOS sandbox", lambda: seatbelt.confine(writable))
    reads = None if readable is None else _readable(readable)
    rules = [("/dev/null", landlock.READ_AND_WRITE)]
    rules += [(path, landlock.READ) for path in reads or ()]
    rules += [(writable, landlock.READ_AND_WRITE)] if writable else []
    return [
        *_held("Landlock", lambda: landlock.restrict(rules, reading=reads is not None)),
        *_held("seccomp", seccomp.confine),
    ]


def stay_local() -> list[str]:
    """Give up the network and programs, but nothing that a GPU driver may need. Returns what is enforced, in words."""
    return _held("seccomp", seccomp.stay_local)


def _held(name: str, bar: Callable[[], list[str]]) -> list[str]:
    if sys.platform not in ("linux", "darwin"):
        return []
    try:
        return [f"{name} ({', '.join(bar())})"]
    except (NotHeld, OSError):
        return []


def _readable(folders: Sequence[str]) -> list[str] | None:
    """Return all paths that must be readable; None if they are unknown, because packages link to other places."""
    paths = [
        *_SYSTEM.split(),
        sys.prefix,
        sys.exec_prefix,
        sys.base_prefix,
        sys.base_exec_prefix,
        *filter(None, sys.path),
    ]
    paths += filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    paths += [os.path.dirname(os.path.dirname(gnod.__file__))]  # noqa: PTH120 - pathlib is 20 ms that we do not need
    # An empty entry in PYTHONPATH is the current folder, here "/", which has nothing to import.
    paths = [path for path in paths if os.path.realpath(path) != "/"]
    real = [os.path.realpath(path).rstrip("/") + "/" for path in paths]
    if not os.path.realpath(msgspec.__file__).startswith(tuple(real)):
        return None
    return [*paths, *folders]
