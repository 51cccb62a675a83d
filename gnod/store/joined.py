"""Indexes beside the one that is read: replicas of shared collections. Reads of documents by id go to the right one.

Every index has a range of ids of its own: the upper bits are its number, 0 for the local index. A read joins others for
as long as it runs, so a search in the local index alone never sees them. Must not depend on engines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from weakref import WeakKeyDictionary

import apsw

SHIFT = 40


class Other(NamedTuple):
    """`languages`: of all documents of the collection, of which the index may hold only some."""

    connection: apsw.Connection
    languages: tuple[str, ...] = ()


_NONE: Mapping[int, Other] = {}
_joined: WeakKeyDictionary[apsw.Connection, Mapping[int, Other]] = WeakKeyDictionary()


@contextmanager
def joined(connection: apsw.Connection, others: Mapping[int, Other]) -> Iterator[None]:
    """Let reads of `connection` also see the documents of others, by number."""
    _joined[connection] = others
    try:
        yield
    finally:
        del _joined[connection]


def others(connection: apsw.Connection) -> Mapping[int, Other]:
    return _joined.get(connection, _NONE)


def number_of(document_id: int) -> int:
    """Return the number of the index that has a document."""
    return document_id >> SHIFT


def each(connection: apsw.Connection) -> Iterator[apsw.Connection]:
    """Yield the connection itself, then those that are joined."""
    yield connection
    for other in others(connection).values():
        yield other.connection


def split(connection: apsw.Connection, ids: Collection[int]) -> list[tuple[apsw.Connection, list[int]]]:
    """Return the ids by the index that has them, each in their order; those of unknown indexes are left out."""
    known = others(connection)
    if not known:
        return [(connection, list(ids))]
    groups: dict[int, list[int]] = {}
    for id_ in ids:
        groups.setdefault(number_of(id_), []).append(id_)
    of = {0: connection, **{number: other.connection for number, other in known.items()}}
    return [(of[number], group) for number, group in groups.items() if number in of]
