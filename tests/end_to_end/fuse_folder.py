"""A network drive for tests: serves a folder through FUSE, read-only, in the kernel's own protocol (fuse.h).

Run as a process: `fuse_folder.py SOURCE TARGET READ_LOG`. A stopped process imitates a server that does not answer.
READ_LOG gets the names of the files that are read. Files called `cloud-*` have the attribute of OneDrive files that are
not downloaded. If `.NAME.evicted` exists, reading the file NAME fails as on macOS. Mounting needs a privilege, which a
user namespace gives.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

_HEADER = struct.Struct("<IIQQIIII")  # length, opcode, unique, node, and the calling process
_ATTRIBUTES = struct.Struct("<QQQQQQIIIIIIIIII")
_VALID_S = 0  # the kernel sends a request each time
_ROOT = 1


class FuseFolder:
    def __init__(self, source: Path, target: Path, read_log: Path) -> None:
        self._paths = {_ROOT: source}
        self._ids = {source: _ROOT}
        self._read_log = read_log
        self._device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self._device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"nas:/team", os.fsencode(target), b"fuse.sshfs", 0, options.encode()):
            raise OSError(ctypes.get_errno(), "cannot mount")
        self._answers: dict[int, Callable[[int, bytes], bytes]] = {
            1: self._lookup,
            3: self._attributes,
            14: self._open,
            15: self._read,
            17: self._capacity,
            18: self._nothing,
            22: self._attribute,
            25: self._nothing,
            26: self._init,
            27: self._open,
            28: self._list,
            29: self._nothing,
            34: self._nothing,
        }

    def serve(self) -> NoReturn:
        while True:
            request = os.read(self._device, 1 << 20)
            _, opcode, unique, node, *_ = _HEADER.unpack_from(request)
            if opcode in (2, 36, 42):  # FORGET, INTERRUPT and BATCH_FORGET have no answer
                continue
            try:
                if (work := self._answers.get(opcode)) is None:
                    raise OSError(errno.ENOSYS, "not here")
                status, body = 0, work(node, request[_HEADER.size :])
            except OSError as error:
                status, body = -(error.errno or errno.EIO), b""
            os.write(self._device, struct.pack("<IiQ", 16 + len(body), status, unique) + body)

    def _init(self, _: int, body: bytes) -> bytes:
        _, _, readahead, _ = struct.unpack_from("<IIII", body)
        return struct.pack("<IIIIHHIIHHI28x", 7, 31, readahead, 0, 12, 10, 1 << 16, 1, 16, 0, 0)

    def _nothing(self, _: int, __: bytes) -> bytes:
        return b""

    def _lookup(self, node: int, body: bytes) -> bytes:
        path = self._paths[node] / os.fsdecode(body.rstrip(b"\0"))
        path.lstat()
        id_ = self._ids.setdefault(path, len(self._ids) + 1)
        self._paths[id_] = path
        return struct.pack("<QQQQII", id_, 0, _VALID_S, _VALID_S, 0, 0) + self._stat(path)

    def _attributes(self, node: int, _: bytes) -> bytes:
        return struct.pack("<QII", _VALID_S, 0, 0) + self._stat(self._paths[node])

    def _stat(self, path: Path) -> bytes:
        found = path.lstat()
        times = (found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns)
        return _ATTRIBUTES.pack(
            *(found.st_ino, found.st_size, found.st_blocks, *(ns // 10**9 for ns in times)),
            *(*(ns % 10**9 for ns in times), found.st_mode, found.st_nlink, os.getuid(), os.getgid(), 0, 4096, 0),
        )

    def _open(self, _: int, __: bytes) -> bytes:
        return struct.pack("<QII", 0, 1, 0)  # 1: the kernel keeps no copy of the content

    def _read(self, node: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        path = self._paths[node]
        if path.with_name(f".{path.name}.evicted").exists():
            raise OSError(errno.EDEADLK, "not downloaded")
        data = path.read_bytes()[offset : offset + size]
        with self._read_log.open("ab") as log:
            log.write(data)
        return data

    def _list(self, node: int, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        listed = b""
        for number, entry in enumerate(sorted(self._paths[node].iterdir())[offset:], offset + 1):
            name = os.fsencode(entry.name)
            kind = entry.lstat().st_mode >> 12
            item = struct.pack("<QQII", entry.lstat().st_ino, number, len(name), kind) + name
            item += bytes(-len(item) % 8)
            if len(listed) + len(item) > size:
                break
            listed += item
        return listed

    def _attribute(self, node: int, body: bytes) -> bytes:
        size, _ = struct.unpack_from("<II", body)
        name = body[8:].rstrip(b"\0")
        if name != b"user.onedriver.status" or not self._paths[node].name.startswith("cloud-"):
            raise OSError(errno.ENODATA, "no such attribute")
        return b"Cloud" if size else struct.pack("<II", 5, 0)

    def _capacity(self, _: int, __: bytes) -> bytes:
        return struct.pack("<QQQQQIIII24x", 1, 1, 1, 1, 1, 4096, 255, 4096, 0)


if __name__ == "__main__":
    FuseFolder(*map(Path, sys.argv[1:4])).serve()
