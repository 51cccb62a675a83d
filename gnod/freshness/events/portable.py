"""Events through watchfiles, for systems without inotify: one watcher for all folders of an event loop.

It watches whole trees. It does not report that events were lost, so a folder is compared after a large burst, and every
few minutes. It is asked at the ticks of the other checks, which costs no thread and no wake-up of its own.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Mapping, Set
from weakref import WeakKeyDictionary

from watchfiles._rust_notify import RustNotify

from gnod.disks.spellings import folded
from gnod.freshness.events.source import FileEvents, OnEvents
from gnod.freshness.timings import PORTABLE_ACTIVE_S, PORTABLE_COMPLETE_FOR_S, PORTABLE_IDLE_STEP_S, PORTABLE_STEP_S
from gnod.periodic_checks import next_tick

# watchfiles may have lost others if it reports this many changes at once.
_LARGE_BURST = 1000
# The times of watchfiles, in milliseconds, with which it returns at once.
_AT_ONCE = {"debounce_ms": 1, "step_ms": 0, "timeout_ms": 1}


class PortableSource:
    complete_for_s = PORTABLE_COMPLETE_FOR_S

    def __init__(self, root: str, on_events: OnEvents) -> None:
        """Watch a folder, whose path has no links, within a second."""
        self.fault: str | None = None
        self.root = root
        # Its own spelling may be another one than that of the events, but it has as many parts.
        self._inside = folded(root.rstrip("/") + "/")
        self._on_events = on_events
        self._watcher = _watchers.setdefault(asyncio.get_running_loop(), _Watcher())
        self._watcher.add(self)

    def enter(self, path: str, *, is_file: bool = False) -> None:
        del path, is_file  # the whole tree is watched

    def keep_only(self, paths: Set[str]) -> None:
        del paths

    def close(self) -> None:
        self._watcher.remove(self)

    def report(self, changed: Mapping[str, str], lost: str | None = None) -> None:
        """Take the paths that have changed in all folders, by their folded forms."""
        depth = self._inside.count("/")
        paths = frozenset(
            path.split("/", depth)[depth] for form, path in changed.items() if form.startswith(self._inside)
        )
        if self._inside.rstrip("/") in changed:
            lost = "the folder itself changed"
        elif len(paths) >= _LARGE_BURST:
            lost = "many files changed at once"
        if paths or lost:
            self._on_events(FileEvents(paths, lost))


class _Watcher:
    """Works while there are sources."""

    def __init__(self) -> None:
        self._sources: list[PortableSource] = []
        self._new: list[PortableSource] = []
        self._notify: RustNotify | None = None
        self._is_outdated = False
        self._changed_at = -math.inf
        self._following: asyncio.Task[None] | None = None

    def add(self, source: PortableSource) -> None:
        self._sources.append(source)
        self._new.append(source)
        self._is_outdated = True
        if self._following is None:
            self._following = asyncio.create_task(self._follow(), name="watch folders")

    def remove(self, source: PortableSource) -> None:
        for sources in (self._sources, self._new):
            if source in sources:
                sources.remove(source)
        self._is_outdated = True
        if not self._sources and self._following:
            self._following.cancel()
            self._following = None
            self._replace(None)

    async def _follow(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            is_active = self._is_outdated or clock() < self._changed_at + PORTABLE_ACTIVE_S
            await next_tick(PORTABLE_STEP_S if is_active else PORTABLE_IDLE_STEP_S)
            self._report(self._notify)
            if self._is_outdated:
                self._renew()

    def _renew(self) -> None:
        """Watch all folders that are there. If one appears later, another source is opened for it."""
        self._is_outdated = False
        roots = sorted({source.root for source in self._sources if os.path.isdir(source.root)})  # noqa: PTH112
        try:
            self._replace(RustNotify(roots, False, False, 0, True, True) if roots else None)
        except FileNotFoundError:  # one was removed this moment
            self._is_outdated = True
            return
        except (OSError, RuntimeError) as error:
            for source in self._sources:
                source.fault = f"the system refuses to watch ({error})"
            self._replace(None)
        began, self._new = self._new, []
        for source in began:
            source.report({}, source.fault or "changes before this were not seen")

    def _replace(self, notify: RustNotify | None) -> None:
        """Ask the new watcher from now on. Both watched for a moment, so that no event is lost."""
        former, self._notify = self._notify, notify
        self._report(former)
        if former:
            former.close()

    def _report(self, notify: RustNotify | None) -> None:
        found = notify.watch(**_AT_ONCE, stop_event=None) if notify else "stop"
        if not isinstance(found, str):
            self._changed_at = asyncio.get_running_loop().time()
            changed = {folded(path): path for _, path in found}
            for source in list(self._sources):
                source.report(changed)


_watchers: WeakKeyDictionary[asyncio.AbstractEventLoop, _Watcher] = WeakKeyDictionary()
