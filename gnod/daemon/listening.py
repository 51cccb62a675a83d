"""Create, protect, replace and remove the socket file. Must run under the index's lock; must not depend on requests.

With socket activation (sd_listen_fds(3)), the service manager creates and keeps the socket.
"""

from __future__ import annotations

import logging
import os
import socket
import stat
from collections.abc import Iterator, MutableMapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from gnod import folders
from gnod.daemon.replacing import HandedOver
from gnod.errors import ForeignSocket, GnoError, IndexLocked, StorageFailed, UsageError
from gnod.paths import IndexPaths, check_socket_path
from gnod.private import private_folder

_FIRST_PASSED = 3
_OUR_NAME = "gnod"
# Two daemons with the same GNO_SOCKET must not take the socket from each other for ever.
_MOST_TAKEN_BACK = 3

_log = logging.getLogger(__name__)


class Listening:
    """The socket of the index. It is bound and does not listen yet: until the daemon is ready, the system refuses
    clients, which try again. asyncio never gets the path, because it would delete a socket file that is in use."""

    def __init__(self, places: IndexPaths, path: Path, bound: socket.socket, *, owns_file: bool) -> None:
        """`owns_file`: False for a socket of the service manager. The manager keeps the file."""
        self.path = path
        self.socket = bound
        self.owns_file = owns_file
        self._places = places
        self._taken_back = 0
        self._identity = _identity(self.path)

    def is_lost(self) -> bool:
        """Return whether clients no longer find the socket: its file is gone, or another file is in its place."""
        # The open socket keeps the inode, so its number is not reused.
        return self._identity is None or _identity(self.path) != self._identity

    def renew(self) -> None:
        """Bind the socket again, at its old path if possible, otherwise at another path that clients try. Raises
        StorageFailed.

        Open connections stay open: they do not need the file.
        """
        usual = map(Path, folders.usual_sockets(self._places.index))
        failures: list[str] = []
        for path in dict.fromkeys([self._places.socket, *usual]):
            try:
                bound = self._bound_again(path)
            except GnoError as error:
                failures.append(error.message)
                continue
            self.socket.close()
            self.path, self.socket, self.owns_file = path, bound, True
            self._identity = _identity(path)
            _log.warning("socket.renewed", extra={"fields": {"socket": str(path)}})
            return
        raise StorageFailed(f"the socket is lost: {'; '.join(failures)}")

    def close(self) -> None:
        if self.owns_file and not self.is_lost():
            with suppress(OSError):
                self.path.unlink()
        self.socket.close()

    def _bound_again(self, path: Path) -> socket.socket:
        try:
            return _bound(path, self._places)
        except IndexLocked:
            # We hold the lock of this index, but another process listens at its path.
            if path != self.path or self._taken_back >= _MOST_TAKEN_BACK:
                raise
        self._taken_back += 1
        with suppress(OSError):
            path.unlink()
        return _bound(path, self._places)


@contextmanager
def listening_socket(places: IndexPaths, left: HandedOver | None = None) -> Iterator[Listening]:
    """Yield the socket that the replaced program left, or that the service manager passed, or a new one with mode 0600.
    Remove its file after the block, unless the manager owns it. Raises ForeignSocket if other users could replace it.
    """
    if left is not None:
        listening = Listening(places, Path(left.path), socket.socket(fileno=left.socket), owns_file=left.owns_file)
    else:
        check_socket_path(places.socket)
        passed = _passed_socket(places.socket, os.environ)
        bound = passed or _bound(places.socket, places)
        listening = Listening(places, places.socket, bound, owns_file=passed is None)
    with closing(listening):
        yield listening


def _passed_socket(path: Path, environment: MutableMapping[str, str]) -> socket.socket | None:
    """Return the socket that was passed to this process, and remove its variables from the environment. Raises
    UsageError if clients of this index would not find the socket."""
    count = environment.pop("LISTEN_FDS", "")
    names = environment.pop("LISTEN_FDNAMES", "").split(":")
    if environment.pop("LISTEN_PID", "") != str(os.getpid()) or not count.isdecimal() or int(count) == 0:
        return None
    # A user's own unit may pass other sockets too. Then it must name ours.
    if int(count) > 1 and _OUR_NAME not in names:
        raise UsageError(f"{count} sockets were passed to gnod: set FileDescriptorName={_OUR_NAME} for its own")
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
            f"gnod was passed a socket at {bound}, but its clients use {path}: make ListenStream= and GNO_SOCKET "
            "agree, or run `gnoctl service install`"
        )


def _bound(path: Path, places: IndexPaths) -> socket.socket:
    try:
        _make_folder(path.parent, places)
        _remove_stale(path)
        return _bind(path)
    except OSError as error:
        raise StorageFailed(f"cannot create the socket {path}: {error.strerror}") from error


def _make_folder(folder: Path, places: IndexPaths) -> None:
    """Create the folder of the socket. Raises ForeignSocket if other users could put another socket there."""
    private_folder(folder)
    # Change only gnod's own folders, not one that the user named (GNO_SOCKET).
    is_ours = folder == places.cache_dir or folder.name == "gno"
    if is_ours and folder.stat().st_uid == os.getuid():
        folder.chmod(0o700)
    if not folders.is_private(str(folder)):
        raise ForeignSocket(
            f"other users could replace the socket in {folder}: make that folder your own with mode 0700, or set"
            " GNO_SOCKET to a path in another folder",
            {"path": str(folder)},
        )


def _remove_stale(path: Path) -> None:
    """Remove the socket of a killed daemon. First try to connect, because another index with the same GNO_SOCKET may
    listen there."""
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


def _bind(path: Path) -> socket.socket:
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bound.bind(str(path))
        path.chmod(0o600)  # no client can connect before, because the socket does not listen yet
        return bound
    except OSError:
        bound.close()
        raise


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
