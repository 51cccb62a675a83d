"""Sync a folder with real workers into the database of a `SmallIndex`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from gnod.config.model import CollectionConfig, IngestConfig
from gnod.disks.looks import Looks
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.sync import Sync, SyncReport
from gnod.ingest.workers.pool import WorkerPool
from gnod.ingest.workers.worker_process import MODULE
from gnod.store.documents.collections import Folder, mirror
from tests.small_index import SmallIndex

LIMITS = IngestConfig(max_file_mb=1)


@asynccontextmanager
async def syncing(
    index: SmallIndex,
    root: Path,
    stages: list[str] | None = None,
    *,
    is_first: bool = False,
    left: set[str] | None = None,
    module: str = MODULE,
) -> AsyncIterator[Callable[[], Awaitable[SyncReport]]]:
    """`stages`: a list for the stages that the sync reports."""
    stages = [] if stages is None else stages
    collection = CollectionConfig(name="notes", path=str(root))
    index.write(lambda c: mirror(c, [Folder("notes", str(root), None)], []))
    pool = WorkerPool(size=2, timeout_s=30, memory_mb=2048, module=module)
    ignore_files = IgnoreFiles()

    async def sync() -> SyncReport:
        run = Sync(
            collection,
            database=index.database,
            pool=pool,
            limits=LIMITS,
            ignore_files=ignore_files,
            progress=lambda stage, *_: stages.append(stage),
            place=Looks().at(str(root)),
            is_first=is_first,
            left=set() if left is None else left,
        )
        return await run.run()

    try:
        yield sync
    finally:
        await pool.close()
