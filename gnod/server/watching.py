"""Notice changes in the collections' folders and in the config file, and have them taken in.

The operating system's events are a hint, not the truth: an event says which paths are worth a look, and there are walks
of everything where events may have been lost: at the start, after an overflow, after the machine or this process stood
still, when a root comes back, and every `watch.rescan_s`. What is not watched is said to be unwatched, with the reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from gnod.ingest.scope import Scope
from gnod.server.collection_watch import CollectionWatch, WatchState
from gnod.server.configuration import Configuration
from gnod.server.manners import low_disk
from gnod.server.syncing import Syncing
from gnod.watch.source import Events, NotWatchable, Source, open_source

# How often roots, due walks and the clocks are looked at.
_LOOK_EVERY_S = 3.0
# A look that comes so much too late, or clocks that differ by so much: the process or the machine stood still.
_STOOD_STILL_S = 5.0
# A burst is taken in when it has been quiet for a moment, or has lasted a while.
_QUIET_S = 0.04
_LONGEST_BURST_S = 0.25
# After a sync, rest in proportion before the same again: a file that is written all the time must not keep a processor
# busy.
_REST_PER_WORK = 2.0
_MAX_REST_S = 10.0
_REST_AFTER_FAILURE_S = 10.0

_log = logging.getLogger(__name__)


class Watching:
    """At work from its making until `close`. `listeners` are called when a state may have changed, `on_look` every few
    seconds."""

    def __init__(self, configuration: Configuration, syncing: Syncing, database_folder: Path) -> None:
        self.listeners: list[Callable[[], None]] = []
        self.on_look: Callable[[], None] = lambda: None
        self._configuration = configuration
        self._syncing = syncing
        self._watches: dict[str, CollectionWatch] = {}
        self._takers: dict[str, asyncio.Task[None]] = {}
        self._news: dict[str, asyncio.Event] = {}
        self._reloads: set[asyncio.Task[None]] = set()
        self._database_folder = database_folder
        self._held: str | None = None
        self._config_source = self._watch_config()
        syncing.watch_of = self._watches.get
        self.config_changed()
        self._task = asyncio.create_task(self._look(), name="watch")

    def config_changed(self) -> None:
        """Watch what the config in force names, and no more."""
        wanted = {c.name: c for c in self._configuration.current.collections}
        for name in list(self._watches):
            if self._watches[name].collection != wanted.get(name):
                self._watches.pop(name).close()
        for name in wanted.keys() - self._watches.keys():
            self._begin(name)
        self._notify()

    def state(self, name: str) -> WatchState:
        watch = self._watches.get(name)
        if watch is None:
            return WatchState("off", "watching begins in a moment")
        state = watch.state(self._syncing.why_unavailable(name))
        return state._replace(reason=self._held) if self._held and self._syncing.changes(name).size else state

    def differs(self, name: str) -> None:
        """Take note that somebody found the disk different from the index, should nobody have known."""
        if name in self._watches and name not in self._takers and not self._syncing.is_running:
            _log.warning("watch.missed", extra={"fields": {"name": name}})
            self._changed(name, None)

    async def close(self) -> None:
        tasks = [self._task, *self._takers.values(), *self._reloads]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for watch in self._watches.values():
            watch.close()
        if self._config_source:
            self._config_source.close()

    async def _look(self) -> None:
        """Look regularly for what events do not tell."""
        last = Clocks.now()
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            self.on_look()
            await self._configuration.reload()
            clocks = Clocks.now()
            stood_still = clocks.stood_still_since(last)
            last = clocks
            if stood_still:
                _log.info("watch.stood_still")
            for name, watch in list(self._watches.items()):
                self._look_at(name, watch, everything=stood_still)

    def _look_at(self, name: str, watch: CollectionWatch, *, everything: bool) -> None:
        if watch.is_useless(self._syncing.why_unavailable(name)):
            self._begin(name)
            self._notify()
        elif everything or watch.is_walk_due(self._configuration.current.watch.rescan_s):
            self._changed(name, None)
        elif self._syncing.changes(name).size:  # they were held back
            self._take_in(name)

    def _begin(self, name: str) -> None:
        if name in self._watches:
            self._watches.pop(name).close()
        self._watches[name] = CollectionWatch(self._configuration.collection(name), self._changed)
        self._changed(name, None)  # what changed while nobody watched

    def _changed(self, name: str, paths: frozenset[str] | None) -> None:
        self._syncing.note_changed(name, paths)
        if name in self._news:
            self._news[name].set()
        self._take_in(name)

    def _take_in(self, name: str) -> None:
        if name not in self._takers:
            self._takers[name] = asyncio.create_task(self._take_in_all(name), name=f"take in {name}")

    async def _take_in_all(self, name: str) -> None:
        """Sync what has changed until nothing has."""
        try:
            while name in self._watches and self._syncing.changes(name).size and not self._is_held():
                await self._until_quiet(name)
                started = time.monotonic()
                scope = self._syncing.changes(name)
                run = self._syncing.request_changed(name)
                await asyncio.wait([run])
                if not run.cancelled() and run.exception():
                    await asyncio.sleep(_REST_AFTER_FAILURE_S)
                else:
                    await self._rest(name, scope, min((time.monotonic() - started) * _REST_PER_WORK, _MAX_REST_S))
        finally:
            del self._takers[name]
            self._news.pop(name, None)
            self._notify()

    async def _rest(self, name: str, done: Scope, seconds: float) -> None:
        """Rest, unless something else changes than what was just looked at."""
        until = time.monotonic() + seconds
        news = self._news[name] = asyncio.Event()
        while (left := until - time.monotonic()) > 0 and self._syncing.changes(name).repeats(done):
            news.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), left)

    async def _until_quiet(self, name: str) -> None:
        longest = time.monotonic() + _LONGEST_BURST_S
        while watch := self._watches.get(name):
            wait_s = min(watch.heard_at + _QUIET_S, longest) - time.monotonic()
            if wait_s <= 0:
                return
            await asyncio.sleep(wait_s)

    def _is_held(self) -> bool:
        self._held = low_disk(self._database_folder)
        return self._held is not None

    def _watch_config(self) -> Source | None:
        """Watch the config's folder; where there are no events, the regular look does."""
        try:
            source = open_source(str(self._configuration.path.parent), self._config_touched)
        except NotWatchable:
            return None
        source.enter("")
        return source

    def _config_touched(self, _: Events) -> None:
        reload = asyncio.create_task(self._configuration.reload(), name="reload config")
        self._reloads.add(reload)
        reload.add_done_callback(self._reloads.discard)

    def _notify(self) -> None:
        for listener in self.listeners:
            listener()


class Clocks(NamedTuple):
    """Seconds of the clock that stops while the machine sleeps, and of one that does not."""

    awake: float
    always: float

    @classmethod
    def now(cls) -> Clocks:
        always = time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.time()
        return cls(time.monotonic(), always)

    def stood_still_since(self, last: Clocks) -> bool:
        """Tell whether this process or the machine stood still since the last regular look."""
        return max(self.awake - last.awake, self.always - last.always) > _LOOK_EVERY_S + _STOOD_STILL_S
