"""The process at the other end of a Unix socket: its user, its state, and whether it is still connected.

The daemon checks who connects, clients check who listens. `gnoctl search` imports this module, so it imports nothing
slow.
"""

# pathlib takes 3 ms to import.
# ruff: noqa: PTH116, PTH120

from __future__ import annotations

import os
import select
import socket
import stat
import sys
from typing import Protocol

from gnod.folders import others_write

_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL
_ROOT = 0


class Descriptor(Protocol):
    """A socket, or its wrapper in asyncio."""

    def fileno(self) -> int: ...

    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes: ...


def peer_uid(peer: Descriptor) -> int:
    """Return the user id of the connected or listening process. Raises OSError."""
    if sys.platform == "darwin":
        # struct xucred { u_int cr_version; uid_t cr_uid; ... } from SOL_LOCAL (0), LOCAL_PEERCRED (1)
        return _number(peer.getsockopt(0, 1, 76), 1)
    # struct ucred { pid_t pid; uid_t uid; gid_t gid; }
    return _number(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12), 1)


def peer_pid(peer: Descriptor) -> int:
    """Return the process id of the connected or listening process. Raises OSError."""
    if sys.platform == "darwin":
        return _number(peer.getsockopt(0, 2, 4), 0)  # LOCAL_PEERPID
    return _number(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12), 0)


def _number(fields: bytes, index: int) -> int:
    """Return a 32-bit number. `struct` would be one more module to import."""
    return int.from_bytes(fields[4 * index : 4 * index + 4], sys.byteorder)


def listener_problem(listener: Descriptor, path: str) -> str | None:
    """Return why a client must send nothing to `listener`, its connection to the socket at `path`; None if it may.

    The system reports the process that called listen(2). It may be a service manager that runs as root.
    """
    if problem := place_problem(path):
        return problem
    uid = peer_uid(listener)
    return None if is_trusted(uid) else f"{user(uid)} listens at {path}: {_remedy(uid)}"


def place_problem(path: str) -> str | None:
    """Return why the socket at `path` may be another user's; None if it is not, or if it does not exist."""
    folder = os.path.dirname(path)
    try:
        owner = os.lstat(path).st_uid
    except PermissionError:
        return folder_problem(folder)
    except OSError:
        return None
    if problem := folder_problem(folder):
        return problem
    return None if is_trusted(owner) else f"the socket {path} belongs to {user(owner)}: {_remedy(owner)}"


def folder_problem(folder: str) -> str | None:
    """Return why other users can replace a socket in `folder`; None if they cannot, as in /tmp."""
    try:
        status = os.stat(folder)
    except OSError:
        return None
    if not is_trusted(status.st_uid):
        return f"the folder of the socket, {folder}, belongs to {user(status.st_uid)}: {_remedy(status.st_uid)}"
    if others_write(status) and not status.st_mode & stat.S_ISVTX:
        return (
            f"other users can write to the folder of the socket, {folder}, and listen there: run `chmod go-w {folder}`,"
            " or set GNO_SOCKET to a path in a folder of your own"
        )
    return None


def user(uid: int) -> str:
    """Return the name and id of the user, for messages."""
    import pwd

    try:
        return f"user {pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def silence(pid: int) -> str:
    """Return the reason why a process does not answer, as far as Linux reports it."""
    states = _thread_states(pid)
    if states & {"T", "t"}:
        return f"it is stopped; `kill -CONT {pid}` continues it"
    return "it waits for a disk" if "D" in states else "it is busy"


def peer_is_gone(peer: Descriptor) -> bool:
    """Return whether the peer closed the socket, not only its sending side (`nc -N`).

    Both are end-of-file to a reader. Only for the first the system reports POLLHUP; polling for POLLOUT and not for
    POLLIN makes macOS report the writing side only.
    """
    descriptor = peer.fileno()
    if descriptor < 0:
        return True
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    return any(events & _GONE for _, events in poller.poll(0))


def is_trusted(uid: int) -> bool:
    return uid in (os.geteuid(), _ROOT)


def _remedy(uid: int) -> str:
    if os.geteuid() == _ROOT:
        return f"a daemon serves one user only, and not root: run this as that user (`sudo -u '#{uid}' …`)"
    return "set GNO_SOCKET to a path in a folder of your own"


def _thread_states(pid: int) -> set[str]:
    states = set()
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with open(f"/proc/{pid}/task/{thread}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                states.add(file.read().rpartition(")")[2].split()[0])
    except (OSError, IndexError):
        pass  # not Linux, or it has ended
    return states
