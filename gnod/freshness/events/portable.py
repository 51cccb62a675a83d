"""Report events on systems without inotify, through watchfiles: one watcher for all folders of an event loop.

The watcher covers whole trees. It does not report lost events, so gnod compares a folder with the index after a large
burst and every few minutes. It is polled at the ticks of the other checks, so it needs no thread and no extra wake-ups.
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

# If watchfiles reports this many changes at once, it may have lost others.
_LARGE_BURST = 1000
# With these times, in milliseconds, watchfiles returns at once.
_AT_ONCE = {"debounce_ms": 1, "step_ms": 0, "timeout_ms": 1}


class PortableSource:
    complete_for_s = PORTABLE_COMPLETE_FOR_S

    def __init__(self, root: str, on_events: OnEvents) -> None:
        """Start to watch a folder within a second. Its path must not contain links."""
        self.fault: str | None = None
        self.root = root
        # Events may spell the root differently, but with the same number of parts.
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
        """Take the changed paths of all folders, with their folded forms as keys."""
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
    """The watcher of all sources. It runs while there is at least one source."""

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
        """Watch all folders that exist. If a folder appears later, a new source is opened for it."""
        self._is_outdated = False
        roots = sorted({source.root for source in self._sources if os.path.isdir(source.root)})  # noqa: PTH112
        try:
            self._replace(RustNotify(roots, False, False, 0, True, True) if roots else None)
        except FileNotFoundError:  # a folder was removed just now
            self._is_outdated = True
            return
        except (OSError, RuntimeError) as error:
            for source in self._sources:
                source.fault = f"the system refuses to watch ({error})"
            self._replace(None)
        began, self._new = self._new, []
        for source in began:
            source.report({}, source.fault or "earlier changes may have been missed")

    def _replace(self, notify: RustNotify | None) -> None:
        """Poll the new watcher from now on. Both watchers run for a moment, so that no event is lost."""
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
