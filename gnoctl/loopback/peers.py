"""Refuse other users of this machine: all of them share loopback.

Linux lists the sockets of the machine with their owners. On other systems, only the secret of the session protects it.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from pathlib import Path

_PROC = Path("/proc/net")
_ROOT = 0
# An IPv6 socket can be connected to an IPv4 address.
_MAPPED = "0" * 16 + ("FFFF0000" if sys.byteorder == "little" else "0000FFFF")

Address = tuple[str, int]


def can_be_told() -> bool:
    """Return whether this system can report the owner of a connection."""
    return (_PROC / "tcp").exists()


def is_foreign(client: Address, server: Address, tables: Path = _PROC) -> bool:
    """Return whether the other end of a connection belongs to another user. Root does not count, because a virtual
    machine that passes on connections runs as root. An unknown owner does not count either."""
    owner = _owner(client, server, tables)
    return owner not in (None, _ROOT, os.getuid())


def _owner(client: Address, server: Address, tables: Path) -> int | None:
    for table, prefix in (("tcp", ""), ("tcp6", _MAPPED)):
        wanted = [f"{prefix}{_hexadecimal(client)}", f"{prefix}{_hexadecimal(server)}"]
        try:
            with (tables / table).open(encoding="ascii") as rows:
                for row in rows:
                    fields = row.split()
                    if fields[1:3] == wanted:
                        return int(fields[7])
        except (OSError, ValueError, IndexError):
            continue
    return None


def _hexadecimal(address: Address) -> str:
    """Return an IPv4 address as the kernel writes it."""
    return f"{_number(socket.inet_aton(address[0]))}:{address[1]:04X}"


def _number(word: bytes) -> str:
    """Return four bytes as the kernel writes them: as a number in the byte order of this machine."""
    return f"{struct.unpack('=I', word)[0]:08X}"
