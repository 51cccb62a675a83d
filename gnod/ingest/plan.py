"""Compare the disk with the index: what has to be read, what has to go. Pure."""

from __future__ import annotations

from typing import NamedTuple

from gnod.ingest.walk import Listing
from gnod.store.documents import KnownFile
from gnod.store.failures import FailedFile

# What may go away by itself is tried again, at most this often.
RETRY_AFTER_S = 3600.0
MAX_TIMED_RETRIES = 5
_RETRY_ALWAYS = frozenset({"unreadable", "unstable", "vanished"})
_RETRY_LATER = frozenset({"timeout", "crashed", "memory"})


class Plan(NamedTuple):
    """Paths relative to the root. `read`: new or changed, small ones first, so that most is searchable early.
    `remove`: documents whose file is gone. `failing`: files that failed and look the same. `recovered`: failures that
    no longer have a file."""

    read: list[str]
    remove: list[str]
    recovered: list[str]
    unchanged: int
    failing: list[str]


def compare(listing: Listing, known: dict[str, KnownFile], failed: dict[str, FailedFile], now: float) -> Plan:
    """Return what makes the index equal the listing. What lies in an unreadable folder stays as it is."""
    read: list[str] = []
    failing: list[str] = []
    unchanged = 0
    for path, stat in listing.files.items():
        if path in known and known[path].stat == stat:
            unchanged += 1
        elif path in failed and failed[path].stat == stat and not _try_again(failed[path], now):
            failing.append(path)
        else:
            read.append(path)
    read.sort(key=lambda path: (listing.files[path].size, path))
    remove = [p for p in known if p not in listing.files and not _unknown(p, listing)]
    still_there = listing.files.keys() | listing.undecodable.keys() | listing.unreadable.keys()
    recovered = [p for p in failed if p not in still_there and not _unknown(p, listing)]
    return Plan(read, remove, recovered, unchanged, failing)


def _unknown(path: str, listing: Listing) -> bool:
    return any(not folder or path.startswith(f"{folder}/") for folder in listing.unreadable)


def _try_again(failed: FailedFile, now: float) -> bool:
    if failed.kind in _RETRY_ALWAYS:
        return True
    # A time that lies ahead was told by a clock that was wrong.
    is_due = abs(now - failed.last_at) > RETRY_AFTER_S and failed.times < MAX_TIMED_RETRIES
    return failed.kind in _RETRY_LATER and is_due
