"""Receive file system events, which name the paths below a folder that have changed. They are only hints.

    source     the interface and errors of all sources
    inotify    Linux
    portable   other systems

Must not depend on collections, the index or the configuration.
"""

from __future__ import annotations

import sys

from gnod.disks.mounts import mounts, remote_mount
from gnod.freshness.events.source import EventSource, NotWatchable, OnEvents

if sys.platform == "linux":
    from gnod.freshness.events.inotify import InotifySource as NativeSource
else:
    from gnod.freshness.events.portable import PortableSource as NativeSource


def open_source(root: str, on_events: OnEvents) -> EventSource:
    """Return a source for a folder. Its path must not contain links. Raises NotWatchable."""
    if mount := remote_mount(root, mounts()):
        raise NotWatchable(f"it is a network folder ({mount.kind} at {mount.point})")
    return NativeSource(root, on_events)
