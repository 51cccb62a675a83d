"""Manage the folder beside the index for temporary files of backups and restores. Only the plan of an interrupted
restore remains in it (restore.py)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gnod.errors import StorageFailed
from gnod.paths import IndexPaths


def path_of(places: IndexPaths) -> Path:
    return places.data_dir / f"index-{places.index}.staging"


@contextmanager
def folder(places: IndexPaths) -> Iterator[Path]:
    """Create the folder, and remove it afterwards. Only one may exist at a time, under the index's lock."""
    path = path_of(places)
    clear(places)
    try:
        path.mkdir(mode=0o700, parents=True)
        yield path
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error.strerror}") from error
    finally:
        clear(places)


def clear(places: IndexPaths) -> None:
    shutil.rmtree(path_of(places), ignore_errors=True)


def bytes_of(database: Path) -> int:
    """Return the size of the database with its log."""
    size = 0
    for path in (database, database.with_name(f"{database.name}-wal")):
        with suppress(OSError):
            size += path.stat().st_size
    return size


def check_room(where: Path, wanted: int) -> None:
    """Raise StorageFailed if the disk has fewer free bytes than `wanted`."""
    free = shutil.disk_usage(where).free
    if free < wanted:
        raise StorageFailed(
            f"no space left on the disk that holds {where}: {_megabytes(wanted)} are needed and"
            f" {_megabytes(free)} are free",
            {"needed_bytes": wanted, "free_bytes": free},
        )


def _megabytes(number: int) -> str:
    return f"{number / 1e6:,.0f} MB"
