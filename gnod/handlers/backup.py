"""`index.backup` and `index.restore`: the whole index and the memories as one file, and back."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from gnod.errors import InvalidParams, RequestCancelled, ShuttingDown
from gnod.handlers.wire_types import milliseconds_since
from gnod.paths import Places
from gnod.protocol.base import ProgressValue, copied
from gnod.protocol.index import IndexBackupParams, IndexBackupResult, IndexRestoreParams, IndexRestoreResult
from gnod.rpc.dispatcher import Call, Handler
from gnod.store.backup import backup, restore, staging
from gnod.store.backup.archive import OnProgress
from gnod.store.database import Database
from gnod.store.documents import maintenance

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class _Work(Protocol[T_co]):
    def __call__(self, *, on_progress: OnProgress) -> T_co: ...


def handlers(places: Places, database: Database, reopen: Callable[[Callable[[], None]], None]) -> Mapping[str, Handler]:
    """`reopen` reopens the index after a function that runs while it is closed."""
    one_at_a_time = asyncio.Lock()  # they share a folder
    is_replaced = asyncio.Event()

    def check_still_ours() -> None:
        if is_replaced.is_set():
            raise ShuttingDown("the index is being replaced by a backup; try again in a moment")

    async def index_backup(params: IndexBackupParams, call: Call) -> IndexBackupResult:
        started = time.perf_counter()
        file = _absolute(params.path)
        async with one_at_a_time:
            check_still_ours()
            made = await _in_thread(partial(backup.make, database, places, file, force=params.force), call)
        return copied(IndexBackupResult, made, path=str(made.file), took_ms=milliseconds_since(started))

    async def index_restore(params: IndexRestoreParams, call: Call) -> IndexRestoreResult:
        started = time.perf_counter()
        file = _absolute(params.path)
        async with one_at_a_time:
            check_still_ours()
            totals = await database.read(maintenance.totals)
            now = datetime.now(UTC)
            options = restore.RestoreOptions(params.config, params.memories, keep_index=totals.documents > 0)
            try:
                prepared = await _in_thread(partial(restore.prepare, places, file, options, now=now), call)
            except BaseException:
                staging.clear(places)
                raise
            # No await from here on: the restore is requested, or the folder was cleared.
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

    return {"index.backup": index_backup, "index.restore": index_restore}


def _absolute(path: str) -> Path:
    if not Path(path).is_absolute():
        raise InvalidParams("parameter 'path': must be absolute", {"parameter": "path"})
    if "\0" in path:
        raise InvalidParams("parameter 'path': contains a NUL character", {"parameter": "path"})
    return Path(path)


async def _in_thread(work: _Work[T], call: Call) -> T:
    """Run `work(on_progress=…)` in a thread. After a cancelled request its next report raises; its end is awaited."""
    loop = asyncio.get_running_loop()
    is_cancelled = threading.Event()

    def on_progress(stage: str, done: int, total: int | None) -> None:
        if is_cancelled.is_set():
            raise RequestCancelled("cancelled")
        loop.call_soon_threadsafe(call.progress, ProgressValue(stage=stage, done=done, total=total, unit="bytes"))

    task = asyncio.ensure_future(asyncio.to_thread(work, on_progress=on_progress))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        is_cancelled.set()
        await asyncio.wait({task})
        task.exception()  # mark it as retrieved
        raise
