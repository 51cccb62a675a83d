"""The folder beside the index where backups and restores make what they need. Nothing in it outlives them, but for a
restore that was decided on and not carried out (restore.py)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gnod.errors import StorageFailed
from gnod.paths import Places


def path_of(places: Places) -> Path:
    return places.data_dir / f"index-{places.index}.staging"


@contextmanager
def folder(places: Places) -> Iterator[Path]:
    """Make the folder anew, and remove it afterwards. One at a time; who holds the index's lock decides that."""
    path = path_of(places)
    clear(places)
    try:
        path.mkdir(mode=0o700, parents=True)
        yield path
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error.strerror}") from error
    finally:
        clear(places)


def clear(places: Places) -> None:
    shutil.rmtree(path_of(places), ignore_errors=True)


def bytes_of(database: Path) -> int:
    """Return how large the database is, with what waits in its log."""
    size = 0
    for path in (database, database.with_name(f"{database.name}-wal")):
        with suppress(OSError):
            size += path.stat().st_size
    return size


def check_room(where: Path, wanted: int) -> None:
    """Raise StorageFailed where the disk has not so many bytes left."""
    free = shutil.disk_usage(where).free
    if free < wanted:
        raise StorageFailed(
            f"no space for it on the disk that holds {where}: {_megabytes(wanted)} are needed and"
            f" {_megabytes(free)} are free",
            {"needed_bytes": wanted, "free_bytes": free},
        )


def sync_folder(path: Path) -> None:
    """A new name is on the disk only when its folder is. Some file systems cannot do it."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _megabytes(number: int) -> str:
    return f"{number / 1e6:,.0f} MB"
