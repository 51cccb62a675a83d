"""Damage a write-ahead log as a power cut would.

With `synchronous = NORMAL`, only the frames that a checkpoint has started to copy are known to be on the disk. Any
later part may be missing.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path

_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_SECTOR_BYTES = 512


def tear(database: Path, chance: random.Random) -> int:
    """Damage the end of the log at a random position; no process may have the database open. Returns how many bytes
    may be lost: 0 if the whole log is on the disk."""
    log, shared = (database.with_name(database.name + suffix) for suffix in ("-wal", "-shm"))
    if not log.exists() or not shared.exists() or log.stat().st_size <= _HEADER_BYTES:
        return 0
    kept = _bytes_on_disk(log, shared)
    size = log.stat().st_size
    if kept >= size:
        return 0
    at = chance.randrange(kept, size)
    with log.open("r+b") as file:
        if chance.random() < 0.4:
            file.truncate(at)
        else:  # some sectors were written, in any order
            share = chance.random()
            for begin in range(at, size, _SECTOR_BYTES):
                if chance.random() < share:
                    file.seek(begin)
                    length = min(_SECTOR_BYTES, size - begin)
                    file.write(chance.choice([bytes(length), chance.randbytes(length)]))
    shared.unlink()
    return size - at


def _bytes_on_disk(log: Path, shared: Path) -> int:
    """Read from SQLite's shared memory (WalIndexHdr, WalCkptInfo) how far a checkpoint, which syncs first, has come."""
    wal_index = shared.read_bytes()[:136]
    with log.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if len(wal_index) < 136 or wal_index[32:40] != header[16:24]:
        return log.stat().st_size  # the log was restarted and has no new frames, so it was copied completely
    copied, attempted = struct.unpack_from("=I", wal_index, 96)[0], struct.unpack_from("=I", wal_index, 128)[0]
    page_bytes = struct.unpack_from(">I", header, 8)[0]
    frames = max(copied, attempted)
    return _HEADER_BYTES + frames * (_FRAME_HEADER_BYTES + page_bytes) if frames else 0
