"""Find child processes, threads and sockets that a test leaves behind. Outside Linux, find only threads."""

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

# A process or thread may need a moment to end, and longer on a busy machine.
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
    """Return the running processes and threads, and the open sockets."""
    return _threads() | _children() | _sockets()


def leftovers(before: Running) -> Running:
    """Return the objects that did not exist before and do not end within the grace period."""
    if left := _left(before, _MOMENT_S):
        gc.collect()  # this deletes unused objects, which close their sockets with a warning
        subprocess._cleanup()  # type: ignore[attr-defined]  # what `gc` found: without this call, the next Popen waits for it
        left = _left(before, _GRACE_S)
    return left


def described(left: Running) -> list[str]:
    """Return what is left, with the addresses of sockets as the system lists them."""
    tables = [Path(f"/proc/net/{kind}") for kind in ("unix", "tcp", "tcp6", "udp")]
    lines = [line for table in tables if table.exists() for line in table.read_text().splitlines()]

    def addresses(name: str) -> str:
        inode = re.match(r"socket:\[(\d+)\]", name)
        return "".join(f" ({line.strip()})" for line in lines if inode and inode[1] in line.split())

    return sorted(name + addresses(name) for name in left)


def end(left: Running) -> None:
    """Kill the processes among them and close the sockets, so that they do not make later tests fail."""
    pids = {int(found[1]) for each in left if (found := re.match(r"process (\d+):", each))}
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    # The traceback of a failed test may refer to these objects, and they warn when they are deleted later.
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
    # A pool starts its threads on first use, so the threads of a shared fixture may start in any test.
    threads = [thread for thread in threading.enumerate() if thread not in pool_threads._threads_queues]
    return {f"thread {thread.name} ({thread.ident})" for thread in threads}


def _children() -> Running:
    pids: list[str] = []
    with contextlib.suppress(OSError):
        for task in _TASKS.iterdir():
            with contextlib.suppress(OSError):  # the thread has just ended
                pids += (task / "children").read_text().split()
    mine = [pid for pid in pids if int(pid) not in _shared_processes]
    return {f"process {pid}: {command}" for pid in mine if (command := _command(pid))}


def _command(pid: str) -> str:
    """Return the command line. A zombie has no command line, so return its state."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:200] or "ended, but nobody waited for it"
    except OSError:
        return ""


def _sockets() -> Running:
    """Return the open sockets. This runs twice per test, and Path would take four times as long as `os`."""
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
