"""Let a daemon come to rest, and compare what it says with the disk, and with what a subscriber was told."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.follower import Follower
from tests.end_to_end.conftest import Machine
from tests.end_to_end.index_faults import drift, faults_when_quiet

_CALM_LOOKS = 4


def come_to_rest(machine: Machine, limit_s: float) -> str | None:
    """Wait until changes are taken in and embedded; nobody is asked to look at the disk. Returns why it did not come
    to that in the time, when it did not."""
    deadline = time.monotonic() + limit_s
    calm = 0
    while calm < _CALM_LOOKS:
        freshness = machine.call("search.lexical", query="harbour")["freshness"]
        calm = 0 if freshness["pending"] or freshness["unwatched"] else calm + 1
        if calm == _CALM_LOOKS // 2 and not _embed(machine, deadline):
            return "it does not embed all that is pending"
        if time.monotonic() > deadline:
            return f"it does not take in all changes: {freshness}"
        time.sleep(0.1)
    return None


def faults_at_rest(machine: Machine, follower: Follower, listed: list[dict[str, Any]]) -> list[str]:
    """Return what is not as it should be; `listed`: the documents as the daemon lists them."""
    found = drift(machine.database, {"notes": machine.notes}) + faults_when_quiet(machine.database)
    there = {str(each["uri"]): str(each["docid"]) for each in listed}
    if not follower.equals(there):
        known = follower.documents
        differing = [uri for uri in known.keys() | there.keys() if known.get(uri) != there.get(uri)]
        found.append(f"the subscriber was not told all: {differing[:5]}, {follower.surprise}")
    return found


def _embed(machine: Machine, deadline: float) -> bool:
    while True:
        try:
            machine.call("index.embed")
            return True
        except ConnectionError:  # it takes longer than a call may
            if time.monotonic() > deadline:
                return False
