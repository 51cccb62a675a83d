"""Files with the same bytes are one result: the best-ranked, and of equals the one with the shortest path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from gnod.store.connection import Connection
from gnod.store.tables import copies
from gnod.store.tables.copies import CopyGroup


class _Ranked(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def score(self) -> float: ...


R = TypeVar("R", bound=_Ranked)


def without_copies(connection: Connection, ranked: Sequence[R]) -> list[R]:
    """Return the documents, best first, each content once."""
    known = copies.among(connection, [each.id for each in ranked])
    if not known:
        return list(ranked)
    shown: dict[int | str, R] = {}
    for each in ranked:
        copy = known.get(each.id)
        key = copy.source_hash if copy else each.id
        first = shown.setdefault(key, each)
        if copy and first is not each and first.score == each.score and copy.order < known[first.id].order:
            shown[key] = each  # it takes the place of the first copy
    return list(shown.values())


class Representatives(NamedTuple):
    """`by_id`: for each document that is a copy of one before it, that one. `copies`: all that may have copies."""

    by_id: dict[int, int]
    copies: dict[int, CopyGroup]

    def of(self, id_: int) -> int:
        return self.by_id.get(id_, id_)

    def have_one_text(self, id_: int, other: int) -> bool:
        return id_ == other or self.copies[id_].mirror_hash == self.copies[other].mirror_hash


def representatives(connection: Connection, ids: Iterable[int]) -> Representatives:
    """Choose the first document of each content, so that several rankings can name the same one."""
    ordered = list(dict.fromkeys(ids))
    known = copies.among(connection, ordered)
    first: dict[str, int] = {}
    found = {id_: first.setdefault(known[id_].source_hash, id_) for id_ in ordered if id_ in known}
    return Representatives({id_: shown for id_, shown in found.items() if id_ != shown}, known)
