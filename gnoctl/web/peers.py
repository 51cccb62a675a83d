"""Refuse other users of this machine: loopback is shared by all of them.

Linux lists the sockets of the machine with their owners; elsewhere, the secret of the session alone decides.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import NamedTuple

_TABLE = "/proc/net/tcp"
_ROOT = 0

Address = tuple[str, int]


class _Row(NamedTuple):
    local: str
    remote: str
    uid: int


def is_foreign(client: Address, server: Address, table: str = _TABLE) -> bool:
    """Tell whether the other end of a connection belongs to another user. One whose owner is unknown does not."""
    wanted = (_hexadecimal(client), _hexadecimal(server))
    try:
        with open(table, encoding="ascii") as rows:  # noqa: PTH123
            next(rows)
            for row in map(_row, rows):
                if (row.local, row.remote) == wanted:
                    return row.uid not in (_ROOT, os.getuid())
    except (OSError, ValueError, StopIteration):
        pass
    return False


def _row(line: str) -> _Row:
    fields = line.split()
    return _Row(fields[1], fields[2], int(fields[7]))


def _hexadecimal(address: Address) -> str:
    """Return an address as the kernel writes it: that of IPv4 as a number of this machine.

    >>> _hexadecimal(("127.0.0.1", 4663)) in ("0100007F:1237", "7F000001:1237")
    True
    """
    (number,) = struct.unpack("=I", socket.inet_aton(address[0]))
    return f"{number:08X}:{address[1]:04X}"
