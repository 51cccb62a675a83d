"""What every source of file system events offers."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import NamedTuple, Protocol


class FileEvents(NamedTuple):
    """`paths` that have changed, relative to the folder, with slashes. `lost`: why there may be others; None: these are
    all. `written`: those that a program had open for writing and closed. Their content may have changed even if their
    times did not: the kernel does not note every write through a memory map."""

    paths: frozenset[str] = frozenset()
    lost: str | None = None
    written: frozenset[str] = frozenset()


OnEvents = Callable[[FileEvents], None]
"""Called in the event loop's thread."""


class NotWatchable(Exception):
    """Some or all events are missing. The text says why and what to do."""


class EventSource(Protocol):
    """Reports changes in the folders entered, from `enter` to `close`.

    `fault`: why it no longer reports all changes, in words; a source with a fault cannot be used any more.
    `complete_for_s`: compare the folder with the index after this time, because events may be lost without notice.
    """

    complete_for_s: float

    @property
    def fault(self) -> str | None: ...

    def enter(self, path: str, *, is_file: bool = False) -> None:
        """Watch a folder, relative to the root ("" is the root), or a file that has other names outside the watched
        folders. Call it before the folder is listed, in any thread."""

    def keep_only(self, paths: Set[str]) -> None:
        """Forget what a complete walk did not enter."""

    def close(self) -> None: ...
