"""Wait until a daemon is quiescent, and compare its index with the disk and with what a subscriber received."""

from __future__ import annotations

import time
from typing import Any

from tests.end_to_end.index_faults import drift, faults_when_quiet
from tests.machine import Machine
from tests.stress.follower import Follower

_CALM_CHECKS = 4


def wait_until_quiescent(machine: Machine, limit_s: float) -> str | None:
    """Wait until the daemon has indexed and embedded all changes by itself: the calls here do not make it check the
    disk. Returns the reason when the time limit passes first."""
    deadline = time.monotonic() + limit_s
    calm = 0
    while calm < _CALM_CHECKS:
        freshness = machine.call("search.lexical", query="harbour")["freshness"]
        calm = 0 if freshness["pending"] or freshness["unwatched"] else calm + 1
        if calm == _CALM_CHECKS // 2 and not _embed(machine, deadline):
            return "the daemon does not embed all pending chunks"
        if time.monotonic() > deadline:
            return f"the daemon does not index all changes: {freshness}"
        time.sleep(0.1)
    return None


def faults_when_quiescent(machine: Machine, follower: Follower, listed: list[dict[str, Any]]) -> list[str]:
    """Return the differences; `listed`: the daemon's list of documents."""
    found = drift(machine.database, {"notes": machine.notes}) + faults_when_quiet(machine.database)
    there = {str(each["uri"]): str(each["docid"]) for each in listed}
    if not follower.equals(there):
        known = follower.documents
        differing = [uri for uri in known.keys() | there.keys() if known.get(uri) != there.get(uri)]
        found.append(f"the subscriber did not receive all changes: {differing[:5]}, {follower.surprise}")
    return found


def _embed(machine: Machine, deadline: float) -> bool:
    while True:
        try:
            machine.call("index.embed")
            return True
        except ConnectionError:  # it takes longer than the call's time limit
            if time.monotonic() > deadline:
                return False
