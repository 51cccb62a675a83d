"""Start the daemon and wait until it answers. Imported only if the daemon is not running; prints nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gnod import errors
from gnod.client.connection import Connection
from gnod.client.opening import START_TIMEOUT_S, connect_now
from gnod.lock_holder import holder_of
from gnod.paths import IndexPaths, resolve
from gnod.private import first_file, private_file
from gnod.protocol.base import NoParams
from gnod.protocol.daemon import DaemonStatusResult

OnStarted = Callable[[IndexPaths, int], None]
"""Called with the paths of the index and the process id of the started daemon."""

FIRST_POLL_S = 0.01
SLOWEST_POLL_S = 0.05
MAX_STARTUP_LOG_BYTES = 256 * 1024
MIN_FREE_BYTES = 64 * 1024

# If a daemon cannot start, it prints one sentence. Its exit status gives the class of the error.
_KINDS: dict[int, type[errors.GnoError]] = {
    errors.EXIT_VALIDATION: errors.Refused,
    errors.EXIT_NOT_RUNNING: errors.DaemonNotRunning,
}


def start(
    places: IndexPaths,
    *,
    on_demand: bool = False,
    command: Sequence[str] | None = None,
    on_started: OnStarted | None = None,
) -> Connection:
    """Return a connection to the started daemon, or to one that another client has started at the same time.

    `on_demand`: the user did not request the start, so the daemon refuses if its config has `autostart: false`.
    `command`: run this instead of `python -m gnod`. `on_started` gets the process id, unless another client was faster.
    Raises the daemon's error if it cannot start.
    """
    log = _startup_log(places)
    offset = log.stat().st_size
    default = [sys.executable, "-P", "-m", "gnod", "--index", places.index, *(["--on-demand"] if on_demand else [])]
    child = _spawn(command or default, places, log)
    connection, pid = _wait(places, child, log, offset)
    if on_started and pid == child.pid:
        on_started(places, child.pid)
    if child.returncode is None:
        # If it ends before this process, a thread must wait for it, or it stays in the process table.
        threading.Thread(target=_reap, args=(child.pid,), name="gnod-ended", daemon=True).start()
        child.returncode = 0  # this avoids a ResourceWarning
    return connection


def lock_is_held(places: IndexPaths) -> bool:
    """Return whether a daemon serves this index or is starting. Takes the lock for a moment."""
    return holder_of(places.lock_file) is not None


def _spawn(command: Sequence[str], places: IndexPaths, log: Path) -> subprocess.Popen[bytes]:
    """Start the daemon in its own session, so that Ctrl-C or closing the terminal does not end it."""
    given = {
        "GNO_CONFIG_DIR": places.config_dir,
        "GNO_DATA_DIR": places.data_dir,
        "GNO_CACHE_DIR": places.cache_dir,
        "GNO_SOCKET": places.socket,
    }
    # The daemon runs in "/", so that it keeps no drive busy. So make relative paths absolute.
    absolute = {name: str(path) for name, path in given.items() if os.environ.get(name)}
    if places.socket != resolve(places.index).socket:
        absolute["GNO_SOCKET"] = str(places.socket)  # the client may have its own socket path
    # If this client runs in a service, the manager must not take the daemon's notifications for the service's.
    inherited = {name: value for name, value in os.environ.items() if name != "NOTIFY_SOCKET"}
    with open(private_file(log, os.O_WRONLY | os.O_APPEND), "ab") as output:  # noqa: PTH123
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd="/",
            env={**inherited, **absolute},
        )


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _wait(places: IndexPaths, child: subprocess.Popen[bytes], log: Path, offset: int) -> tuple[Connection, int]:
    """Wait for a daemon that answers. Return a connection to it, and its process id."""
    deadline = time.monotonic() + START_TIMEOUT_S
    pause = FIRST_POLL_S
    while True:
        # Check before connecting, so that the loop tries once more after the child has ended.
        ended = child.poll() is not None
        try:
            if answered := _ask(connect_now(places)):
                return answered
        except errors.DaemonNotRunning:
            pass
        # The child also ends if another daemon has the lock. That daemon may still be starting.
        if ended and not lock_is_held(places):
            raise _failure(child.returncode, log, offset)
        if time.monotonic() > deadline:
            raise errors.TimedOut(
                f"gnod did not answer within {START_TIMEOUT_S:g} s after its start: it may still be upgrading a large"
                f" index, so try again in a minute, or see {places.log_file}"
            )
        time.sleep(pause)
        pause = min(pause * 1.5, SLOWEST_POLL_S)


def _ask(connection: Connection) -> tuple[Connection, int] | None:
    """Return the connection and the daemon's process id; None if the daemon closed the connection. A daemon that finds
    a damaged index closes it, replaces the index and starts again."""
    try:
        return connection, connection.call("daemon.status", NoParams(), DaemonStatusResult).pid
    except errors.Unavailable:
        if not connection.is_lost:
            raise
        connection.close()
        return None


def _startup_log(places: IndexPaths) -> Path:
    """Return the file for the output of the daemon before its log is open, and for its crashes."""
    log = places.log_file.with_name(f"gnod-{places.index}.start.log")
    with open(first_file(places, log, os.O_WRONLY | os.O_CREAT), "ab") as file:  # noqa: PTH123
        if file.tell() > MAX_STARTUP_LOG_BYTES:
            file.truncate(0)
    return log


def _failure(status: int, log: Path, offset: int) -> errors.GnoError:
    with open(private_file(log, os.O_RDONLY), "rb") as file:  # noqa: PTH123
        file.seek(offset)
        printed = file.read().decode(errors="replace").strip()
    # Warnings of libraries may precede the sentence. It may have several lines (config errors).
    _, marker, message = f"\n{printed}".rpartition("\ngnod: ")
    if marker:
        return _KINDS.get(status, errors.Unavailable)(message)
    if not printed and shutil.disk_usage(log.parent).free < MIN_FREE_BYTES:
        return errors.StorageFailed(f"gnod could not start: no space left on the disk that holds {log.parent}")
    last = printed.splitlines()[-1] if printed else f"exit status {status}"
    return errors.Unavailable(f"gnod could not start ({last}): see {log}")
