"""`index.backup` and `index.restore`: write the whole index and the memories to one file, and restore them from it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from gnod.errors import InvalidParams, ShuttingDown
from gnod.paths import IndexPaths
from gnod.protocol.base import copied
from gnod.protocol.index import IndexBackupParams, IndexBackupResult, IndexRestoreParams, IndexRestoreResult
from gnod.rpc.call import Call, in_thread
from gnod.rpc.dispatcher import Handler, named
from gnod.search.hybrid.budget import milliseconds_since
from gnod.store.backup import backup, restore, staging
from gnod.store.database import Database
from gnod.store.tables import documents


def handlers(
    places: IndexPaths, database: Database, reopen: Callable[[Callable[[], None]], None]
) -> Mapping[str, Handler]:
    """`reopen`: closes the index, runs the given function, and reopens the index."""
    one_at_a_time = asyncio.Lock()  # backups and restores share a folder
    is_replaced = asyncio.Event()

    def check_still_ours() -> None:
        if is_replaced.is_set():
            raise ShuttingDown("the index is being replaced by a backup; try again in a moment")

    async def index_backup(params: IndexBackupParams, call: Call) -> IndexBackupResult:
        started = time.perf_counter()
        file = _absolute(params.path)
        async with one_at_a_time:
            check_still_ours()
            made = await in_thread(partial(backup.make, database, places, file, force=params.force), call, unit="bytes")
        return copied(IndexBackupResult, made, path=str(made.file), took_ms=milliseconds_since(started))

    async def index_restore(params: IndexRestoreParams, call: Call) -> IndexRestoreResult:
        started = time.perf_counter()
        file = _absolute(params.path)
        async with one_at_a_time:
            check_still_ours()
            now = datetime.now(UTC)
            has_documents = await database.read(lambda connection: documents.count_under(connection, None, "") > 0)
            try:
                work = partial(
                    restore.prepare,
                    places,
                    file,
                    config=params.config,
                    memories=params.memories,
                    keep_index=has_documents,
                    now=now,
                )
                prepared = await in_thread(work, call, unit="bytes")
            except BaseException:
                staging.clear(places)
                raise
            # Do not await from here on: a cancellation would neither request the restore nor clear its folder.
            is_replaced.set()
            reopen(partial(restore.swap, places, prepared.moves))
        return copied(
            IndexRestoreResult,
            prepared,
            restored_at=now.isoformat(),
            made=prepared.manifest.made,
            version=prepared.manifest.version,
            index=prepared.manifest.index,
            took_ms=milliseconds_since(started),
        )

    return named(index_backup, index_restore)


def _absolute(path: str) -> Path:
    if not Path(path).is_absolute():
        raise InvalidParams("parameter 'path': must be absolute", {"parameter": "path"})
    if "\0" in path:
        raise InvalidParams("parameter 'path': must not contain a NUL character", {"parameter": "path"})
    return Path(path)
