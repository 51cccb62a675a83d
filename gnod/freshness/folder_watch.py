"""Watch one collection's folder by file system events or, where the system has none, by regular walks.

This module only reports changes, whether a full walk is due, and whether the watch must be opened again.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

from gnod.config.model import CollectionConfig
from gnod.disks.looks import LookedAt
from gnod.disks.mounts import mounts, remote_mount
from gnod.freshness.events.source import EventSource, FileEvents, NotWatchable, OnEvents
from gnod.freshness.timings import RESCAN_SPREAD, RESCANS_PER_WORK, SyncTimings
from gnod.ingest.files.ignore import IGNORE_FILES, is_hidden
from gnod.ingest.files.scope import WHOLE, Scope, of_paths
from gnod.ingest.files.walk import Walk, identity

OpenSource = Callable[[str, OnEvents], EventSource]
OnChanged = Callable[[Scope], None]
"""The watch calls this function with the scope that may have changed."""


class WatchState(NamedTuple):
    """`mode`: how gnod notices changes; `reason`: why it does not use events. `last_event`: seconds since 1970."""

    mode: Literal["events", "polling", "off"]
    reason: str | None = None
    last_event: float | None = None

    @property
    def is_watched(self) -> bool:
        return self.mode == "events"


class FolderWatch:
    """Starts with `open`. Events come only from folders that a walk has entered since then.

    `identity`: identity of the folder when the watch was opened. `mount`: the network drive that holds the folder or a
    part of it.
    """

    def __init__(
        self, collection: CollectionConfig, on_changed: OnChanged, open_source: OpenSource, timings: SyncTimings
    ) -> None:
        self.changed_at = 0.0  # a time of the monotonic clock
        self.identity: tuple[int, int] | None = None
        self.mount = remote_mount(collection.path, mounts())
        self._path = collection.path
        self._on_changed = on_changed
        self._open_source = open_source
        self._timings = timings
        self._excluded = frozenset(collection.exclude)
        self._leaves_hidden_out = not collection.hidden
        self._opened_at = self._differed_at = time.monotonic()
        self._last_event: float | None = None
        self._walk_began = self._walk_ended = 0.0
        self._spread = 1.0
        self._source: EventSource | None = None
        self._fault: str | None = None
        self._is_link = False
        self._is_closed = False

    async def open(self, place: LookedAt) -> None:
        """Start to watch, unless already started. Raises RootUnavailable when the folder does not answer."""
        if self._source or self._fault:
            return
        real, is_link, found = await place.run(_look, self._path)
        if self._is_closed:
            return
        self.identity, self._is_link = found, is_link
        try:
            self._source = self._open_source(real, self._on_events)
        except NotWatchable as error:
            self._fault = str(error)

    @property
    def is_local(self) -> bool:
        """Return whether the folder is on a disk of this machine, and no link leads to it."""
        return self._source is not None and not (self.mount or self._is_link)

    @property
    def is_link(self) -> bool:
        """Return whether a link leads to a folder that is watched."""
        return self._source is not None and self._is_link

    def enter(self, path: str, *, is_file: bool = False) -> None:
        """Watch a folder that is about to be listed, or a link to a file. Any thread may call this."""
        if not path:
            self._walk_began = time.monotonic()
        if self._source:
            self._source.enter(path, is_file=is_file)

    def listed(self, walked: Walk) -> None:
        """Record the result of a complete walk, which has entered every folder."""
        self._walk_ended = time.monotonic()
        self._spread = random.uniform(1 - RESCAN_SPREAD, 1 + RESCAN_SPREAD)
        if self._source and self._source.fault:
            self._source.close()  # an incomplete watch must not use up the system's limit
        elif self._source:
            self._source.keep_only(walked.folders | walked.links)

    def differed(self) -> None:
        """Record that a walk has found changes."""
        self._differed_at = time.monotonic()

    def state(self, unavailable: str | None) -> WatchState:
        """Return how gnod watches the collection. `unavailable`: why the walk of its folder failed. Any thread may call
        this."""
        if unavailable or not self._walk_ended:
            return WatchState("off", unavailable or "the folder will be watched in a moment", self._last_event)
        reason = self._reason()
        if reason is None:
            return WatchState("events", None, self._last_event)
        pace = _in_words(self._poll_s())
        return WatchState("polling", f"{reason}; gnod checks it every {pace}", self._last_event)

    def is_walk_due(self, rescan_s: float) -> bool:
        """Return whether a full walk is due. `rescan_s`: the time between walks where the system reports events."""
        if self._source and self._reason() is None:
            complete_for_s = max(self._source.complete_for_s, self._walk_s * RESCANS_PER_WORK)
            wait_s = min(rescan_s, complete_for_s) * self._spread
        else:
            wait_s = self._poll_s()
        return time.monotonic() > max(self._walk_ended, self._opened_at) + wait_s

    def is_retry_due(self, unavailable: str | None) -> bool:
        """Return whether to open the watch again, because the folder or its events may be available again."""
        if unavailable is not None:
            return self._is_older_than(self._timings.retry_root_s)
        return self._reason() is not None and self._is_older_than(self._timings.retry_events_s)

    def close(self) -> None:
        self._is_closed = True
        if self._source:
            self._source.close()

    def _reason(self) -> str | None:
        """Return why some or all events are missing."""
        return self._source.fault if self._source else self._fault

    def _poll_s(self) -> float:
        """Return how long to wait between two walks where there are no events."""
        unchanged_s = time.monotonic() - self._differed_at
        wait_s = min(unchanged_s / self._timings.polls_per_rest, self._timings.longest_poll_s)
        return max(wait_s, self._timings.poll_s, self._walk_s * self._timings.polls_per_work)

    @property
    def _walk_s(self) -> float:
        """Return how long the last walk took, in seconds."""
        return self._walk_ended - self._walk_began

    def _is_older_than(self, seconds: float) -> bool:
        return time.monotonic() > self._opened_at + seconds

    def _on_events(self, events: FileEvents) -> None:
        paths = {path for path in events.paths if self._concerns(path)}
        if not (paths or events.lost):
            return
        self.changed_at = time.monotonic()
        self._last_event = time.time()
        self._on_changed(WHOLE if events.lost else of_paths(paths, events.written))

    def _concerns(self, path: str) -> bool:
        """Return whether a change may affect the collection. Obsidian constantly writes to its hidden folder."""
        folder, _, name = path.rpartition("/")
        is_hidden_one = self._leaves_hidden_out and is_hidden(folder if name in IGNORE_FILES else path)
        return not is_hidden_one and self._excluded.isdisjoint(path.split("/"))


def _look(path: str) -> tuple[str, bool, tuple[int, int] | None]:
    """Return the path with links resolved, whether it had links, and the folder's identity."""
    real = os.path.realpath(path)
    return real, real != os.path.normpath(path), identity(path)


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:.0f} min"
