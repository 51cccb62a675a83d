"""Run the syncs: one at a time for each collection, and a request never shares a run that had begun before it (the run
may have passed the file that the client has just written).

Knows what has changed and was not looked at yet: whoever notices changes says so at once, and asks for a run when he
thinks it time. What a run does not bring to its end stays to be looked at.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple, Protocol

from gnod.config.model import CollectionConfig
from gnod.errors import GnoError, UpdateCommandFailed
from gnod.ingest.ignore import IgnoreFiles
from gnod.ingest.pool import WorkerPool
from gnod.ingest.scope import NOTHING, WHOLE, Scope, of_paths
from gnod.ingest.sync import Progress, Sync, SyncReport
from gnod.ingest.walk import Listing, enter_nothing
from gnod.server.configuration import Configuration
from gnod.store import documents
from gnod.store.database import Database

UPDATE_COMMAND_TIMEOUT_S = 600.0
_MAX_OUTPUT_CHARACTERS = 500

_log = logging.getLogger(__name__)


class Pending(NamedTuple):
    """Files that may differ and were not looked at yet, and collections whose folder is not there."""

    files: int
    unavailable: list[str]


class FolderWatch(Protocol):
    """Who is told of each folder before a run lists it, and of what a run of everything found."""

    def enter(self, path: str, *, is_file: bool = False) -> None: ...

    def listed(self, listing: Listing) -> None: ...


class Syncing:
    """`watch_of` returns who watches a collection; `noted` counts how often a change was noted. `on_change` is called
    after each run that changed the index, `listeners` also when what is pending changes."""

    def __init__(self, configuration: Configuration, database: Database, pool: WorkerPool) -> None:
        self._configuration = configuration
        self._database = database
        self._pool = pool
        self.on_change: Callable[[], None] = lambda: None
        self.listeners: list[Callable[[], None]] = []
        self.noted = 0
        self.watch_of: Callable[[str], FolderWatch | None] = lambda _: None
        self._ignore_files = IgnoreFiles()
        self._locks: dict[str, asyncio.Lock] = {}
        self._waiting: dict[str, asyncio.Task[SyncReport]] = {}
        self._running: dict[str, asyncio.Task[SyncReport]] = {}
        self._listeners: dict[str, list[Progress]] = {}
        self._whole: set[str] = set()  # collections whose waiting run is to look at everything
        self._changed: dict[str, Scope] = {}
        self._links: dict[str, set[str]] = {}
        self._left: dict[str, int] = {}
        self._mirrors_left: dict[str, set[str]] = {}
        self._unavailable: dict[str, str] = {}
        self._reconciled: dict[str, float] = {}
        self._failures: dict[str, str] = {}  # what the last run of each task's name has said
        self._tasks: set[asyncio.Task[SyncReport]] = set()

    @property
    def is_running(self) -> bool:
        return bool(self._tasks)

    @property
    def ignore_files(self) -> IgnoreFiles:
        return self._ignore_files

    def pending(self) -> Pending:
        """In any thread: the items are copied in one step of the interpreter."""
        names = {collection.name for collection in self._configuration.current.collections}
        left = sum(count for name, count in list(self._left.items()) if name in names)
        changed = sum(scope.size for name, scope in list(self._changed.items()) if name in names)
        return Pending(left + changed, sorted(names & self._unavailable.keys()))

    def last_reconcile(self, name: str) -> float | None:
        """Return when a run over all of the collection ended well last, in seconds since 1970; None: not since the
        daemon's start."""
        return self._reconciled.get(name)

    def why_unavailable(self, name: str) -> str | None:
        """Return why the collection's folder could not be walked when it was tried last, in words."""
        return self._unavailable.get(name)

    def note_changed(self, name: str, paths: Iterable[str] | None) -> None:
        """Remember what may have changed, relative to the root; None: anything. It is pending from now on."""
        scope = WHOLE if paths is None else of_paths(paths)
        self._changed[name] = self._changed.get(name, NOTHING).joined(scope)
        self.noted += 1
        self._notify()

    def changes(self, name: str) -> Scope:
        """Return what has changed and no run has begun to look at."""
        return self._changed.get(name, NOTHING)

    def request(self, name: str, listener: Progress | None = None) -> asyncio.Task[SyncReport]:
        """Return the run over the whole collection that starts after now; it goes on when nobody waits for it any more.
        A run that is under way is waited for first, and its progress and its counts are told too."""
        if listener is not None:
            self._listeners.setdefault(name, []).append(listener)
        self._whole.add(name)
        return self._next_run(name)

    def request_changed(self, name: str) -> asyncio.Task[SyncReport]:
        """Return the run that starts after now, over what is known to have changed until then."""
        return self._next_run(name)

    def _next_run(self, name: str) -> asyncio.Task[SyncReport]:
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
        """End the runs of collections that are no longer configured, and forget what is known of these."""
        names = {collection.name for collection in self._configuration.current.collections}
        for known in (self._changed, self._links, self._unavailable, self._reconciled):
            for name in known.keys() - names:
                del known[name]
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
            scope = self._take_scope(name)
            try:
                await self._configuration.reload()
                collection = self._configuration.collection(name)
                report = await self._sync(collection, scope, partial(self._tell, name, listeners))
            except asyncio.CancelledError:
                self._configuration.collection(name)  # raises CollectionNotFound when it was removed meanwhile
                raise
            except Exception:
                # A disk that is full must not make the index look current.
                self._changed[name] = self._changed.get(name, NOTHING).joined(scope)
                raise
            finally:
                self._left.pop(name, None)
                del self._running[name]
                self._drop_left_behind(name)
                self._notify()
            self._note_availability(report)
            if report.available and scope.is_whole:
                self._reconciled[name] = time.time()
            if report.added or report.updated or report.removed:
                self.on_change()
            self._notify()
        return report.after(ahead.result()) if ahead and not (ahead.cancelled() or ahead.exception()) else report

    def _drop_left_behind(self, name: str) -> None:
        """Drop what the run of a removed collection has not come to drop."""
        if name not in {collection.name for collection in self._configuration.current.collections}:
            left = self._mirrors_left.pop(name, set())
            self._database.write(lambda connection: documents.drop_orphans(connection, left))

    def _take_scope(self, name: str) -> Scope:
        """Return what the run that begins now is to look at. Until it has, that is pending."""
        scope = self._changed.pop(name, NOTHING)
        if name in self._whole:
            self._whole.discard(name)
            scope = WHOLE
        self._left[name] = scope.size
        return scope

    def _tell(
        self, name: str, listeners: list[Progress], stage: str, done: int, total: int | None, label: str | None
    ) -> None:
        if total is not None:
            self._left[name] = total - done
            self._notify()
        for listener in [*listeners, *self._listeners.get(name, ())]:
            listener(stage, done, total, label)

    async def _sync(self, collection: CollectionConfig, scope: Scope, progress: Progress) -> SyncReport:
        started = time.monotonic()
        watch = self.watch_of(collection.name)

        def listed(listing: Listing) -> None:
            links = self._links.setdefault(collection.name, set())
            if scope.is_whole:
                links.clear()
                if watch:
                    watch.listed(listing)
            links.update(listing.links)

        run = Sync(
            collection,
            database=self._database,
            pool=self._pool,
            limits=self._configuration.current.ingest,
            ignore_files=self._ignore_files,
            progress=progress,
            # A link changes when the file does that it names.
            scope=scope.joined(of_paths(self._links.get(collection.name, ()))),
            left=self._mirrors_left.setdefault(collection.name, set()),
            is_first=scope.is_whole and collection.name not in self._reconciled,
            enter=watch.enter if watch else enter_nothing,
            on_listed=listed,
        )
        try:
            report = await run.run()
        except* GnoError as group:
            raise _first(group) from None
        fields = {**report._asdict(), "whole": scope.is_whole, "took_s": round(time.monotonic() - started, 3)}
        _log.info("sync.done", extra={"fields": fields})
        return report

    def _notify(self) -> None:
        for listener in self.listeners:
            listener()

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
        if error is None or removed:
            self._failures.pop(task.get_name(), None)
            return
        if not isinstance(error, GnoError):
            _log.error("sync.failed", exc_info=error)
        elif self._failures.get(task.get_name()) != error.message:  # again and again, while a disk is full
            self._failures[task.get_name()] = error.message
            _log.warning("sync.failed", extra={"fields": {"kind": error.kind, "message": error.message}})


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
