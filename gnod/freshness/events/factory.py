"""Chooses the source of events for a folder."""

from __future__ import annotations

import sys

from gnod import mounts
from gnod.freshness.events.source import EventSource, NotWatchable, OnEvents

if sys.platform == "linux":
    from gnod.freshness.events.inotify import InotifySource as NativeSource
else:
    from gnod.freshness.events.portable import PortableSource as NativeSource


def open_source(root: str, on_events: OnEvents) -> EventSource:
    """Return a source for a folder. Raises NotWatchable."""
    if reason := mounts.why_without_events(root):
        raise NotWatchable(reason)
    return NativeSource(root, on_events)
