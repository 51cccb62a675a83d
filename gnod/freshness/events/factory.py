"""Chooses the source of events for a folder."""

from __future__ import annotations

import sys

from gnod.disks.mounts import mounts, remote_mount
from gnod.freshness.events.source import EventSource, NotWatchable, OnEvents

if sys.platform == "linux":
    from gnod.freshness.events.inotify import InotifySource as NativeSource
else:
    from gnod.freshness.events.portable import PortableSource as NativeSource


def open_source(root: str, on_events: OnEvents) -> EventSource:
    """Return a source for a folder, whose path has no links. Raises NotWatchable."""
    if mount := remote_mount(root, mounts()):
        raise NotWatchable(f"it is a network folder ({mount.kind} at {mount.point})")
    return NativeSource(root, on_events)
