"""Which part of a collection is to be compared with the disk. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gnod.ingest.ignore import IGNORE_FILES

# Each path costs a few look-ups, a file that is walked past ten microseconds: past this, a whole walk is no dearer.
_MAX_PATHS = 2000


class Scope(NamedTuple):
    """`paths`, relative to the root, files or folders that may be gone, with all that is below them; none lies below
    another. None: the whole collection."""

    paths: frozenset[str] | None

    @property
    def is_whole(self) -> bool:
        return self.paths is None

    @property
    def size(self) -> int:
        """Return how many paths may differ, as far as that is known: at least one of a whole collection."""
        return 1 if self.paths is None else len(self.paths)

    def repeats(self, earlier: Scope) -> bool:
        """Tell whether nothing but what was in an earlier scope is in this one."""
        if self.paths is None or earlier.paths is None:
            return self.paths == earlier.paths or self == NOTHING
        return self.paths <= earlier.paths

    def joined(self, other: Scope) -> Scope:
        if self.paths is None or other.paths is None:
            return WHOLE
        return of_paths(self.paths | other.paths)


WHOLE = Scope(None)
NOTHING = Scope(frozenset())


def of_paths(paths: Iterable[str]) -> Scope:
    """Return the scope of what has changed. A change of an ignore file may concern all that is in its folder."""
    wanted = {_concerned(path) for path in paths}
    if "" in wanted or len(wanted) > _MAX_PATHS:
        return WHOLE
    return Scope(frozenset(path for path in wanted if not _has_one_above(path, wanted)))


def _concerned(path: str) -> str:
    folder, _, name = path.rpartition("/")
    while name in IGNORE_FILES or not is_text(path):  # what is no text has no name in the index: its folder tells
        path = folder
        folder, _, name = path.rpartition("/")
    return path


def _has_one_above(path: str, wanted: set[str]) -> bool:
    at = path.find("/")
    while at >= 0:
        if path[:at] in wanted:
            return True
        at = path.find("/", at + 1)
    return False


def is_text(path: str) -> bool:
    """Tell whether a path can be stored: names on disk are bytes, and some of them no text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
