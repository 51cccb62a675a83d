"""Define the interface of all sources of file system events."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import NamedTuple, Protocol


class FileEvents(NamedTuple):
    """`paths`: paths that have changed, relative to the folder, with slashes. `lost`: why other paths may be missing;
    None: the list is complete. `written`: paths of files that a program had open for writing and has closed. Their
    content may have changed even if their times did not, because the kernel does not note every write through a memory
    map."""

    paths: frozenset[str] = frozenset()
    lost: str | None = None
    written: frozenset[str] = frozenset()


OnEvents = Callable[[FileEvents], None]
"""The source calls this function in the event loop's thread."""


class NotWatchable(Exception):
    """The system does not report some or all events. The message says why and what to do."""


class EventSource(Protocol):
    """Reports changes in all entered folders, from `enter` until `close`.

    `fault`: a message that says why the source no longer reports all changes; a source with a fault is unusable.
    `complete_for_s`: after this time, compare the folder with the index, because events may be lost without notice.
    """

    complete_for_s: float

    @property
    def fault(self) -> str | None: ...

    def enter(self, path: str, *, is_file: bool = False) -> None:
        """Watch a folder, relative to the root ("" is the root), or a file that has other names outside the watched
        folders. Call this before you list the folder. Any thread may call it."""

    def keep_only(self, paths: Set[str]) -> None:
        """Stop watching all other paths. `paths`: everything that a complete walk has entered."""

    def close(self) -> None: ...
