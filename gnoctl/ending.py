"""End the daemon without its help: for one that does not answer. Knows its lock and its process, not its socket."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil

from gnod.errors import DaemonNotRunning, Unavailable
from gnod.lock_holder import Holder, holder_of
from gnod.paths import IndexPaths

# The daemon has this long to end in order, and then this long to end after being killed.
GRACE_S = 5.0
_POLL_S = 0.03


def end_daemon(places: IndexPaths) -> int:
    """End the process that holds the index's lock, asking nothing of it; return its process id.

    Its workers end with it. Raises DaemonNotRunning, or Unavailable if the process cannot be ended from here.
    """
    holder = holder_of(places.lock_file)
    if holder is None:
        raise DaemonNotRunning(f"gnod is not running for index '{places.index}', so there is nothing to end")
    process = _process_of(places, holder)
    with suppress(psutil.NoSuchProcess):
        process.terminate()
        process.send_signal(signal.SIGCONT)  # a process that was stopped (SIGSTOP) can then end in order
    if not _is_free(places, process.pid, GRACE_S):
        with suppress(psutil.NoSuchProcess):
            process.kill()
        if not _is_free(places, process.pid, GRACE_S):
            raise Unavailable(
                f"gnod (pid {process.pid}) was killed and has not ended: it waits for a disk that does not answer",
                {"pid": process.pid},
            )
    return process.pid


def _process_of(places: IndexPaths, holder: Holder) -> psutil.Process:
    """Return the process that has the lock file open: the pid in the file alone proves nothing. psutil signals no other
    process that gets the same pid later."""
    with suppress(psutil.Error, OSError):
        process = psutil.Process(holder.pid)
        if any(Path(file.path).samefile(places.lock_file) for file in process.open_files()):
            return process
    raise Unavailable(
        f"gnod holds the index, but its process cannot be found from here (pid {holder.pid}): it may run in a container"
        " or as another user; end it there"
    )


def _is_free(places: IndexPaths, pid: int, timeout_s: float) -> bool:
    """Wait until the process does not hold the lock any more; a service manager may have started another one."""
    deadline = time.monotonic() + timeout_s
    while (holder := holder_of(places.lock_file)) and holder.pid in (0, pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True
