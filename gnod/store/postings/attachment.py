"""Which connections read postings, and which collect the terms that they store. Knows no view."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import apsw

from gnod.store.documents.records import Terms
from gnod.store.postings.versions import Postings


@dataclass
class Attachment:
    """`view`: the view that was used last, and its clock."""

    postings: Postings
    view: tuple[int, object] | None = None


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
