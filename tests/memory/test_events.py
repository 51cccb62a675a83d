"""Small memories of one event are one result."""

from __future__ import annotations

import numpy as np

from gnod.memory.recalling.events import Group, groups
from gnod.memory.records import Memory, Vector

HOUR_MS = 3_600_000


def memory(id_: int, text: str, *, time_ms: int = 0, namespace: str = "personal", type_: str = "fact") -> Memory:
    return Memory(id_, f"m{id_}", namespace, type_, time_ms, time_ms, text, [])


def vectors(*cosines: float) -> dict[int, Vector]:
    """Vectors of the memories 1, 2, …, with these cosines to the first."""
    rows = [np.asarray([cosine, (1 - cosine**2) ** 0.5], np.float32) for cosine in cosines]
    return dict(enumerate(rows, 1))


def folded(found: list[Group]) -> dict[int, list[int]]:
    return {each.id: each.folded for each in found}


def test_of_one_event_and_near_duplicates() -> None:
    ranked = [
        memory(1, "deploy began"),
        memory(2, "deploy is running", time_ms=HOUR_MS),
        memory(3, "deploy in spring", time_ms=30 * HOUR_MS),
        memory(4, "Deploy began.", time_ms=30 * HOUR_MS),
        memory(5, "lunch"),
    ]
    assert folded(groups(ranked, vectors(1.0, 0.9, 0.9, 0.99, 0.1))) == {1: [2, 4], 3: [], 5: []}


def test_what_stays_apart() -> None:
    same = vectors(1.0, 1.0)

    def apart(one: Memory, other: Memory) -> bool:
        return len(groups([one, other], same)) == 2

    deploy = memory(1, "deploy at 14:00 of E4711")
    assert not apart(deploy, memory(2, "deploy at 15:00 of E4711"))
    assert apart(deploy, memory(2, "deploy at 14:00 of E4712"))
    assert apart(deploy, memory(2, deploy.text, namespace="team"))
    assert apart(deploy, memory(2, deploy.text, type_="fact_done")), "what is superseded is not the same"
    assert apart(deploy, memory(3, deploy.text)), "it has no vector"
