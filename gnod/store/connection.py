"""Define the arguments of the store's functions: a connection, or a way to read. Opens no file, and has no table.

During one piece of work, a reader may also see other indexes. Each index has a range of ids for its documents: the
upper bits are the index's number, which is 0 for the reader's own index. A function that is marked `by_id` reads each
document from the index that has it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, cast
from weakref import WeakKeyDictionary

import apsw
import msgspec

T = TypeVar("T")
P = ParamSpec("P")
Connection = apsw.Connection
# The number of lower bits of an id, which identify the document in its index.
ID_BITS = 40


class Read(Protocol):
    """Runs work on a reader thread, for coroutines."""

    def __call__(self, work: Callable[[Connection], T], /) -> Awaitable[T]: ...


class Other(NamedTuple):
    """Another index that a reader sees. `languages`: of its documents, and of the documents that it represents."""

    connection: Connection
    languages: tuple[str, ...] = ()


_beside: WeakKeyDictionary[Connection, Mapping[int, Other]] = WeakKeyDictionary()


def json_list(values: Iterable[object]) -> str:
    """Return values for `json_each` in a statement."""
    return msgspec.json.encode(list(values)).decode()


@contextmanager
def beside(connection: Connection, others: Mapping[int, Other]) -> Iterator[None]:
    """Let reads of `connection` also see the documents of `others`, which maps numbers to indexes."""
    _beside[connection] = others
    try:
        yield
    finally:
        del _beside[connection]


def index_of(document_id: int) -> int:
    """Return the number of the index that has a document."""
    return document_id >> ID_BITS


def languages_beside(connection: Connection) -> set[str]:
    """Return the languages of the other indexes that a reader sees."""
    return {language for other in _beside.get(connection, {}).values() for language in other.languages}


def by_id(
    read: Callable[Concatenate[Connection, Collection[int], P], T],
) -> Callable[Concatenate[Connection, Collection[int], P], T]:
    """Mark a function that reads documents by id. It runs in each index that has some of them, and the results
    (dictionaries, sets or lists) are joined. Documents of unknown indexes are left out."""

    @wraps(read)
    def read_each(connection: Connection, ids: Collection[int], /, *args: P.args, **options: P.kwargs) -> T:
        found: Any = None
        for index, some in _by_index(connection, ids):
            more: Any = read(index, some, *args, **options)
            if found is None:
                found = more
            else:
                found = found + more if isinstance(more, list) else found | more
        return cast(T, found)

    return read_each


def in_each(read: Callable[[Connection], list[T]]) -> Callable[[Connection], list[T]]:
    """Mark a function that lists contents of an index. It runs in all indexes that the reader sees."""

    @wraps(read)
    def read_all(connection: Connection, /) -> list[T]:
        others = [other.connection for other in _beside.get(connection, {}).values()]
        return [found for index in (connection, *others) for found in read(index)]

    return read_all


def from_any(read: Callable[Concatenate[Connection, P], T]) -> Callable[Concatenate[Connection, P], T]:
    """Mark a function that looks up content by its hash. It reads the first index that has the content."""

    @wraps(read)
    def read_first(connection: Connection, /, *args: P.args, **options: P.kwargs) -> T:
        found = read(connection, *args, **options)
        others = iter(_beside.get(connection, {}).values())
        while not found and (other := next(others, None)):
            found = read(other.connection, *args, **options)
        return found

    return read_first


def until_changed(read: Callable[[Connection], T]) -> Callable[[Connection], T]:
    """Keep what a function returns, for each connection, until another one changes the database."""
    known: WeakKeyDictionary[Connection, tuple[int, T]] = WeakKeyDictionary()

    @wraps(read)
    def current(connection: Connection, /) -> T:
        (version,) = connection.execute("PRAGMA data_version").fetchone() or (0,)
        kept = known.get(connection)
        if kept is None or kept[0] != version:
            kept = known[connection] = (version, read(connection))
        return kept[1]

    return current


def _by_index(connection: Connection, ids: Collection[int]) -> list[tuple[Connection, Collection[int]]]:
    """Group ids by index, in their order. The reader's own index is always included."""
    others = _beside.get(connection)
    if not others:
        return [(connection, ids)]
    groups: dict[int, list[int]] = {0: []}
    for id_ in ids:
        groups.setdefault(index_of(id_), []).append(id_)
    connections = {0: connection, **{number: other.connection for number, other in others.items()}}
    return [(connections[number], some) for number, some in groups.items() if number in connections]
