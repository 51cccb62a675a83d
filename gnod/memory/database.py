"""The database of the memories. Unlike an index, it cannot be rebuilt from files, so a damaged file is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from gnod.errors import DatabaseCorrupt, ForeignDatabase
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.memory import memory_schema

_READERS = 2

T = TypeVar("T")


class MemoryDatabase(Database):
    """A Database whose methods raise DatabaseCorrupt, which names the backup, if the file is damaged or foreign."""

    def __init__(self, path: Path) -> None:
        with _explained(path):
            super().__init__(path, schema=memory_schema.SCHEMA, readers=_READERS, use_knn=False)

    async def read(self, work: Callable[[Connection], T], /) -> T:
        with _explained(self.path):
            return await super().read(work)

    async def write(self, work: Callable[[Connection], T], /) -> T:
        with _explained(self.path):
            return await super().write(work)

    async def maintain(self, work: Callable[[Connection], T], /) -> T:
        with _explained(self.path):
            return await super().maintain(work)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (DatabaseCorrupt, ForeignDatabase) as error:
        raise DatabaseCorrupt(
            f"the memories in {path} are damaged, or the file belongs to another program; the file is unchanged. "
            "`gnoctl restore --memories` restores a backup"
        ) from error
