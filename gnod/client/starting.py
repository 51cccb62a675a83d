"""Start the daemon and wait until it answers. Imported only when nobody listens; prints nothing."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from gnod.client.connection import Connection, OnStarted, connect
from gnod.errors import (
    EXIT_NOT_RUNNING,
    EXIT_VALIDATION,
    DaemonNotRunning,
    GnoError,
    Refused,
    StorageFailed,
    TimedOut,
    Unavailable,
)
from gnod.paths import Places, resolve
from gnod.protocol.params import NoParams
from gnod.protocol.results import DaemonStatusResult

START_TIMEOUT_S = 15.0
FIRST_POLL_S = 0.01
SLOWEST_POLL_S = 0.05
MAX_STARTUP_LOG_BYTES = 256 * 1024
MIN_FREE_BYTES = 64 * 1024

# The daemon says what it is in a sentence, and how grave in its exit status.
_KINDS: dict[int, type[GnoError]] = {EXIT_VALIDATION: Refused, EXIT_NOT_RUNNING: DaemonNotRunning}


def start(
    places: Places,
    *,
    on_demand: bool = False,
    command: Sequence[str] | None = None,
    on_started: OnStarted | None = None,
) -> Connection:
    """Return a connection to the daemon that was started, or to another that was faster.

    `on_demand`: nobody asked for a daemon, so one whose config says `autostart: false` refuses. `command` is what is
    run instead of `python -m gnod`. `on_started` is told the process id, unless another was faster. Raises what the
    daemon said when it ends at once.
    """
    log = _startup_log(places)
    offset = log.stat().st_size
    default = [sys.executable, "-P", "-m", "gnod", "--index", places.index, *(["--on-demand"] if on_demand else [])]
    child = _spawn(command or default, places, log)
    connection = _wait(places, child, log, offset)
    status = connection.call("daemon.status", NoParams(), DaemonStatusResult)
    if on_started and status.pid == child.pid:
        on_started(places, child.pid)
    child.returncode = child.returncode or 0  # it outlives us on purpose: no ResourceWarning
    return connection


def lock_is_held(places: Places) -> bool:
    """Say whether a daemon serves this index, or is about to. Asks by taking the lock for a moment."""
    try:
        descriptor = os.open(places.lock_file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _spawn(command: Sequence[str], places: Places, log: Path) -> subprocess.Popen[bytes]:
    """Start the daemon as the leader of its own session: neither Ctrl-C nor a closed terminal ends it."""
    given = {
        "GNO_CONFIG_DIR": places.config_dir,
        "GNO_DATA_DIR": places.data_dir,
        "GNO_CACHE_DIR": places.cache_dir,
        "GNO_SOCKET": places.socket,
    }
    # The daemon runs in "/", to keep no drive busy: relative places must be made absolute here.
    absolute = {name: str(path) for name, path in given.items() if os.environ.get(name)}
    if places.socket != resolve(places.index).socket:
        absolute["GNO_SOCKET"] = str(places.socket)  # a client that was given another path
    # Where a service has run this client, its manager must not take the daemon's signs of life for the service's.
    inherited = {name: value for name, value in os.environ.items() if name != "NOTIFY_SOCKET"}
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd="/",
            env={**inherited, **absolute},
        )


def _wait(places: Places, child: subprocess.Popen[bytes], log: Path, offset: int) -> Connection:
    deadline = time.monotonic() + START_TIMEOUT_S
    pause = FIRST_POLL_S
    while True:
        # Looked at before the attempt: a child that ends right after a failed attempt gets one more.
        ended = child.poll() is not None
        try:
            return connect(places)
        except DaemonNotRunning:
            pass
        # A child that lost the race for the lock ends, and the winner may still be on its way.
        if ended and not lock_is_held(places):
            raise _failure(child.returncode, log, offset)
        if time.monotonic() > deadline:
            raise TimedOut(f"gnod did not answer within {START_TIMEOUT_S:g} s after its start; see {places.log_file}")
        time.sleep(pause)
        pause = min(pause * 1.5, SLOWEST_POLL_S)


def _startup_log(places: Places) -> Path:
    """Return the file that takes what the daemon prints before its own log is open, and when it crashes."""
    log = places.log_file.with_name(f"gnod-{places.index}.start.log")
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    too_large = log.exists() and log.stat().st_size > MAX_STARTUP_LOG_BYTES
    log.open("wb" if too_large else "ab").close()
    return log


def _failure(status: int, log: Path, offset: int) -> GnoError:
    with log.open("rb") as file:
        file.seek(offset)
        said = file.read().decode(errors="replace").strip()
    # Before the sentence may stand warnings of libraries; it may go on over several lines (config errors).
    _, found, message = f"\n{said}".rpartition("\ngnod: ")
    if found:
        return _KINDS.get(status, Unavailable)(message)
    if not said and shutil.disk_usage(log.parent).free < MIN_FREE_BYTES:
        # It could not even say so.
        return StorageFailed(f"gnod could not start: no space left on the disk that holds {log.parent}")
    last = said.splitlines()[-1] if said else f"exit status {status}"
    return Unavailable(f"gnod could not start ({last}); details in {log}")
