"""Folders and files that only their owner can use, regardless of the umask and of files that other users put there.
Must not depend on file contents."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gnod.errors import Refused, StorageFailed
from gnod.folders import others_write
from gnod.paths import IndexPaths, check_owner
from gnod.peer import is_trusted, user

_FOLDER = 0o700
_FILE = 0o600
_NOT_A_FILE = {errno.ELOOP, errno.ENXIO, errno.EISDIR}  # a link, a pipe without a reader or a socket, a folder
_users_umask = -1  # the umask of this process


def private_folder(path: Path) -> None:
    """Create a folder and its missing parents with mode 0700. Raises OSError, or Refused if the folder belongs to
    another user, who could replace its content."""
    for missing in reversed([parent for parent in path.parents if not parent.exists()]):
        missing.mkdir(mode=_FOLDER, exist_ok=True)
    path.mkdir(mode=_FOLDER, exist_ok=True)
    for status in (path.lstat(), path.stat()):  # also check the owner of a link, who decides where it leads
        if not is_trusted(status.st_uid):
            raise Refused(
                f"the folder {path} belongs to {user(status.st_uid)}, who could replace its files: use a folder of"
                " your own (GNO_DATA_DIR, GNO_CONFIG_DIR, GNO_CACHE_DIR or GNO_SOCKET)"
            )


def private_file(path: Path, flags: int) -> int:
    """Open one of gnod's own files and give it mode 0600; return the descriptor. Raises the errors of `own_file`."""
    descriptor = own_file(path, flags)
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != _FILE:
        with suppress(OSError):  # a file system without modes
            os.fchmod(descriptor, _FILE)
    return descriptor


def own_file(path: Path, flags: int) -> int:
    """Open one of gnod's own files, and return the descriptor.

    Never waits for a pipe, and never follows a link, so it does not open what another user put there. Raises OSError,
    or Refused.
    """
    refused = Refused(f"{path} is not a file of yours: move it away")
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, _FILE)
    except OSError as error:
        raise refused if error.errno in _NOT_A_FILE else error from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or not is_trusted(status.st_uid):
        os.close(descriptor)
        raise refused
    return descriptor


class Weakness(NamedTuple):
    """A way in which other users can change a file, and the command that prevents it."""

    problem: str
    remedy: str


def opening(file: Path) -> Weakness | None:
    """Return how other users can change or replace a file, or create a missing one; None if they cannot."""
    target = file.resolve()  # if the file is a link, both folders count
    for path in dict.fromkeys((target, target.parent, file.parent)):
        try:
            status = path.stat()
        except OSError:
            continue
        if not is_trusted(status.st_uid):
            return Weakness(
                f"{path} belongs to {user(status.st_uid)}", f"chown {os.geteuid()} {shlex.quote(str(path))}"
            )
        # Other users cannot replace our files in /tmp.
        is_shared = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
        if others_write(status) and not is_shared:
            return Weakness(f"other users can write to {path}", f"chmod go-w {shlex.quote(str(path))}")
    return None


def restrict_umask() -> None:
    """Keep other users from all files that this process and its children create, even if a library sets wider modes."""
    global _users_umask
    _users_umask = os.umask(0o777 & ~_FOLDER)


def users_umask() -> int:
    """Return the umask for the user's own programs, as `subprocess` takes it."""
    return _users_umask


def first_file(places: IndexPaths, path: Path, flags: int) -> int:
    """Open a file that a starting daemon needs, like `private_file`. First create its folders and make them private.
    Raises StorageFailed, or Refused."""
    check_owner(places)
    try:
        _prepare(places)
        return private_file(path, flags)
    except OSError as error:
        raise StorageFailed(
            f"gnod cannot write to {path} ({error.strerror}): make its folder writable for you, or set GNO_DATA_DIR to"
            " another folder"
        ) from error


def _prepare(places: IndexPaths) -> None:
    """Create the data folder, and close gnod's folders that another version or umask left open to other users.

    A folder that the user named keeps its mode: it may contain other files.
    """
    logs = places.log_file.parent
    private_folder(places.data_dir)
    private_folder(logs)
    if places.cache_dir.exists():
        private_folder(places.cache_dir)
    _close(logs)
    for name, folder in (("GNO_DATA_DIR", places.data_dir), ("GNO_CACHE_DIR", places.cache_dir)):
        if not os.environ.get(name):
            _close(folder)


def _close(folder: Path) -> None:
    with suppress(OSError):  # the folder is missing, or belongs to root, or the file system has no modes
        if stat.S_IMODE(folder.stat().st_mode) & ~_FOLDER:
            folder.chmod(_FOLDER)
