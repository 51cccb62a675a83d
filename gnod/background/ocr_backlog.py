"""Decides when pages without text are recognised: one at a time, while no file waits to be indexed, unless blocked.

The pages and their texts are in the database, so a restart continues the work. A document is indexed again when its
pages are recognised; a long one also several times before that. This module must not depend on pictures or models.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from gnod.background import throttling
from gnod.background.embedding_backlog import Backlog
from gnod.configured.configuration import Configuration
from gnod.errors import GnoError
from gnod.ingest.workers.jobs import Failure, OcrJob
from gnod.ingest.workers.pool import WorkerPool
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import writing
from gnod.store.tables import scans
from gnod.store.tables.records import RecognisedPage
from gnod.store.tables.scans import ScannedPage
from gnod.store.vectors import vectors

_FAILURE_REST_S = 30.0
_PACE_PAGES = 20
# During a long backlog, index recognised documents at this interval, because each sync slows down the recognition.
_INDEX_EVERY_S = 20.0
# Retry unreadable files after this time, because a drive may be mounted again.
_UNREADABLE_REST_S = 600.0
# The file is missing or has changed since it was indexed. The next sync handles it.
_CHANGED = frozenset({"vanished", "unstable", "unreadable", "not_a_file"})

_log = logging.getLogger(__name__)


class OcrState(NamedTuple):
    """`state`: idle (nothing to do), working, paused or waiting (`reason` says why). `page_s`: the time for a page;
    None while unknown."""

    state: str
    reason: str | None
    page_s: float | None


class OcrBacklog:
    """Works from construction until `close`. `is_syncing` returns whether files wait to be indexed. `reread` requests
    that a file of a collection is indexed again."""

    def __init__(
        self,
        configuration: Configuration,
        database: Database,
        pool: WorkerPool,
        backlog: Backlog,
        *,
        is_syncing: Callable[[], bool],
        reread: Callable[[str, str], None],
    ) -> None:
        self._configuration = configuration
        self._database = database
        self._pool = pool
        self._is_syncing = is_syncing
        self._reread = reread
        self._wanted = asyncio.Event()
        self._retry: asyncio.TimerHandle | None = None
        self._state = "idle"
        self._reason: str | None = None
        self._indexed_at = time.monotonic()
        self._unreadable: dict[str, float] = {}
        self._pace: deque[float] = deque(maxlen=_PACE_PAGES)
        configuration.changed.connect(lambda _: self.request())
        backlog.pause_changed.connect(self.request)
        self._task = asyncio.create_task(self._run(), name="OCR backlog")
        self.request()

    def request(self) -> None:
        """Look for pages soon: there may be new pages, or a reason to wait may be gone."""
        self._wanted.set()

    def state(self) -> OcrState:
        return OcrState(self._state, self._reason, sum(self._pace) / len(self._pace) if self._pace else None)

    async def close(self) -> None:
        self._task.cancel()
        if self._retry:
            self._retry.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._pool.close()

    async def _run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if self._is_syncing():
                continue  # the end of the sync requests the next round
            try:
                await self._round()
            except GnoError as error:
                self._hold("waiting", error.message, _FAILURE_REST_S)
                _log.warning("ocr.failed", extra={"fields": {"kind": error.kind}})
            except Exception:
                _log.exception("ocr.broken")
                self._hold("waiting", "internal error; see `gnoctl daemon logs`", None)

    async def _round(self) -> None:
        """Recognise the pending pages, until a file waits to be indexed."""
        while not self._is_syncing():
            page, is_paused = await self._next()
            if page is None or time.monotonic() - self._indexed_at > _INDEX_EVERY_S:
                await self._index_recognised()
            if page is None:
                self._hold("idle", None, _UNREADABLE_REST_S if self._unreadable else None)
                return
            if is_paused:
                self._hold("paused", "paused: run `gnoctl resume`", None)
                return
            folder, models = self._database.path.parent, self._configuration.current.models
            if reason := throttling.reason_to_wait(folder, may_use_battery=models.embed_on_battery):
                self._hold("waiting", reason, throttling.CHECK_AGAIN_S)
                return
            self._hold("working", None, None)
            await self._recognise(page)

    async def _next(self) -> tuple[ScannedPage | None, bool]:
        """Return a page, and whether the user has paused background work."""
        oldest = time.monotonic() - _UNREADABLE_REST_S
        self._unreadable = {file: at for file, at in self._unreadable.items() if at > oldest}

        def work(connection: Connection) -> tuple[ScannedPage | None, bool]:
            return scans.next_page(connection, self._unreadable), vectors.is_embedding_paused(connection)

        return await self._database.read(work)

    async def _recognise(self, page: ScannedPage) -> None:
        started = time.monotonic()
        limit = int(self._configuration.current.ingest.max_file_mb * 1024 * 1024)
        outcome = await self._pool.run(
            OcrJob(
                path=f"{page.root.rstrip('/')}/{page.path}",
                relative_path=page.path,
                source_hash=page.source_hash,
                page=page.number,
                reader=page.reader,
                max_bytes=limit,
            )
        )
        if isinstance(outcome, RecognisedPage):
            self._pace.append(time.monotonic() - started)
            await self._database.write(partial(scans.store, page=page, found=outcome))
        elif isinstance(outcome, Failure) and outcome.kind not in _CHANGED:
            await self._database.write(partial(scans.fail, page=page, problem=outcome.message))
        else:
            self._unreadable[page.source_hash] = time.monotonic()
            self._reread(page.collection, page.path)
            return

    async def _index_recognised(self) -> None:
        """Request that documents with newly recognised pages are indexed again."""
        self._indexed_at = time.monotonic()
        for collection, path in await self._database.read(scans.outdated):
            await self._database.write(partial(writing.reread, collection=collection, path=path))
            self._reread(collection, path)

    def _hold(self, state: str, reason: str | None, retry_s: float | None) -> None:
        self._state, self._reason = state, reason
        if self._retry:
            self._retry.cancel()
            self._retry = None
        if retry_s is not None:
            self._retry = asyncio.get_running_loop().call_later(retry_s, self.request)
