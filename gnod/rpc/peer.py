"""The peer of a Unix socket: its user, and whether it is still connected."""

from __future__ import annotations

import select
import socket
import struct
import sys
from typing import Protocol

_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL


class Descriptor(Protocol):
    """A socket, or asyncio's wrapper of one."""

    def fileno(self) -> int: ...

    def getsockopt(self, level: int, optname: int, buflen: int, /) -> bytes: ...


def peer_uid(peer: Descriptor) -> int:
    """Return the user id of the process that connected. Raises OSError."""
    if sys.platform == "darwin":
        # struct xucred { u_int cr_version; uid_t cr_uid; ... } from SOL_LOCAL (0), LOCAL_PEERCRED (1)
        _version, uid = struct.unpack_from("=II", peer.getsockopt(0, 1, 76))
        return int(uid)
    # struct ucred { pid_t pid; uid_t uid; gid_t gid; }
    _pid, uid, _gid = struct.unpack("=iII", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(uid)


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
