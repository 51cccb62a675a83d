"""What every source of events offers, and which one a folder gets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Set
from typing import NamedTuple, Protocol

from gnod import mounts


class Events(NamedTuple):
    """`paths` that have changed in some way, relative to the folder, with slashes. `lost`: why there may be others;
    None when these are all."""

    paths: frozenset[str] = frozenset()
    lost: str | None = None


Hear = Callable[[Events], None]
"""Called in the event loop's thread."""


class NotWatchable(Exception):
    """There are no events to be had, or not all. The text says why, and what could be done."""


class Source(Protocol):
    """Tells of changes in the folders entered, from `enter` to `close`.

    `fault`: why it no longer tells of all changes, in words; a source with a fault is of no more use.
    """

    @property
    def fault(self) -> str | None: ...

    def enter(self, path: str, *, is_file: bool = False) -> None:
        """Watch a folder, relative to the root ("" is the root), or a file that has other names outside of the watched
        folders; call it before looking at what is there, in any thread."""

    def keep_only(self, paths: Set[str]) -> None:
        """Forget what a walk of everything did not enter."""

    def close(self) -> None: ...


def open_source(root: str, hear: Hear) -> Source:
    """Return a source for a folder. Raises NotWatchable."""
    if reason := mounts.why_without_events(root):
        raise NotWatchable(reason)
    if sys.platform == "linux":
        from gnod.watch.inotify import InotifySource as Native
    else:
        from gnod.watch.portable import PortableSource as Native
    return Native(root, hear)
