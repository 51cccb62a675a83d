"""Watch one collection, collect the changes in its folder, and run the syncs that make the index equal to the folder.

Syncs run one at a time. A request never shares a run that started before it, because that run may already have passed
the file that the client has just written. Changes that a run does not finish stay pending.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from gnod.config.model import CollectionConfig
from gnod.configured.configuration import Configuration
from gnod.disks.looks import Looks
from gnod.disks.mounts import Mounts, remote_mount
from gnod.errors import GnoError, RootUnavailable
from gnod.freshness.folder_watch import FolderWatch, OpenSource, WatchState
from gnod.freshness.timings import SyncTimings
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.scope import NOTHING, WHOLE, Scope, of_paths
from gnod.ingest.files.walk import Walk, identity
from gnod.ingest.sync import Progress, Sync, SyncReport
from gnod.ingest.workers.pool import WorkerPool
from gnod.store.database import Database
from gnod.store.documents import writing

# Stop comparing inodes and change times if they differ for this many files, and at least half of the folder, without a
# change of content in this many successive walks. Some network drives give a file another inode after a while, and some
# programs touch every file repeatedly; every walk would then read the whole folder.
_MANY_IN_VAIN = 100
_WALKS_IN_VAIN = 3
_NOT_STEADY = (
    "inodes or change times of its files change without their content: until the daemon starts again, only names, sizes"
    " and times of modification are compared"
)

_log = logging.getLogger(__name__)


class SyncServices(NamedTuple):
    """The services that all collections share. `hold_reason` returns why changes should wait, or None. A collection
    calls `index_changed` after each run that changed the index, and `state_changed` whenever the pending files or the
    state of its watch may have changed."""

    configuration: Configuration
    database: Database
    pool: WorkerPool
    ignore_files: IgnoreFiles
    hold_reason: Callable[[], str | None]
    index_changed: Callable[[], None]
    state_changed: Callable[[], None]
    open_source: OpenSource
    looks: Looks
    timings: SyncTimings


class SyncedCollection:
    """Watches from construction until `close`. Call methods in the event loop's thread unless they say otherwise.

    `unavailable`: why the last walk of the folder failed; None: it succeeded. `last_reconcile`: when a run over the
    whole folder last succeeded, in seconds since 1970; None: not since the daemon's start. `changes_noted` counts
    notifications. `is_removed`: the config no longer names the collection; its last run may still be ending.
    """

    def __init__(self, config: CollectionConfig, services: SyncServices) -> None:
        self.config = config
        self.is_removed = False
        self.unavailable: str | None = None
        self.last_reconcile: float | None = None
        self.changes_noted = 0
        self._services = services
        self._timings = services.timings
        self._changes = NOTHING  # changes that no run covers yet
        self._files_left = 0  # files that the current run has not read yet
        self._is_whole_requested = False
        self._lock = asyncio.Lock()
        self._waiting: asyncio.Task[SyncReport] | None = None
        self._running: asyncio.Task[SyncReport] | None = None
        self._tasks: set[asyncio.Task[SyncReport]] = set()
        self._listeners: list[Progress] = []
        self._links: set[str] = set()
        self._orphaned_mirrors: set[str] = set()
        self._last_failure: str | None = None
        self._hold_reason: str | None = None
        self._following: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._watch = self._new_watch()
        self._walks_in_vain = 0

    @property
    def is_running(self) -> bool:
        return bool(self._tasks)

    @property
    def is_busy(self) -> bool:
        """Return whether changes are being synced or will be soon."""
        return self.is_running or self._following is not None

    @property
    def pending_files(self) -> int:
        """Return how many files may differ from the index and are not checked yet. Any thread may call this."""
        return self._files_left + self._changes.size

    @property
    def watch_state(self) -> WatchState:
        """Return how gnod notices changes. Any thread may call this."""
        state = self._watch.state(self.unavailable)
        if self._hold_reason and self._changes.size:
            return state._replace(reason=self._hold_reason)
        if not self.is_steady:
            return state._replace(reason="; ".join(filter(None, (state.reason, _NOT_STEADY))))
        return state

    @property
    def is_steady(self) -> bool:
        """Return whether walks compare inodes and change times. Any thread may call this."""
        return self._walks_in_vain < _WALKS_IN_VAIN

    def reconfigure(self, config: CollectionConfig) -> None:
        """Apply a new config: watch and sync everything again. Also allowed after `remove`."""
        self.config = config
        self.is_removed = False
        self._walks_in_vain = 0
        self.rewatch()
        self.request()

    def remove(self) -> None:
        """Stop watching, cancel the current run, and forget the state of the folder."""
        self.is_removed = True
        self._watch.close()
        self._changes, self._links = NOTHING, set()
        self.unavailable = self.last_reconcile = None
        if self._running:
            self._running.cancel()

    def rewatch(self) -> None:
        """Open the watch again and walk the folder, because earlier changes may have been missed."""
        self._watch.close()
        self._watch = self._new_watch()
        self.note_changed()

    def note_changed(self, changed: Scope = WHOLE) -> None:
        """Record what may have changed, and sync it soon."""
        if self.is_removed:
            return
        self._changes = self._changes.joined(changed)
        self.changes_noted += 1
        self._services.state_changed()
        self._changed.set()
        self._follow()

    def note_missed(self) -> None:
        """Record that the folder differs from the index although no change was reported."""
        if not (self.is_removed or self.is_busy):
            _log.warning("watch.missed", extra={"fields": {"name": self.config.name}})
            self.note_changed()

    def check(self, *, stood_still: bool, rescan_s: float, mounted: Mounts) -> None:
        """Do what is due at this time. `stood_still`: events may have been lost."""
        if self.is_removed:
            return
        is_here = self.unavailable is None
        if self._watch.mount != remote_mount(self.config.path, mounted) or self._watch.is_retry_due(self.unavailable):
            self.rewatch()
        elif stood_still or (is_here and self._watch.is_walk_due(rescan_s)):
            self.note_changed()
        elif self._changes.size:  # these changes were held back
            self._follow()
        elif is_here and self._watch.is_local:
            self._compare_identity(identity(self.config.path))
        elif self._looking is None and (self._watch.is_link or not is_here):
            self._looking = asyncio.create_task(self._look(), name=f"look {self.config.name}")

    def request(self, listener: Progress | None = None) -> asyncio.Task[SyncReport]:
        """Return the next run over the whole folder. It continues if the caller stops waiting. The current run ends
        first; the report includes its progress and counts."""
        if listener is not None:
            self._listeners.append(listener)
        self._is_whole_requested = True
        return self._next_run()

    async def close(self) -> None:
        """Cancel everything and wait until it has ended."""
        self._watch.close()  # an event must not start another run
        tasks: list[asyncio.Task[SyncReport] | asyncio.Task[None]] = [*self._tasks]
        tasks += filter(None, (self._following, self._looking))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self) -> None:
        """Check whether the path now leads to another folder, or answers again."""
        try:
            self._compare_identity(await self._services.looks.at(self.config.path).run(identity, self.config.path))
        except RootUnavailable:
            self._watch.identity = None
        finally:
            self._looking = None

    def _compare_identity(self, found: tuple[int, int] | None) -> None:
        if found != self._watch.identity and not self.is_removed:
            self.rewatch()

    def _new_watch(self) -> FolderWatch:
        return FolderWatch(self.config, self.note_changed, self._services.open_source, self._timings)

    def _next_run(self) -> asyncio.Task[SyncReport]:
        if self._waiting is None:
            task = asyncio.create_task(self._run(self._running), name=f"sync {self.config.name}")
            self._waiting = task
            self._tasks.add(task)
            task.add_done_callback(self._run_ended)
        return self._waiting

    async def _run(self, ahead: asyncio.Task[SyncReport] | None) -> SyncReport:
        async with self._lock:
            self._running, self._waiting = self._waiting, None
            listeners, self._listeners = self._listeners, []
            scope = self._take_scope()
            try:
                await self._services.configuration.reload()
                self._check_not_removed()
                report = await self._sync(scope, partial(self._report_progress, listeners))
            except asyncio.CancelledError:
                self._check_not_removed()
                raise
            except Exception:
                # After a failed run, for example on a full disk, the index must not appear current.
                self._changes = self._changes.joined(scope)
                raise
            finally:
                self._files_left = 0
                self._running = None
                self._drop_orphans_of_removed()
                self._services.state_changed()
            self.unavailable = None if report.available else report.reason or ""
            if self._services.looks.is_silent(self.config.path):
                self._watch.identity = None  # the next folder that answers must be walked
            if report.available and scope.is_whole:
                self._note_whole(report)
            if report.added or report.updated or report.removed:
                self._watch.differed()
                self._services.index_changed()
            self._services.state_changed()
        return report.after(ahead.result()) if ahead and not (ahead.cancelled() or ahead.exception()) else report

    def _note_whole(self, report: SyncReport) -> None:
        """Evaluate the report of a walk of the whole folder."""
        self.last_reconcile = time.time()
        if self.is_steady:
            is_in_vain = report.in_vain >= max(_MANY_IN_VAIN, report.seen / 2)
            self._walks_in_vain = self._walks_in_vain + 1 if is_in_vain else 0

    def _check_not_removed(self) -> None:
        """Raises CollectionNotFound."""
        self._services.configuration.collection(self.config.name)

    def _take_scope(self) -> Scope:
        """Return the scope of the run that starts now. The scope stays pending until the run is done."""
        scope = self._changes.joined(WHOLE) if self._is_whole_requested else self._changes
        self._changes, self._is_whole_requested = NOTHING, False
        self._files_left = scope.size
        return scope

    def _report_progress(
        self, listeners: list[Progress], stage: str, done: int, total: int | None, label: str | None
    ) -> None:
        if total is not None:
            self._files_left = total - done
            self._services.state_changed()
        for listener in [*listeners, *self._listeners]:
            listener(stage, done, total, label)

    async def _sync(self, scope: Scope, progress: Progress) -> SyncReport:
        started = time.monotonic()
        watch, place = self._watch, self._services.looks.at(self.config.path)

        def enter(path: str, *, is_file: bool = False) -> None:
            place.sign()
            watch.enter(path, is_file=is_file)

        def listed(walked: Walk) -> None:
            if scope.is_whole:
                self._links.clear()
                watch.listed(walked)
            self._links.update(walked.links)

        run = Sync(
            self.config,
            database=self._services.database,
            pool=self._services.pool,
            limits=self._services.configuration.current.ingest,
            ignore_files=self._services.ignore_files,
            progress=progress,
            # The targets of links may have changed.
            scope=scope.joined(of_paths(self._links)),
            left=self._orphaned_mirrors,
            is_first=scope.is_whole and self.last_reconcile is None,
            is_steady=self.is_steady,
            place=place,
            enter=enter,
            on_listed=listed,
        )
        try:
            await watch.open(place)
            report = await run.run()
        except* RootUnavailable as group:
            report = SyncReport(self.config.name, available=False, reason=str(group.exceptions[0]))
        except* GnoError as group:
            raise _first(group) from None
        fields = {**report._asdict(), "whole": scope.is_whole, "took_s": round(time.monotonic() - started, 3)}
        _log.info("sync.done", extra={"fields": fields})
        return report

    def _drop_orphans_of_removed(self) -> None:
        """Drop the mirrors that the cancelled run of a removed collection could not drop."""
        if self.is_removed:
            left, self._orphaned_mirrors = self._orphaned_mirrors, set()
            self._services.database.submit_write(lambda connection: writing.drop_orphans(connection, left))

    def _run_ended(self, task: asyncio.Task[SyncReport]) -> None:
        self._tasks.discard(task)
        self._services.state_changed()
        if task is self._waiting:  # cancelled before it started
            self._waiting = None
        if task.cancelled():
            return
        error = task.exception()
        # The run of a removed collection may find its rows gone before it is cancelled.
        if error is None or self.is_removed:
            self._last_failure = None
        elif not isinstance(error, GnoError):
            _log.error("sync.failed", exc_info=error)
        elif self._last_failure != error.message:  # log it once: the failure repeats while a disk is full
            self._last_failure = error.message
            _log.warning("sync.failed", extra={"fields": {"kind": error.kind, "message": error.message}})

    def _follow(self) -> None:
        if self._following is None:
            self._following = asyncio.create_task(self._sync_changes(), name=f"follow {self.config.name}")

    async def _sync_changes(self) -> None:
        """Sync until no change is left."""
        try:
            while self._changes.size and not self.is_removed and not self._is_held():
                await self._until_quiet()
                started = time.monotonic()
                scope = self._changes
                run = self._next_run()
                await asyncio.wait([run])
                if not run.cancelled() and run.exception():
                    await asyncio.sleep(self._timings.rest_after_failure_s)
                else:
                    work_s = time.monotonic() - started
                    await self._rest(scope, min(work_s * self._timings.rest_per_work, self._timings.longest_rest_s))
        finally:
            self._following = None
            self._services.state_changed()

    def _is_held(self) -> bool:
        self._hold_reason = self._services.hold_reason()
        return self._hold_reason is not None

    async def _until_quiet(self) -> None:
        longest = time.monotonic() + self._timings.longest_burst_s
        while not self.is_removed:
            wait_s = min(self._watch.changed_at + self._timings.quiet_s, longest) - time.monotonic()
            if wait_s <= 0:
                return
            await asyncio.sleep(wait_s)

    async def _rest(self, done: Scope, seconds: float) -> None:
        """Wait, but stop early if anything changes outside the scope that was just synced."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and self._changes.repeats(done):
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), left)


def _first(group: BaseExceptionGroup[GnoError]) -> GnoError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, GnoError)
    return error
