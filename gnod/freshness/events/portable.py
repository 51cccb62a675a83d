"""Events through watchfiles, for systems without inotify.

It watches whole trees, and does not report lost events: only the regular walks find what it missed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Set

from watchfiles import awatch

from gnod.freshness.events.source import FileEvents, OnEvents
from gnod.freshness.timings import PORTABLE_LONGEST_BURST_MS, PORTABLE_STEP_MS


class PortableSource:
    def __init__(self, root: str, on_events: OnEvents) -> None:
        self.fault: str | None = None
        self._root = os.path.realpath(root)
        self._on_events = on_events
        self._task = asyncio.create_task(self._follow(), name=f"watch {root}")

    def enter(self, path: str, *, is_file: bool = False) -> None:
        del path, is_file  # the whole tree is watched

    def keep_only(self, paths: Set[str]) -> None:
        del paths

    def close(self) -> None:
        self._task.cancel()

    async def _follow(self) -> None:
        if not os.path.isdir(self._root):  # noqa: PTH112, ASYNC240
            return  # watchfiles would wait forever; the check for the folder's return opens another source
        # Its own spelling may be another one than that of the events, but it has as many parts.
        depth = self._root.rstrip("/").count("/") + 1
        try:
            async for changes in awatch(
                self._root,
                watch_filter=None,
                debounce=PORTABLE_LONGEST_BURST_MS,
                step=PORTABLE_STEP_MS,
                ignore_permission_denied=True,
            ):
                changed = [path.split("/", depth) for _, path in changes]
                paths = {parts[depth] for parts in changed if len(parts) > depth}
                gone = any(len(parts) <= depth for parts in changed)
                self._on_events(FileEvents(frozenset(paths), "the folder itself changed" if gone else None))
        except (OSError, RuntimeError) as error:
            self.fault = f"the system refuses to watch ({error})"
        else:
            self.fault = "watching ended"
        self._on_events(FileEvents(lost=self.fault))
