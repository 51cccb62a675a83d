"""The database for coroutines: a request that is cancelled ends its query in SQLite too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from gnod.store.database import Connection, Database

T = TypeVar("T")


async def read(database: Database, work: Callable[[Connection], T]) -> T:
    """Run a read on a reader thread."""
    future = database.read(work)
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        database.interrupt(future)
        raise


async def write(database: Database, work: Callable[[Connection], T]) -> T:
    """Run a write on the writer thread. It is done even when nobody waits for it any more."""
    return await asyncio.wrap_future(database.write(work))
