"""A FUSE mount of the file system of `folding.py`: `python -m tests.folding_mount BACKING PLACE` shows the files of one
folder in another, read-only. It implements the kernel's protocol (linux/fuse.h, 7.31) itself, because
libfuse is not available. Nothing is cached. Mounting needs root.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.folding import FAULTS, fold
from tests.machine import wait_until

_LIBC = ctypes.CDLL(None, use_errno=True)
_NOSUID_NODEV = 0x6
_DETACH = 2
_ROOT = 1
_DIRECT_IO = 1
_HEADER = struct.Struct("<IIQQIIII")
_ATTRIBUTES = struct.Struct("<6Q10I")


@contextmanager
def folding_mount(backing: Path, place: Path) -> Iterator[None]:
    """Show `backing` in `place`. Skip the test if this is not possible."""
    place.mkdir()
    server = subprocess.Popen([sys.executable, "-m", "tests.folding_mount", str(backing), str(place)])
    try:
        wait_until(lambda: server.poll() is not None or os.path.ismount(place))
        if server.poll() is not None:
            pytest.skip("FUSE needs /dev/fuse and root")
        yield
    finally:
        if os.path.ismount(place):
            _LIBC.umount2(os.fsencode(place), _DETACH)
        server.wait(30)


class Server:
    def __init__(self, backing: str) -> None:
        self._paths = {_ROOT: backing}
        self._listings: dict[int, list[os.DirEntry[str]]] = {}

    def serve(self, device: int) -> None:
        calls: dict[int, Callable[[int, bytes], bytes]] = {
            1: self._lookup,
            3: self._attributes,
            5: lambda node, _: os.fsencode(Path(self._paths[node]).readlink()),
            14: self._open,
            15: self._read,
            17: lambda _, __: struct.pack("<5Q4I24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0),
            18: self._close,
            26: lambda _, __: struct.pack("<4IHHII32x", 7, 31, 0, 0, 0, 0, 4096, 1) + bytes(4),
            27: self._open_folder,
            28: self._list,
            29: self._close_folder,
        }
        while True:
            try:
                request = os.read(device, 1 << 20)
            except OSError as error:
                if error.errno == errno.ENODEV:  # the file system was unmounted
                    return
                continue
            _, code, unique, node, *_ = _HEADER.unpack_from(request)
            if code in (2, 36, 42):  # requests without a reply
                continue
            status, reply = 0, b""
            try:
                reply = calls[code](node, request[_HEADER.size :])
            except KeyError:  # an unknown request
                status = -errno.ENOSYS
            except OSError as error:
                status = -(error.errno or errno.EIO)
            os.write(device, struct.pack("<IiQ", 16 + len(reply), status, unique) + reply)

    def _lookup(self, node: int, data: bytes) -> bytes:
        name = os.fsdecode(data.rstrip(b"\0"))
        found = next((each for each in os.scandir(self._paths[node]) if fold(each.name) == fold(name)), None)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, name)
        self._paths[found.inode()] = found.path
        return struct.pack("<4QII", found.inode(), 0, 0, 0, 0, 0) + self._packed(found.path)

    def _attributes(self, node: int, _: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0) + self._packed(self._paths[node])

    def _packed(self, path: str) -> bytes:
        found = os.lstat(path)
        times = (found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns)
        seconds, fractions = [each // 10**9 for each in times], [each % 10**9 for each in times]
        inode = _ROOT if path == self._paths[_ROOT] else found.st_ino
        owner = (found.st_mode, found.st_nlink, found.st_uid, found.st_gid, 0, 4096, 0)
        return _ATTRIBUTES.pack(inode, found.st_size, found.st_blocks, *seconds, *fractions, *owner)

    def _open(self, node: int, _: bytes) -> bytes:
        return struct.pack("<QII", os.open(self._allowed(node), os.O_RDONLY), _DIRECT_IO, 0)

    def _read(self, _: int, data: bytes) -> bytes:
        descriptor, offset, size = struct.unpack_from("<QQI", data)
        return os.pread(descriptor, size, offset)

    def _close(self, _: int, data: bytes) -> bytes:
        os.close(struct.unpack_from("<Q", data)[0])
        return b""

    def _open_folder(self, node: int, _: bytes) -> bytes:
        handle = max(self._listings, default=0) + 1
        self._listings[handle] = list(os.scandir(self._allowed(node)))
        return struct.pack("<QII", handle, 0, 0)

    def _close_folder(self, _: int, data: bytes) -> bytes:
        del self._listings[struct.unpack_from("<Q", data)[0]]
        return b""

    def _list(self, _: int, data: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", data)
        reply = b""
        for number, entry in enumerate(self._listings[handle][offset:], offset + 1):
            name = os.fsencode(entry.name)
            kind = os.lstat(entry.path).st_mode >> 12
            packed = struct.pack("<QQII", entry.inode(), number, len(name), kind) + name
            packed += bytes(-len(packed) % 8)
            if len(reply) + len(packed) > size:
                break
            reply += packed
        return reply

    def _allowed(self, node: int) -> str:
        path = self._paths[node]
        if fault := FAULTS.get(os.lstat(path).st_mode & 0o7777):
            raise OSError(fault, os.strerror(fault))
        return path


def main(backing: str, place: str) -> None:
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
    if _LIBC.mount(b"folding", os.fsencode(place), b"fuse", _NOSUID_NODEV, options.encode()):
        sys.exit(f"cannot mount: {os.strerror(ctypes.get_errno())}")
    Server(backing).serve(device)


if __name__ == "__main__":
    main(*sys.argv[1:])
