"""Notice changes in the collections' folders and in the config file.

The operating system's events are a hint, not the truth: an event only says that a folder is worth a walk, and every
`watch.rescan_s` each is walked without one. What is not watched is said to be unwatched, with the reason.

One watcher serves all folders, because watchfiles wakes up at every step, whether anything happens or not.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from watchfiles import Change, awatch

from gnod.config.model import CollectionConfig
from gnod.server.configuration import Configuration
from gnod.server.syncing import Syncing

# How often watchfiles looks whether events have come; it hands them out when a step has brought no more.
_STEP_MS = 150
_DEBOUNCE_MS = 1_000
# How often roots and due walks are looked at.
_LOOK_EVERY_MS = 5_000
_RETRY_S = 30.0
_RESCAN_SPREAD = 0.25
# After a sync, rest in proportion: a file that is written all the time must not keep a processor busy.
_REST_PER_WORK = 2.0
_MAX_REST_S = 10.0

_log = logging.getLogger(__name__)


class WatchState(NamedTuple):
    """`reason` says why a collection is not watched."""

    is_watched: bool
    reason: str | None = None


class Watching:
    """Runs in one task, from its making until `close`."""

    def __init__(self, configuration: Configuration, syncing: Syncing) -> None:
        self._configuration = configuration
        self._syncing = syncing
        self._states: dict[str, WatchState] = {}
        self._due: dict[str, float] = {}
        self._wanted: set[str] = set()
        self._syncs: dict[str, asyncio.Task[None]] = {}
        self._restart = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name="watch")

    def config_changed(self) -> None:
        """Watch what the config in force names, and no more."""
        self._restart.set()

    def state(self, name: str) -> WatchState:
        return self._states.get(name, WatchState(False, "watching begins in a moment"))

    async def close(self) -> None:
        tasks = [self._task, *self._syncs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self._restart = asyncio.Event()
            watched = [c for c in self._configuration.current.collections if _is_there(c)]
            try:
                await self._watch(watched)
            except (OSError, RuntimeError) as error:  # inotify's limits, a file system without events
                await self._without_events(error)

    async def _watch(self, watched: list[CollectionConfig]) -> None:
        """Follow events until the config changes, or a root comes or goes."""
        roots = {c.path for c in watched}
        folders = {str(self._configuration.path.parent), *roots}
        self._states = {c.name: WatchState(True) for c in watched}
        for collection in self._configuration.current.collections:
            if collection.path not in roots:
                self._states[collection.name] = WatchState(False, f"the folder {collection.path} is not there")
        # What changed while nobody watched.
        self._ask(c.name for c in watched)
        async for changes in awatch(
            *sorted(folders),
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            rust_timeout=_LOOK_EVERY_MS,
            yield_on_timeout=True,
            stop_event=self._restart,
            ignore_permission_denied=True,
        ):
            await self._configuration.reload()
            self._ask(c.name for c in watched if _concerns(c, changes))
            self._ask(name for name, due in self._due.items() if time.monotonic() > due)
            if roots != {c.path for c in self._configuration.current.collections if _is_there(c)}:
                return

    async def _without_events(self, error: Exception) -> None:
        """Look for changes without events for a while, and say so."""
        reason = f"the system refuses to watch ({error}); folders are walked every {_RETRY_S:.0f} s instead"
        _log.warning("watch.failed", extra={"fields": {"reason": reason}})
        names = [c.name for c in self._configuration.current.collections]
        self._states = dict.fromkeys(names, WatchState(False, reason))
        try:
            await asyncio.wait_for(self._restart.wait(), _RETRY_S)
        except TimeoutError:
            await self._configuration.reload()
            self._ask(names)

    def _ask(self, names: Iterable[str]) -> None:
        for name in names:
            self._due[name] = time.monotonic() + self._until_rescan()
            self._wanted.add(name)
            if name not in self._syncs:
                self._syncs[name] = asyncio.create_task(self._sync(name), name=f"watched sync {name}")

    async def _sync(self, name: str) -> None:
        """Sync and rest; what is asked for meanwhile is done once, after the rest."""
        while name in self._wanted:
            self._wanted.discard(name)
            started = time.monotonic()
            await asyncio.wait([self._syncing.request(name)])
            await asyncio.sleep(min((time.monotonic() - started) * _REST_PER_WORK, _MAX_REST_S))
        del self._syncs[name]

    def _until_rescan(self) -> float:
        """Return seconds; spread, so that not all collections are walked in the same moment."""
        return self._configuration.current.watch.rescan_s * random.uniform(1 - _RESCAN_SPREAD, 1 + _RESCAN_SPREAD)


def _is_there(collection: CollectionConfig) -> bool:
    return Path(collection.path).is_dir()


def _concerns(collection: CollectionConfig, changes: set[tuple[Change, str]]) -> bool:
    """Tell whether a change lies in the collection, and not in a folder that it leaves out."""
    root = collection.path.rstrip("/") + "/"
    excluded = set(collection.exclude)
    return any(
        path == collection.path or (path.startswith(root) and excluded.isdisjoint(path[len(root) :].split("/")))
        for _, path in changes
    )
