"""Sets up a child process: it leaves Ctrl-C to the daemon, ends with the daemon, and prints nothing.

The child calls this before large imports.
"""

from __future__ import annotations

import os
import resource
import signal
import sys

from gnod.child.priority import lower_process

_PR_SET_PDEATHSIG = 1


def set_up_child(parent: int, *, nice: int = 0) -> None:
    """Tie this process to the daemon `parent`. A `nice` above 0 lowers its priority for CPU and disk.

    Raises SystemExit if the daemon has ended already.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group, and the daemon handles it
    _die_with(parent)
    lower_process(nice)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def silence(errors: str = os.devnull) -> None:
    """Turn off printing, logging and warnings of libraries. Their output to standard error goes to the file `errors`.
    Until then, standard error stays open, so that a failed start can report."""
    import logging
    import warnings

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    for path, standards in ((os.devnull, (0, 1)), (errors, (2,))):
        opened = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        for standard in standards:
            os.dup2(opened, standard)
        os.close(opened)


def _die_with(parent: int) -> None:
    """Make Linux send SIGKILL when the daemon ends. Elsewhere, the child notices the closed socket later."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(0)  # the parent ended before prctl
