"""Schedule the work of all collections: regular checks, and changes of the config that start or end collections.

File system events are only hints. gnod also walks each folder at the start, after an overflow, after the machine or
this process stood still, when its root comes back, and every `watch.rescan_s`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable

from gnod.config.model import CollectionConfig
from gnod.configured.configuration import Configuration
from gnod.disks.looks import Looks
from gnod.disks.mounts import mounts
from gnod.errors import CollectionNotFound
from gnod.freshness.collection import SyncedCollection, SyncServices
from gnod.freshness.events import open_source
from gnod.freshness.events.source import EventSource, FileEvents, NotWatchable
from gnod.freshness.folder_watch import OpenSource, WatchState
from gnod.freshness.timings import SyncTimings
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.scope import of_paths
from gnod.ingest.workers.pool import WorkerPool
from gnod.periodic_checks import next_tick
from gnod.signals import Signal
from gnod.store.database import Database

_NOT_WATCHED_YET = WatchState("off", "the folder will be watched in a moment")

_log = logging.getLogger(__name__)


class SyncScheduler:
    """Works from construction until `close`. `hold_reason` returns why changes should wait, or None. The scheduler
    calls `on_index_changed` after each run that changed the index, and `on_check` every few seconds. It emits
    `state_changed` when the pending files or the state of a watch may have changed."""

    def __init__(
        self,
        configuration: Configuration,
        database: Database,
        pool: WorkerPool,
        *,
        hold_reason: Callable[[], str | None],
        on_index_changed: Callable[[], None],
        on_check: Callable[[], None],
        looks: Looks,
        open_source: OpenSource = open_source,
        timings: SyncTimings = SyncTimings(),  # noqa: B008 - immutable
    ) -> None:
        self.ignore_files = IgnoreFiles()
        self.looks = looks
        self.state_changed: Signal[[]] = Signal()
        self._configuration = configuration
        self._on_check = on_check
        self._timings = timings
        self._services = SyncServices(
            configuration=configuration,
            database=database,
            pool=pool,
            ignore_files=self.ignore_files,
            hold_reason=hold_reason,
            index_changed=on_index_changed,
            state_changed=self.state_changed.emit,
            open_source=open_source,
            looks=looks,
            timings=timings,
        )
        self._collections = {c.name: SyncedCollection(c, self._services) for c in configuration.current.collections}
        self._reloads: set[asyncio.Task[None]] = set()
        self._config_watch = self._watch_config(open_source)
        configuration.changed.connect(self._config_changed)
        for collection in self._collections.values():
            collection.note_changed()  # the folder may have changed before it was watched
        self._checks = asyncio.create_task(self._check_regularly(), name="sync clock")

    @property
    def is_running(self) -> bool:
        return any(collection.is_running for collection in self._collections.values())

    @property
    def is_busy(self) -> bool:
        """Return whether changes are being synced or will be soon."""
        return any(collection.is_busy for collection in self._collections.values())

    def note_changed(self, name: str, path: str) -> None:
        """Sync a file of a collection soon; ignore a collection that no longer exists."""
        if collection := self._collections.get(name):
            collection.note_changed(of_paths([path]))

    def collection(self, name: str) -> SyncedCollection:
        """Raises CollectionNotFound, which lists the known collections."""
        return self._configured(self._configuration.collection(name))

    def find(self, name: str) -> SyncedCollection | None:
        """Return the collection; None: it no longer exists, or was only just added. Any thread may call this."""
        return self._collections.get(name)

    def pending_files(self) -> int:
        """Return how many files may differ from the index and are not checked yet. Any thread may call this."""
        return sum(each.pending_files for each in self._known())

    def unavailable(self) -> list[str]:
        """Return the sorted names of the collections whose folder is unavailable. Any thread may call this."""
        return sorted(each.config.name for each in self._known() if each.unavailable is not None)

    def _known(self) -> list[SyncedCollection]:
        # The interpreter copies the items in one step, so other threads may call this.
        return [each for each in list(self._collections.values()) if not each.is_removed]

    def watch_state(self, name: str) -> WatchState:
        """Return how gnod notices changes. Any thread may call this."""
        collection = self._collections.get(name)
        return collection.watch_state if collection else _NOT_WATCHED_YET

    async def sync(self, names: list[str]) -> None:
        """Make the index equal to the folders of these collections (all when empty). Raises the errors of a sync."""
        requested = names or [c.name for c in self._configuration.current.collections]
        runs = (asyncio.shield(self.collection(name).request()) for name in requested)
        for end in await asyncio.gather(*runs, return_exceptions=True):
            # Ignore a removed collection that the caller did not name.
            was_removed = isinstance(end, CollectionNotFound) and not names
            if isinstance(end, BaseException) and not was_removed:
                raise end

    async def close(self) -> None:
        if self._config_watch:
            self._config_watch.close()
        tasks = [self._checks, *self._reloads]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(collection.close() for collection in self._collections.values()))

    def _config_changed(self, _: list[str]) -> None:
        """Watch and sync exactly the collections that the current config names."""
        configs = {c.name: c for c in self._configuration.current.collections}
        for name in self._collections.keys() - configs.keys():
            collection = self._collections[name]
            if not collection.is_removed:
                collection.remove()
            elif not collection.is_running:
                del self._collections[name]
        for config in configs.values():
            self._configured(config)
        self.state_changed.emit()

    def _configured(self, config: CollectionConfig) -> SyncedCollection:
        """Return the collection after it has applied this config."""
        known = self._collections.get(config.name)
        if known is None:
            known = self._collections[config.name] = SyncedCollection(config, self._services)
            known.note_changed()
            known.request()
        elif known.is_removed or known.config != config:
            known.reconfigure(config)
        return known

    async def _check_regularly(self) -> None:
        """Find changes that events do not report."""
        last = clocks()
        while True:
            await next_tick(self._timings.check_every_s)
            self._on_check()
            await self._configuration.reload()
            before, last = last, clocks()
            if stood_still := has_stood_still(before, last, self._timings):
                _log.info("watch.stood_still")
            rescan_s = self._configuration.current.watch.rescan_s
            mounted = mounts()
            for collection in list(self._collections.values()):
                collection.check(stood_still=stood_still, rescan_s=rescan_s, mounted=mounted)

    def _watch_config(self, open_source: OpenSource) -> EventSource | None:
        """Watch the config's folder. Where the system has no events, the regular check finds changes."""
        try:
            source = open_source(os.path.realpath(self._configuration.path.parent), self._on_config_events)
        except NotWatchable:
            return None
        source.enter("")
        return source

    def _on_config_events(self, _: FileEvents) -> None:
        reload = asyncio.create_task(self._configuration.reload(), name="reload config")
        self._reloads.add(reload)
        reload.add_done_callback(self._reloads.discard)


def clocks() -> tuple[float, float]:
    """Return the time in seconds of a clock that stops while the machine sleeps, and of a clock that does not."""
    always = time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.time()
    return time.monotonic(), always


def has_stood_still(before: tuple[float, float], now: tuple[float, float], timings: SyncTimings) -> bool:
    """Return whether this process or the machine stood still between two regular checks, given `clocks()` at both."""
    return max(now[0] - before[0], now[1] - before[1]) > timings.check_every_s + timings.stood_still_s
