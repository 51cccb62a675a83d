"""The socket file: made, guarded and removed. Must run under the index's lock; knows nothing of requests.

Socket activation would take the place of `listening_socket`: a bound socket in, nothing to remove.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gnod.errors import IndexLocked, StorageFailed, UsageError
from gnod.paths import Places, check_socket_path

Identity = tuple[int, int, int]


@contextmanager
def listening_socket(places: Places) -> Iterator[socket.socket]:
    """Bind the index's socket, mode 0600, and remove its file after the block.

    It does not listen yet: until the daemon is ready a client is refused at once instead of waiting, and goes
    on trying. asyncio is never given the path, because it deletes whatever socket file is there, live or not.
    """
    path = places.socket
    check_socket_path(path)
    try:
        _make_folder(places)
        _remove_stale(path)
        listener, identity = _bind(path)
    except OSError as error:
        raise StorageFailed(f"cannot create the socket {path}: {error.strerror}") from error
    try:
        yield listener
    finally:
        listener.close()
        _remove_own(path, identity)


def _make_folder(places: Places) -> None:
    folder = places.socket.parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A folder of ours may be older than this rule; one that the user named (GNO_SOCKET=/tmp/x) is not ours.
    is_ours = folder == places.cache_dir or folder.name == "gno"
    if is_ours and folder.stat().st_uid == os.getuid():
        folder.chmod(0o700)


def _remove_stale(path: Path) -> None:
    """Remove what a killed daemon left. The lock says that nobody serves this index, but not that nobody else
    (another index with the same GNO_SOCKET) listens at this path: so ask."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise UsageError(f"{path} exists and is not a socket; move it away or set GNO_SOCKET to another path")
    if _is_answered(path):
        raise IndexLocked(f"another process already listens at {path}", {"socket": str(path)})
    path.unlink(missing_ok=True)


def _is_answered(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except BlockingIOError:
            return True  # its backlog is full
        except OSError:
            return False
        return True


def _bind(path: Path) -> tuple[socket.socket, Identity]:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # chmod afterwards would leave a moment in which others can connect.
    previous = os.umask(0o177)
    try:
        listener.bind(str(path))
        return listener, _identity(path)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(previous)


def _identity(path: Path) -> Identity:
    status = path.lstat()
    return status.st_dev, status.st_ino, status.st_ctime_ns  # the time, because inode numbers are used again


def _remove_own(path: Path, identity: Identity) -> None:
    with contextlib.suppress(OSError):
        if _identity(path) == identity:
            path.unlink()
