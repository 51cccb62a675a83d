"""Compare the disk with the index to find the files to read and the documents to remove. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from gnod.store.tables.failures import FailedFile
from gnod.store.tables.records import FileStat

# Files with failures that may be temporary are tried again after this time, up to this number of times.
RETRY_AFTER_S = 3600.0
MAX_TIMED_RETRIES = 5
_RETRY_ALWAYS = frozenset({"unreadable", "unstable", "vanished"})
_RETRY_LATER = frozenset({"timeout", "crashed", "memory"})


class ReadingPlan(NamedTuple):
    """Paths relative to the root. `read`: new or changed files, with small ones first, so that most are searchable
    early; `files`: their stats. `remove`: documents whose file is gone. `recovered`: failures whose file is gone."""

    read: list[str]
    files: Mapping[str, FileStat]
    remove: list[str]
    recovered: list[str]


@dataclass
class FolderComparison:
    """The differences between index and folder, in the parts compared so far. There may be a million unchanged files,
    so they are only counted: `seen` counts all files, `unchanged` counts files of documents, `failing` counts failed
    files by kind of failure. `again`: how many files in `read` are unchanged and failed before.

    `is_steady`: an unchanged file keeps its inode and change time; otherwise only size and time of modification are
    compared.
    """

    is_steady: bool = True
    read: dict[str, FileStat] = field(default_factory=dict)
    seen: int = 0
    unchanged: int = 0
    again: int = 0
    failing: Counter[str] = field(default_factory=Counter)
    _gone: list[str] = field(default_factory=list)
    _recovered: list[str] = field(default_factory=list)

    def add(
        self,
        files: Mapping[str, FileStat],
        known: Iterable[tuple[str, FileStat]],
        failed: Mapping[str, FailedFile],
        now: float,
        written: Collection[str] = (),
    ) -> None:
        """Compare the files of a part with the indexed files (`known`, which may have duplicates) and the failed ones.
        `written`: paths to read even if they look unchanged."""
        left = dict(files)
        # A file with several names was written under one of them.
        inodes = {files[path].inode for path in written if path in files}
        for path, stat in known:
            found = left.get(path)
            # Compare the stats here first, without a call, because there may be a million files.
            if found and (stat == found or self._is_unchanged(stat, found)) and found.inode not in inodes:
                del left[path]
            elif path not in files:
                self._gone.append(path)
        self.seen += len(files)
        self.unchanged += len(files) - len(left)
        for path, stat in left.items():
            before = failed.get(path)
            is_same = bool(before and before.stat and self._is_unchanged(before.stat, stat))
            if before and is_same and not _is_retried(before, now):
                self.failing[before.kind] += 1
                continue
            self.read[path] = stat
            self.again += before is not None and (is_same or before.stat is None)
        self._recovered += (path for path in failed if path not in files)

    def _is_unchanged(self, known: FileStat, found: FileStat) -> bool:
        return known == found if self.is_steady else known.looks_like(found)

    def plan(self, unreadable: Collection[str], undecodable: Collection[str]) -> ReadingPlan:
        """Return what to do. Documents in `unreadable` folders and with `undecodable` names stay, because the state of
        their files is unknown."""
        # Sort files of about the same size by path, as in the index: otherwise each transaction would change most pages
        # of a large index.
        read = sorted(self.read, key=lambda path: (self.read[path].size.bit_length(), path))
        remove = [path for path in self._gone if not _is_below(path, unreadable)]
        is_there = {*unreadable, *undecodable}.__contains__
        recovered = [path for path in self._recovered if not is_there(path) and not _is_below(path, unreadable)]
        return ReadingPlan(read, self.read, remove, recovered)


def _is_below(path: str, folders: Collection[str]) -> bool:
    return any(not folder or path.startswith(f"{folder}/") for folder in folders)


def _is_retried(failed: FailedFile, now: float) -> bool:
    if failed.kind in _RETRY_ALWAYS:
        return True
    # A time in the future comes from a wrong clock.
    is_due = abs(now - failed.last_at) > RETRY_AFTER_S and failed.times < MAX_TIMED_RETRIES
    return failed.kind in _RETRY_LATER and is_due
