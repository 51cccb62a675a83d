"""How a child process settles in: it leaves Ctrl-C to the daemon, dies with it, and lets nobody print.

Runs in the child, before anything big is imported.
"""

from __future__ import annotations

import os
import resource
import signal
import sys

from gnod.child.priority import lower_process

_PR_SET_PDEATHSIG = 1


def settle(parent: int, *, nice: int = 0) -> None:
    """Tie this process to the daemon, `parent`; with a `nice` above 0 it has the processor and the disk after others.
    Raises SystemExit if the daemon has died already."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the daemon answers it
    _die_with(parent)
    lower_process(nice)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def silence(errors: str = os.devnull) -> None:
    """Turn off what libraries print, log and warn; what they write to standard error all the same goes to the file
    `errors`. Until then it is open, for a start that fails."""
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
    """Ask Linux for SIGKILL when the daemon dies. Elsewhere the end of the socket's stream says so, later."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(0)  # it died before it could be asked
