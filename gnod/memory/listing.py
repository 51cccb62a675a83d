"""Memories page by page, the latest first: what lists and exports are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gnod.errors import InvalidParams
from gnod.memory import kinds
from gnod.memory.keywords import folded
from gnod.memory.memories import Memories
from gnod.memory.records import Memory

# A page of whole texts must fit into a message, whatever JSON makes of them: the last batch may go beyond.
_MAX_CHARACTERS = 500_000
_OPENED_AT_A_TIME = 10


class Wanted(NamedTuple):
    """Which ones. `namespaces` and `kinds`: any of them, all when empty; `topics`: those that have all of them."""

    namespaces: Sequence[str]
    kinds: Sequence[str]
    topics: Sequence[str]


class Page(NamedTuple):
    """`total`: on all pages. `cursor`: of the next page; None: this is the last. `notes`: what does not open."""

    memories: list[Memory]
    total: int
    cursor: str | None
    notes: list[str]


async def page(memories: Memories, wanted: Wanted, limit: int, cursor: str | None) -> Page:
    """Return up to `limit` memories behind the cursor. Raises MemoryNotFound for a namespace, InvalidName for a type,
    InvalidParams for a cursor that is none."""
    wanted_kinds = {kinds.checked(kind) for kind in wanted.kinds}
    resident = memories.resident
    having = resident.having([memories.sealer.lookup("topic", folded(topic)) for topic in wanted.topics])
    places = sorted(
        (-row.created_ms, -row.id)
        for row in resident.rows(memories.namespace_ids(wanted.namespaces))
        if (not wanted_kinds or row.kind in wanted_kinds) and (having is None or row.id in having)
    )
    behind = _read(cursor) if cursor else None
    left = [place for place in places if behind is None or place > behind]
    taken = [-id_ for _, id_ in left[:limit]]
    found: list[Memory] = []
    looked_at = 0
    while looked_at < len(taken) and sum(len(memory.text) for memory in found) < _MAX_CHARACTERS:
        batch = taken[looked_at : looked_at + _OPENED_AT_A_TIME]
        opened = await memories.open_all(batch)
        found += [opened[id_] for id_ in batch if id_ in opened]
        looked_at += len(batch)
    is_last = looked_at == len(left)
    damage = memories.damage_note(taken[:looked_at])
    return Page(found, len(places), None if is_last else _written(left[looked_at - 1]), [damage] if damage else [])


def _written(place: tuple[int, int]) -> str:
    """Return where a page ends: a place that stays even when the memory goes."""
    return f"{-place[0]}.{-place[1]}"


def _read(cursor: str) -> tuple[int, int]:
    created_ms, _, id_ = cursor.partition(".")
    try:
        return -int(created_ms), -int(id_)
    except ValueError:
        raise InvalidParams("parameter 'cursor': not one that memory.list answered", {"parameter": "cursor"}) from None
