"""`index.backup` and `index.restore`: the whole index and the memories as one file, and back."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from gnod.errors import InvalidParams, RequestCancelled, ShuttingDown
from gnod.protocol.params import IndexBackupParams, IndexRestoreParams
from gnod.protocol.results import IndexBackupResult, IndexRestoreResult, ProgressValue
from gnod.server.dispatcher import Call, Handler
from gnod.server.handlers.asked import milliseconds_since
from gnod.server.index import Index
from gnod.store import backup, maintenance, restore, staging
from gnod.store.archive import Tell

T = TypeVar("T")


def handlers(served: Index) -> Mapping[str, Handler]:
    places = served.places
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
            made = await _in_thread(
                lambda tell: backup.make(served.database, places, file, force=params.force, tell=tell), call
            )
        return IndexBackupResult(
            path=str(made.file),
            bytes=made.bytes,
            documents=made.documents,
            memory_bytes=made.memory_bytes,
            took_ms=milliseconds_since(started),
        )

    async def index_restore(params: IndexRestoreParams, call: Call) -> IndexRestoreResult:
        started = time.perf_counter()
        file = _absolute(params.path)
        async with one_at_a_time:
            check_still_ours()
            totals = await served.read(maintenance.totals)
            now = datetime.now(UTC)
            wishes = restore.Wishes(params.config, params.memories, keep_index=totals.documents > 0)
            try:
                prepared = await _in_thread(
                    lambda tell: restore.prepare(places, file, wishes, now=now, tell=tell), call
                )
            except BaseException:
                staging.clear(places)
                raise
            # From here on nothing is waited for: either it was asked for, or the folder is cleared.
            is_replaced.set()
            served.control.reopen(before=partial(restore.swap, places, prepared.moves))
        return IndexRestoreResult(
            restored_at=now.isoformat(),
            documents=prepared.documents,
            made=prepared.manifest.made,
            version=prepared.manifest.version,
            index=prepared.manifest.index,
            config=prepared.config,
            memories=prepared.memories,
            kept=prepared.kept,
            took_ms=milliseconds_since(started),
        )

    return {"index.backup": index_backup, "index.restore": index_restore}


def _absolute(path: str) -> Path:
    if not Path(path).is_absolute():
        raise InvalidParams("parameter 'path': must be absolute", {"parameter": "path"})
    if "\0" in path:
        raise InvalidParams("parameter 'path': no name has a NUL", {"parameter": "path"})
    return Path(path)


async def _in_thread(work: Callable[[Tell], T], call: Call) -> T:
    """Run `work(tell=…)` in a thread. When the request is cancelled, it ends at its next word, and is waited for."""
    loop = asyncio.get_running_loop()
    is_cancelled = threading.Event()

    def tell(stage: str, done: int, total: int | None) -> None:
        if is_cancelled.is_set():
            raise RequestCancelled("cancelled")
        loop.call_soon_threadsafe(call.progress, ProgressValue(stage=stage, done=done, total=total, unit="bytes"))

    task = asyncio.ensure_future(asyncio.to_thread(work, tell))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        is_cancelled.set()
        await asyncio.wait({task})
        task.exception()  # it was told; nobody else asks for it
        raise
