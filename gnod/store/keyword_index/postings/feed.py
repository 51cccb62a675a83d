"""The terms of documents that were just stored, for the postings. Must not depend on the postings or the database.

They are kept until the postings have them, so that a text need not be analysed twice. Their number is limited; if some
are missing, the texts are analysed again.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import NamedTuple
from weakref import WeakKeyDictionary

from gnod.store.connection import Connection
from gnod.store.tables.records import Terms

# The maximum in characters: a few batches of a sync.
_MOST = 32 * 1024 * 1024
# By writer, the terms that its transaction has stored so far.
_collected: WeakKeyDictionary[Connection, dict[int, Terms]] = WeakKeyDictionary()


def collect(connection: Connection) -> None:
    """Keep the terms that are stored from now on."""
    _collected[connection] = {}


def add(connection: Connection, terms: dict[int, Terms]) -> None:
    if connection in _collected:
        _collected[connection].update(terms)


def take(connection: Connection) -> dict[int, Terms]:
    """Return the terms that were stored since the last call."""
    terms = _collected[connection]
    _collected[connection] = {}
    return terms


class StoredTerms(NamedTuple):
    """The terms of a document that a transaction stored. `clock`: the last one of that transaction; a document that
    changed later has other terms."""

    clock: int
    terms: Terms


class Feed:
    """Any thread may use it. `wake` is set after each transaction."""

    def __init__(self) -> None:
        self.wake = threading.Event()
        self._lock = threading.Lock()
        self._stored: deque[tuple[int, int, dict[int, Terms]]] = deque()
        self._characters = 0

    def add(self, clock: int, terms: dict[int, Terms]) -> None:
        """Keep the terms that a transaction stored, which advanced the clock to `clock`."""
        characters = sum(len(each.body) + len(each.title) + len(each.filepath) for each in terms.values())
        with self._lock:
            self._stored.append((clock, characters, terms))
            self._characters += characters
            while self._characters > _MOST:
                self._drop_first()
        self.wake.set()

    def up_to(self, clock: int) -> dict[int, StoredTerms]:
        """Return the latest terms of the documents that were stored up to a clock: as far as they are known, since a
        transaction may have been committed and its terms not be here yet."""
        with self._lock:
            return {
                id_: StoredTerms(at, terms)
                for at, _, stored in self._stored
                if at <= clock
                for id_, terms in stored.items()
            }

    def forget(self, clock: int) -> None:
        """Forget what was stored up to a clock."""
        with self._lock:
            while self._stored and self._stored[0][0] <= clock:
                self._drop_first()

    def _drop_first(self) -> None:
        _, characters, _ = self._stored.popleft()
        self._characters -= characters
