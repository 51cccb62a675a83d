"""The socket file: create, protect and remove it. Must run under the index's lock; knows no requests.

With socket activation (sd_listen_fds(3)) the service manager creates and keeps the socket.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path

from gnod.errors import ForeignSocket, IndexLocked, StorageFailed, UsageError
from gnod.paths import Places, check_socket_path
from gnod.peer import folder_problem
from gnod.private import private_folder

Identity = tuple[int, int, int]

_FIRST_PASSED = 3
_OUR_NAME = "gnod"


@contextmanager
def listening_socket(places: Places) -> Iterator[socket.socket]:
    """Return the socket that the service manager passed; else bind the index's socket, mode 0600, and remove its file
    after the block.

    The bound socket does not listen yet: until the daemon is ready, a client is refused and tries again. asyncio never
    gets the path, because it would delete a socket file that is in use.
    """
    path = places.socket
    check_socket_path(path)
    if passed := _passed_socket(path, os.environ):
        with passed:
            yield passed
        return
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


def _passed_socket(path: Path, environment: MutableMapping[str, str]) -> socket.socket | None:
    """Return the socket that was passed to this process, and remove it from the environment. Raises UsageError when
    clients of this index would not find it."""
    count = environment.pop("LISTEN_FDS", "")
    names = environment.pop("LISTEN_FDNAMES", "").split(":")
    if environment.pop("LISTEN_PID", "") != str(os.getpid()) or not count.isdecimal() or int(count) == 0:
        return None
    # A user's own unit may pass other sockets too, and names ours.
    if int(count) > 1 and _OUR_NAME not in names:
        raise UsageError(f"{count} sockets were passed to gnod: name its own FileDescriptorName={_OUR_NAME}")
    descriptor = _FIRST_PASSED + (names.index(_OUR_NAME) if _OUR_NAME in names else 0)
    os.set_inheritable(descriptor, False)  # workers do not inherit it
    passed = socket.socket(fileno=descriptor)
    try:
        _check_passed(passed, path)
    except BaseException:
        passed.close()
        raise
    return passed


def _check_passed(passed: socket.socket, path: Path) -> None:
    is_ours = passed.family == socket.AF_UNIX and passed.type == socket.SOCK_STREAM
    if not is_ours or not passed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise UsageError(
            "the socket that was passed to gnod is not a listening Unix stream socket (ListenStream=/a/path)"
        )
    bound = os.fsdecode(passed.getsockname())
    if bound != str(path) and not (path.exists() and Path(bound).exists() and path.samefile(bound)):
        raise UsageError(
            f"gnod was passed a socket at {bound}, but its clients look at {path}: make ListenStream= and GNO_SOCKET "
            "agree, or run `gnoctl service install`"
        )


def _make_folder(places: Places) -> None:
    folder = places.socket.parent
    private_folder(folder)
    # Only gnod's own folders: not one that the user named (GNO_SOCKET=/tmp/x).
    is_ours = folder == places.cache_dir or folder.name == "gno"
    if is_ours and folder.stat().st_uid == os.getuid():
        folder.chmod(0o700)
    if problem := folder_problem(str(folder)):
        raise ForeignSocket(problem, {"socket": str(places.socket)})


def _remove_stale(path: Path) -> None:
    """Remove the socket of a killed daemon. Another index with the same GNO_SOCKET may listen there: so connect."""
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
    # With chmod afterwards, other users could connect in between.
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
    return status.st_dev, status.st_ino, status.st_ctime_ns  # the time, because inode numbers are reused


def _remove_own(path: Path, identity: Identity) -> None:
    with contextlib.suppress(OSError):
        if _identity(path) == identity:
            path.unlink()
