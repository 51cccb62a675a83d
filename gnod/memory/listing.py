"""List memories page by page, the latest first, for lists and exports; and shorten their texts for lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gnod.errors import InvalidParams
from gnod.memory.memories import Memories
from gnod.memory.recalling.keywords import folded
from gnod.memory.records import Memory
from gnod.memory_types import checked_type

# A page of whole texts must fit into a message, even in JSON. The last batch may exceed this limit.
_MAX_CHARACTERS = 500_000
_OPENED_AT_A_TIME = 10

PREVIEW_CHARACTERS = 240
# Results with a score above this, and shorter than this, are shown whole, because readers open them in any case.
_WHOLE_ABOVE = 0.80
_WHOLE_BELOW_CHARACTERS = 2048
_ELLIPSIS = "…"


class MemoryPage(NamedTuple):
    """`total`: the number on all pages. `cursor`: for the next page; None on the last one. `notes`: sentences that name
    damaged memories."""

    memories: list[Memory]
    total: int
    cursor: str | None
    notes: list[str]


async def page(
    memories: Memories,
    *,
    namespaces: Sequence[str],
    types: Sequence[str],
    topics: Sequence[str],
    since_ms: int | None = None,
    limit: int,
    cursor: str | None,
) -> MemoryPage:
    """Return up to `limit` memories after the cursor, of any of the namespaces and types (empty: all) and with all of
    the topics. `since_ms`: return only those that were stored, changed or superseded since then. Raises MemoryNotFound
    for a namespace, InvalidName for a type, InvalidParams for a cursor."""
    chosen = {checked_type(name) for name in types}
    resident = memories.resident
    having = resident.having([memories.sealer.lookup("topic", folded(topic)) for topic in topics])
    places = sorted(
        (-row.created_ms, -row.id)
        for row in resident.rows(memories.namespace_ids(namespaces))
        if (not chosen or row.type in chosen)
        and (having is None or row.id in having)
        and (since_ms is None or row.updated_ms >= since_ms)
    )
    start = _parse(cursor) if cursor else None
    left = [place for place in places if start is None or place > start]
    taken = [-id_ for _, id_ in left[:limit]]
    listed: list[Memory] = []
    done = 0
    while done < len(taken) and sum(len(memory.text) for memory in listed) < _MAX_CHARACTERS:
        batch = taken[done : done + _OPENED_AT_A_TIME]
        opened = await memories.open_all(batch)
        listed += [opened[id_] for id_ in batch if id_ in opened]
        done += len(batch)
    is_last = done == len(left)
    damage = memories.damage_note(taken[:done])
    return MemoryPage(listed, len(places), None if is_last else _cursor(left[done - 1]), [damage] if damage else [])


def _cursor(place: tuple[int, int]) -> str:
    """Return the cursor of a place. It stays valid if the memory there is removed."""
    return f"{-place[0]}.{-place[1]}"


def _parse(cursor: str) -> tuple[int, int]:
    created_ms, _, id_ = cursor.partition(".")
    try:
        return -int(created_ms), -int(id_)
    except ValueError:
        raise InvalidParams("parameter 'cursor': not a cursor of memory.list", {"parameter": "cursor"}) from None


def preview(text: str, score: float = 0.0, rank: int = 0, whole: int = 0) -> tuple[str, bool]:
    """Return the text to show for the memory at `rank` (from 0), and whether it is complete. Only the first `whole`
    memories may be shown whole.

    >>> preview("one two three " * 30, 0.81, 0, 3)[1], preview("one two three " * 30, 0.80, 0, 3)[1]
    (True, False)
    """
    is_good = rank < whole and score > _WHOLE_ABOVE and len(text) < _WHOLE_BELOW_CHARACTERS
    if is_good or len(text) <= PREVIEW_CHARACTERS:
        return text, True
    room = PREVIEW_CHARACTERS - len(_ELLIPSIS)
    head = text[:room]
    if not text[room].isspace():
        head = _whole_words(head)
    return head.rstrip() + _ELLIPSIS, False


def _whole_words(head: str) -> str:
    """Drop the word that was cut, unless it is most of the text."""
    words = head.rsplit(None, 1)
    return words[0] if len(words) == 2 and len(words[0]) > len(head) // 2 else head
