"""What a test leaves running: child processes, threads and sockets. Linux only; elsewhere it finds threads alone."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import signal
import socket
import subprocess
import threading
import time
from concurrent.futures import thread as pool_threads
from pathlib import Path

# What was told to end may need a moment for it; a busy machine may need longer.
_MOMENT_S = 0.05
_GRACE_S = 5.0
_TASKS = Path("/proc/self/task")
_DESCRIPTORS = Path("/proc/self/fd")

Running = set[str]
_shared: set[str] = set()
_shared_processes: set[int] = set()


def share_process(pid: int) -> None:
    """Ignore a process that several tests use."""
    _shared_processes.add(pid)


def share(connection: socket.socket) -> None:
    """Ignore a connection that several tests use."""
    _shared.add(f"socket:[{os.fstat(connection.fileno()).st_ino}]")


def running() -> Running:
    """Return what runs now or is open."""
    return _threads() | _children() | _sockets()


def leftovers(before: Running) -> Running:
    """Return what was not there before, and does not end within the grace period."""
    if left := _left(before, _MOMENT_S):
        gc.collect()  # an object that nothing refers to closes its socket, with a warning
        subprocess._cleanup()  # type: ignore[attr-defined]  # what `gc` found: without this call, the next Popen waits for it
        left = _left(before, _GRACE_S)
    return left


def end(left: Running) -> None:
    """Kill the processes among them and close the sockets: the tests that follow must not fail because of them."""
    pids = {int(found[1]) for each in left if (found := re.match(r"process (\d+):", each))}
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    # The traceback of a test that failed may refer to these objects, which warn when they are deleted later.
    for thing in gc.get_objects():
        if issubclass(type(thing), socket.socket) and _name(thing) in left:
            thing.close()
        elif issubclass(type(thing), subprocess.Popen) and thing.pid in pids:
            thing.wait()
            pids.discard(thing.pid)
    for pid in pids:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _left(before: Running, timeout_s: float) -> Running:
    deadline = time.monotonic() + timeout_s
    while (left := running() - before) and time.monotonic() < deadline:
        time.sleep(0.002)
    return left


def _threads() -> Running:
    # A pool starts its threads when they are first used: those of a shared fixture may start in any test.
    threads = [thread for thread in threading.enumerate() if thread not in pool_threads._threads_queues]
    return {f"thread {thread.name} ({thread.ident})" for thread in threads}


def _children() -> Running:
    pids: list[str] = []
    with contextlib.suppress(OSError):
        for task in _TASKS.iterdir():
            with contextlib.suppress(OSError):  # a thread that ends now
                pids += (task / "children").read_text().split()
    mine = [pid for pid in pids if int(pid) not in _shared_processes]
    return {f"process {pid}: {command}" for pid in mine if (command := _command(pid))}


def _command(pid: str) -> str:
    """Return the command line. A process that has ended and that nobody waited for has none, only a state."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:200] or "ended, but nobody waited for it"
    except OSError:
        return ""


def _sockets() -> Running:
    """Twice per test: Path would take four times as long as the calls of the system."""
    found = set()
    with contextlib.suppress(OSError):
        for descriptor in os.listdir(_DESCRIPTORS):  # noqa: PTH208
            with contextlib.suppress(OSError):
                target = os.readlink(f"{_DESCRIPTORS}/{descriptor}")  # noqa: PTH115
                if target.startswith("socket:") and target not in _shared:
                    found.add(f"{target} as descriptor {descriptor}")
    return found


def _name(connection: socket.socket) -> str:
    """Return the name of an open socket in `_sockets`."""
    descriptor = connection.fileno()
    with contextlib.suppress(OSError):
        return f"{os.readlink(_DESCRIPTORS / str(descriptor))} as descriptor {descriptor}"  # noqa: PTH115
    return ""
