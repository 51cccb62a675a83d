"""The watch over one collection's folder: by events where there are any, else by walks at short intervals.

Decides nothing: it says what it hears, when a walk of everything is due, and when it has become useless.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

from gnod.config.model import CollectionConfig
from gnod.ingest.walk import Listing, identity
from gnod.watch.source import Events, NotWatchable, Source, open_source

# Without events there is a walk this often, and never for more than a twentieth of the time.
_POLL_S = 5.0
_POLLS_PER_WORK = 20.0
# A limit of the system may have been raised; a folder may be readable again without having been replaced.
_RETRY_EVENTS_S = 600.0
_RETRY_ROOT_S = 60.0
_RESCAN_SPREAD = 0.25

Changed = Callable[[str, frozenset[str] | None], None]
"""Called with the collection's name and what has changed, relative to the root; None: anything."""


class WatchState(NamedTuple):
    """`mode`: how changes are noticed; `reason` says why not by events. `last_event` in seconds since 1970."""

    mode: Literal["events", "polling", "off"]
    reason: str | None = None
    last_event: float | None = None

    @property
    def is_watched(self) -> bool:
        return self.mode == "events"


class CollectionWatch:
    """Begins when it is made; there are events only from the folders that a walk has entered since."""

    def __init__(self, collection: CollectionConfig, changed: Changed) -> None:
        self.collection = collection
        self.heard_at = 0.0  # on the monotonic clock
        self._changed = changed
        self._excluded = frozenset(collection.exclude)
        self._opened_at = time.monotonic()
        self._last_event: float | None = None
        self._walk_began = self._walk_ended = 0.0
        self._spread = 1.0
        self._source: Source | None = None
        self._fault: str | None = None
        self._identity: tuple[int, int] | None = None
        try:
            self._source = open_source(collection.path, self._hear)
        except NotWatchable as error:
            self._fault = str(error)
        else:
            self._identity = identity(collection.path)

    def enter(self, path: str, *, is_file: bool = False) -> None:
        """Watch a folder that is about to be listed, or a link to a file. In any thread."""
        if not path:
            self._walk_began = time.monotonic()
        if self._source:
            self._source.enter(path, is_file=is_file)

    def listed(self, listing: Listing) -> None:
        """Take note that everything was walked, and entered before."""
        self._walk_ended = time.monotonic()
        self._spread = random.uniform(1 - _RESCAN_SPREAD, 1 + _RESCAN_SPREAD)
        if self._source and self._source.fault:
            self._source.close()  # who cannot watch everything leaves the system's limit to others
        elif self._source:
            self._source.keep_only(listing.folders | listing.links)

    def state(self, unavailable: str | None) -> WatchState:
        """Return how the collection is watched, given why its folder could not be walked. In any thread."""
        if unavailable or not self._walk_ended:
            return WatchState("off", unavailable or "watching begins in a moment", self._last_event)
        reason = self._reason()
        if reason is None:
            return WatchState("events", None, self._last_event)
        return WatchState("polling", f"{reason}; meanwhile it is walked every few seconds", self._last_event)

    def is_walk_due(self, rescan_s: float) -> bool:
        """Tell whether it is time for a walk of everything; `rescan_s` is how often where there are events."""
        if self._reason() is None:
            wait_s = rescan_s * self._spread
        else:
            wait_s = max(_POLL_S, (self._walk_ended - self._walk_began) * _POLLS_PER_WORK)
        return time.monotonic() > max(self._walk_ended, self._opened_at) + wait_s

    def is_useless(self, unavailable: str | None) -> bool:
        """Tell whether to begin anew: another folder lies under the path now, or events may be had again."""
        if self._reason() is None:
            # A network drive that does not answer is never looked at here: only the walks meet it, in their threads.
            retry_s = _RETRY_ROOT_S if unavailable else float("inf")
            return self._identity != identity(self.collection.path) or self._is_older_than(retry_s)
        return self._is_older_than(_RETRY_EVENTS_S)

    def close(self) -> None:
        if self._source:
            self._source.close()

    def _reason(self) -> str | None:
        """Return why there are no events, or not all."""
        return self._source.fault if self._source else self._fault

    def _is_older_than(self, seconds: float) -> bool:
        return time.monotonic() > self._opened_at + seconds

    def _hear(self, events: Events) -> None:
        paths = {path for path in events.paths if self._excluded.isdisjoint(path.split("/"))}
        if not (paths or events.lost):
            return
        self.heard_at = time.monotonic()
        self._last_event = time.time()
        self._changed(self.collection.name, None if events.lost else frozenset(paths))
