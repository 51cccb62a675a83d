"""Compare the disk with the index: what must be read, what must be removed. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gnod.ingest.walk import Listing
from gnod.store.documents.failures import FailedFile
from gnod.store.documents.records import FileStat

# Failures that may be temporary are tried again, at most this often.
RETRY_AFTER_S = 3600.0
MAX_TIMED_RETRIES = 5
_RETRY_ALWAYS = frozenset({"unreadable", "unstable", "vanished"})
_RETRY_LATER = frozenset({"timeout", "crashed", "memory"})


class Plan(NamedTuple):
    """Paths relative to the root. `read`: new or changed files, small ones first, so that most are searchable early.
    `remove`: documents without a file. `failing`: unchanged files that failed. `recovered`: failures without a file."""

    read: list[str]
    remove: list[str]
    recovered: list[str]
    unchanged: int
    failing: list[str]


def compare(listing: Listing, known: Iterable[tuple[str, FileStat]], failed: dict[str, FailedFile], now: float) -> Plan:
    """Return what makes the index equal to the listing. The content of unreadable folders stays. `known`: the indexed
    files, of which there may be a million; nothing of them is kept."""
    read: list[str] = []
    remove: list[str] = []
    failing: list[str] = []
    left = dict(listing.files)
    for path, stat in known:
        if left.get(path) == stat:
            del left[path]
        elif path not in listing.files and not _unknown(path, listing):
            remove.append(path)
    unchanged = len(listing.files) - len(left)
    for path, stat in left.items():
        if path in failed and failed[path].stat == stat and not _is_retried(failed[path], now):
            failing.append(path)
        else:
            read.append(path)
    # Of about the same size by path, as the index has them: else each transaction changes most pages of a large one.
    read.sort(key=lambda path: (listing.files[path].size.bit_length(), path))
    there = (listing.files, listing.undecodable, listing.unreadable)
    recovered = [p for p in failed if not any(p in each for each in there) and not _unknown(p, listing)]
    return Plan(read, remove, recovered, unchanged, failing)


def _unknown(path: str, listing: Listing) -> bool:
    return any(not folder or path.startswith(f"{folder}/") for folder in listing.unreadable)


def _is_retried(failed: FailedFile, now: float) -> bool:
    if failed.kind in _RETRY_ALWAYS:
        return True
    # A time in the future comes from a wrong clock.
    is_due = abs(now - failed.last_at) > RETRY_AFTER_S and failed.times < MAX_TIMED_RETRIES
    return failed.kind in _RETRY_LATER and is_due
