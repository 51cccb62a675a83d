"""Describe the part of a collection that a sync covers. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gnod.ingest import packages
from gnod.ingest.files.ignore import IGNORE_FILES

# A path needs a few lookups, and a walked file ten microseconds. For more paths than this, a full walk is as fast.
_MAX_PATHS = 2000


class Scope(NamedTuple):
    """`paths`: paths of files, and of folders with everything below them, relative to the root. They may no longer
    exist, and none is below another. None: the whole collection. `written`: files to read even if they look
    unchanged."""

    paths: frozenset[str] | None
    written: frozenset[str] = frozenset()

    @property
    def is_whole(self) -> bool:
        return self.paths is None

    @property
    def size(self) -> int:
        """Return the number of paths that may differ; 1 for a whole collection."""
        return 1 if self.paths is None else len(self.paths)

    def repeats(self, earlier: Scope) -> bool:
        if self.paths is None or earlier.paths is None:
            return self.paths == earlier.paths or self == NOTHING
        return self.paths <= earlier.paths

    def joined(self, other: Scope) -> Scope:
        written = self.written | other.written
        if self.paths is None or other.paths is None:
            return Scope(None, _few(written))
        return of_paths(self.paths | other.paths, written)


WHOLE = Scope(None)
NOTHING = Scope(frozenset())


def of_paths(paths: Iterable[str], written: frozenset[str] = frozenset()) -> Scope:
    """Return the scope of changed paths. A changed ignore file affects its whole folder."""
    concerned = {_concerned(path) for path in paths}
    if "" in concerned or len(concerned) > _MAX_PATHS:
        return Scope(None, _few(written))
    return Scope(frozenset(path for path in concerned if not _has_one_above(path, concerned)), _few(written))


def _few(written: frozenset[str]) -> frozenset[str]:
    """Return the set, or an empty one if it is very large: the names of a million copied files must not fill RAM."""
    return written if len(written) <= _MAX_PATHS else frozenset()


def _concerned(path: str) -> str:
    path = packages.concerned(path)
    folder, _, name = path.rpartition("/")
    while name in IGNORE_FILES or not is_text(path):  # a name that is not text is not in the index
        path = folder
        folder, _, name = path.rpartition("/")
    return path


def _has_one_above(path: str, paths: set[str]) -> bool:
    at = path.find("/")
    while at >= 0:
        if path[:at] in paths:
            return True
        at = path.find("/", at + 1)
    return False


def is_text(path: str) -> bool:
    """Return whether a path can be stored: names on disk are bytes, which are not always valid text."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
