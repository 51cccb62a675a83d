"""Raise the number of files that the daemon may have open, which is 256 on macOS: each folder that is watched there,
and each client, takes one."""

from __future__ import annotations

import contextlib
import resource

# OPEN_MAX of macOS, which refuses more, even where the hard limit is "unlimited".
_MOST = 10_240


def raise_limit() -> None:
    """Raise the soft limit as far as this process may. Child processes inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # the system allows less, so the limit stays
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted(soft, hard), hard))


def wanted(soft: int, hard: int) -> int:
    """Return the soft limit to set: never lower than now, nor higher than the hard limit."""
    most = _MOST if hard == resource.RLIM_INFINITY else min(_MOST, hard)
    return soft if soft == resource.RLIM_INFINITY else max(soft, most)
