"""Pass the terms of newly stored documents to the postings. Must not depend on the postings or the database.

Terms are kept until the postings have them, so that a text need not be analysed twice. Their number is limited. If
terms are missing, the texts are analysed again.
"""

from __future__ import annotations

import threading
from collections import deque
from weakref import WeakKeyDictionary

from gnod.store.connection import Connection
from gnod.store.tables.records import Terms

# The maximum number of characters: a few batches of a sync.
_MOST = 32 * 1024 * 1024


class Feed:
    """Only the writer thread may call `begin`, `note` and `committed`; any thread may call the others. `wake` is set
    after each transaction."""

    def __init__(self) -> None:
        self.wake = threading.Event()
        self._lock = threading.Lock()
        self._noted: dict[int, Terms] = {}
        self._stored: deque[tuple[int, int, dict[int, Terms]]] = deque()
        self._characters = 0

    def begin(self) -> None:
        """Drop the terms of a transaction that failed."""
        self._noted = {}

    def note(self, terms: dict[int, Terms]) -> None:
        """Add terms that the current transaction stores."""
        self._noted.update(terms)

    def committed(self, clock: int) -> None:
        """Keep the terms of a transaction that advanced the clock to `clock`."""
        terms = self._noted
        characters = sum(
            len(document.body) + len(document.title) + len(document.filepath) for document in terms.values()
        )
        with self._lock:
            self._stored.append((clock, characters, terms))
            self._characters += characters
            while self._characters > _MOST:
                self._drop_first()
        self.wake.set()

    def up_to(self, clock: int) -> dict[int, tuple[int, Terms]]:
        """Return the known terms of the documents that were stored up to a clock, with the last clock of their
        transaction. Terms may be missing: they arrive a little after the commit. A document that changed later has
        other terms."""
        with self._lock:
            return {id_: (at, terms) for at, _, stored in self._stored if at <= clock for id_, terms in stored.items()}

    def forget(self, clock: int) -> None:
        """Drop the terms that were stored up to a clock."""
        with self._lock:
            while self._stored and self._stored[0][0] <= clock:
                self._drop_first()

    def _drop_first(self) -> None:
        _, characters, _ = self._stored.popleft()
        self._characters -= characters


# The feeds of writing connections.
_feeds: WeakKeyDictionary[Connection, Feed] = WeakKeyDictionary()


def follow(connection: Connection, feed: Feed) -> None:
    """Give a feed the terms that the connection stores from now on."""
    _feeds[connection] = feed


def note(connection: Connection, terms: dict[int, Terms]) -> None:
    if feed := _feeds.get(connection):
        feed.note(terms)
