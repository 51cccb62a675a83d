"""Decide when collections are synced: one run at a time for each, and a request never shares a run that had begun
before it (the run may have passed the file that the client has just written)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from gnod.config.model import CollectionConfig
from gnod.errors import GnoError, UpdateCommandFailed
from gnod.ingest.ignore import IgnoreFiles
from gnod.ingest.pool import WorkerPool
from gnod.ingest.sync import Progress, Sync, SyncReport
from gnod.server.configuration import Configuration
from gnod.store.database import Database

UPDATE_COMMAND_TIMEOUT_S = 600.0
_MAX_OUTPUT_CHARACTERS = 500

_log = logging.getLogger(__name__)


class Pending(NamedTuple):
    """Files that are known to differ and not ingested yet, and collections whose folder is not there."""

    files: int
    unavailable: list[str]


class Syncing:
    """`on_change` is called after each run that changed the index."""

    def __init__(self, configuration: Configuration, database: Database, pool: WorkerPool) -> None:
        self._configuration = configuration
        self._database = database
        self._pool = pool
        self.on_change: Callable[[], None] = lambda: None
        self._ignore_files = IgnoreFiles()
        self._locks: dict[str, asyncio.Lock] = {}
        self._waiting: dict[str, asyncio.Task[SyncReport]] = {}
        self._running: dict[str, asyncio.Task[SyncReport]] = {}
        self._listeners: dict[str, list[Progress]] = {}
        self._left: dict[str, int] = {}
        self._unavailable: dict[str, str] = {}
        self._tasks: set[asyncio.Task[SyncReport]] = set()

    @property
    def is_running(self) -> bool:
        return bool(self._tasks)

    @property
    def ignore_files(self) -> IgnoreFiles:
        return self._ignore_files

    def pending(self) -> Pending:
        names = {collection.name for collection in self._configuration.current.collections}
        left = sum(count for name, count in self._left.items() if name in names)
        return Pending(left, sorted(names & self._unavailable.keys()))

    def request(self, name: str, listener: Progress | None = None) -> asyncio.Task[SyncReport]:
        """Return the run that starts after now; it goes on when nobody waits for it any more. A run that is under way
        is waited for first, and its progress and its counts are told too."""
        if listener is not None:
            self._listeners.setdefault(name, []).append(listener)
        if name not in self._waiting:
            task = asyncio.create_task(self._run(name, self._running.get(name)), name=_task_name(name))
            self._waiting[name] = task
            self._tasks.add(task)
            task.add_done_callback(self._done)
        return self._waiting[name]

    def request_all(self, names: Iterable[str]) -> None:
        for name in names:
            self.request(name)

    def drop_removed(self) -> None:
        """End the runs of collections that are no longer configured."""
        names = {collection.name for collection in self._configuration.current.collections}
        for name, task in self._running.items():
            if name not in names:
                task.cancel()

    async def run_update_command(self, collection: CollectionConfig) -> None:
        """Run the collection's update command in its folder. Raises UpdateCommandFailed with the end of its output."""
        if not collection.update_command:
            return
        try:
            process = await asyncio.create_subprocess_shell(
                collection.update_command,
                cwd=collection.path,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise _update_failed(collection, error.strerror or str(error)) from None
        try:
            async with asyncio.timeout(UPDATE_COMMAND_TIMEOUT_S):
                output, _ = await process.communicate()
        except TimeoutError:
            raise _update_failed(collection, f"took longer than {UPDATE_COMMAND_TIMEOUT_S:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
        if process.returncode:
            tail = output.decode(errors="replace").strip()[-_MAX_OUTPUT_CHARACTERS:]
            raise _update_failed(collection, f"exit status {process.returncode}\n{tail}".strip())

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, name: str, ahead: asyncio.Task[SyncReport] | None) -> SyncReport:
        async with self._locks.setdefault(name, asyncio.Lock()):
            self._running[name] = self._waiting.pop(name)
            listeners = self._listeners.pop(name, [])
            try:
                await self._configuration.reload()
                report = await self._sync(self._configuration.collection(name), partial(self._tell, name, listeners))
            except asyncio.CancelledError:
                self._configuration.collection(name)  # raises CollectionNotFound when it was removed meanwhile
                raise
            except Exception:
                # What was not done stays pending: a disk that is full must not make the index look current.
                self._left[name] = max(self._left.get(name, 0), 1)
                raise
            else:
                self._left.pop(name, None)
            finally:
                del self._running[name]
            self._note_availability(report)
            if report.added or report.updated or report.removed:
                self.on_change()
        return report.after(ahead.result()) if ahead and not (ahead.cancelled() or ahead.exception()) else report

    def _tell(
        self, name: str, listeners: list[Progress], stage: str, done: int, total: int | None, label: str | None
    ) -> None:
        self._left[name] = (total or 0) - done
        for listener in [*listeners, *self._listeners.get(name, ())]:
            listener(stage, done, total, label)

    async def _sync(self, collection: CollectionConfig, progress: Progress) -> SyncReport:
        started = time.monotonic()
        run = Sync(
            collection,
            database=self._database,
            pool=self._pool,
            limits=self._configuration.current.ingest,
            ignore_files=self._ignore_files,
            progress=progress,
        )
        try:
            report = await run.run()
        except* GnoError as group:
            raise _first(group) from None
        _log.info(
            "sync.done",
            extra={"fields": {**report._asdict(), "took_s": round(time.monotonic() - started, 3)}},
        )
        return report

    def _note_availability(self, report: SyncReport) -> None:
        if report.available:
            self._unavailable.pop(report.name, None)
        else:
            self._unavailable[report.name] = report.reason or ""

    def _done(self, task: asyncio.Task[SyncReport]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        # A run of a removed collection may stumble over its rows being gone, before it is cancelled.
        removed = task.get_name() not in {_task_name(c.name) for c in self._configuration.current.collections}
        if error is not None and not removed:
            _log.error("sync.failed", exc_info=error)


def _task_name(collection: str) -> str:
    return f"sync {collection}"


def _first(group: BaseExceptionGroup[GnoError]) -> GnoError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, GnoError)
    return error


def _update_failed(collection: CollectionConfig, reason: str) -> UpdateCommandFailed:
    return UpdateCommandFailed(
        f"the update command of collection '{collection.name}' failed ({collection.update_command}): {reason}",
        {"collection": collection.name},
    )
