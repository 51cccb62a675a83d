"""Which connections read postings, and which collect the terms that they store. Must not depend on views."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol
from weakref import WeakKeyDictionary

import apsw

from gnod.store.keyword_index.postings.versions import Postings, Version
from gnod.store.tables.records import Terms


class Remembering(Protocol):
    """A view: what it has read of the files is of use while a snapshot is read."""

    def remember(self) -> None: ...
    def forget(self) -> None: ...


@dataclass
class Attachment:
    """`view`: the view that was used last, its clock, and the version that it reads: segments are merged without a
    change of the database. `seen`: the view of the snapshot that is read now, or None if there is no view; empty until
    it is needed."""

    postings: Postings
    view: tuple[int, Version, Remembering] | None = None
    seen: list[Remembering | None] | None = None


_attachments: WeakKeyDictionary[apsw.Connection, Attachment] = WeakKeyDictionary()
_collected: WeakKeyDictionary[apsw.Connection, dict[int, Terms]] = WeakKeyDictionary()


def attach(connection: apsw.Connection, postings: Postings) -> None:
    """Let the connection, which must be a reader, use postings."""
    _attachments[connection] = Attachment(postings)


def detach(connection: apsw.Connection) -> None:
    """Let the connection read the full-text table only."""
    _attachments.pop(connection, None)


def of(connection: apsw.Connection) -> Attachment | None:
    return _attachments.get(connection)


@contextmanager
def one_snapshot(connection: apsw.Connection) -> Iterator[None]:
    """Let all reads meanwhile use the same view: they are in one transaction."""
    attached = of(connection)
    if attached is None:
        yield
        return
    attached.seen = []
    try:
        yield
    finally:
        for view in attached.seen:
            if view is not None:
                view.forget()
        attached.seen = None


@contextmanager
def without_postings(connection: apsw.Connection) -> Iterator[None]:
    """Let all reads meanwhile use the full-text table only."""
    attached = _attachments.pop(connection)
    try:
        yield
    finally:
        _attachments[connection] = attached


def doubt(connection: apsw.Connection) -> bool:
    """Let the files of the view be verified that was read last. Returns whether there are any, and somebody does it."""
    attached = of(connection)
    if attached is None or attached.view is None:
        return False
    attached.view = None
    return attached.postings.doubt()


def collect(connection: apsw.Connection) -> None:
    """Keep the terms that are stored from now on."""
    _collected[connection] = {}


def add(connection: apsw.Connection, terms: dict[int, Terms]) -> None:
    if connection in _collected:
        _collected[connection].update(terms)


def take(connection: apsw.Connection) -> dict[int, Terms]:
    """Return the terms that were stored since the last call."""
    terms = _collected[connection]
    _collected[connection] = {}
    return terms
