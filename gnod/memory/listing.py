"""Memories page by page, the latest first: what lists and exports are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gnod.errors import InvalidParams
from gnod.memory import kinds
from gnod.memory.keywords import folded
from gnod.memory.memories import Memories
from gnod.memory.records import Memory

# A page of whole texts must fit into a message; the last may go beyond.
_MAX_CHARACTERS = 1_000_000
# Of what is opened at once, to see how much fits.
_OPENED_AT_A_TIME = 50


class Wanted(NamedTuple):
    """Which ones. `namespaces` and `kinds`: any of them, all when empty; `topics`: those that have all of them."""

    namespaces: Sequence[str]
    kinds: Sequence[str]
    topics: Sequence[str]


class Page(NamedTuple):
    """`total`: on all pages. `cursor`: of the next page; None: this is the last."""

    memories: list[Memory]
    total: int
    cursor: str | None


async def page(memories: Memories, wanted: Wanted, limit: int, cursor: str | None) -> Page:
    """Return up to `limit` memories behind the cursor. Raises MemoryNotFound for a namespace, InvalidName for a type,
    InvalidParams for a cursor that is none, MemoryDamaged."""
    wanted_kinds = {kinds.checked(kind) for kind in wanted.kinds}
    resident = memories.resident
    having = resident.having([memories.sealer.lookup("topic", folded(topic)) for topic in wanted.topics])
    places = sorted(
        (-row.created_ms, -row.id)
        for row in resident.rows(memories.namespace_ids(wanted.namespaces))
        if (not wanted_kinds or row.kind in wanted_kinds) and (having is None or row.id in having)
    )
    behind = _read(cursor) if cursor else None
    left = [place for place in places if behind is None or place > behind][: limit + 1]
    found: list[Memory] = []
    characters = 0
    for start in range(0, min(limit, len(left)), _OPENED_AT_A_TIME):
        ids = [-id_ for _, id_ in left[start : min(limit, start + _OPENED_AT_A_TIME)]]
        opened = await memories.open_all(ids)
        for id_ in ids:
            if id_ in opened:  # one may be gone in this moment
                found.append(opened[id_])
                characters += len(opened[id_].text)
                if characters > _MAX_CHARACTERS:
                    return Page(found, len(places), _written(found[-1]))
    is_last = len(left) <= limit or not found
    return Page(found, len(places), None if is_last else _written(found[-1]))


def _written(memory: Memory) -> str:
    """Return where a page ends: a place that stays even when the memory goes."""
    return f"{memory.created_ms}.{memory.id}"


def _read(cursor: str) -> tuple[int, int]:
    created_ms, _, id_ = cursor.partition(".")
    try:
        return -int(created_ms), -int(id_)
    except ValueError:
        raise InvalidParams("parameter 'cursor': not one that memory.list answered", {"parameter": "cursor"}) from None
