"""A thread that keeps the postings of a database current: after each transaction, and after a start.

Searches never wait for it. What it has not done yet, they read from the full-text table. Must not depend on FTS5.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import apsw

from gnod.errors import GnoError
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.keyword_index.postings import attachment, updating
from gnod.store.keyword_index.postings.builder import Builder
from gnod.store.keyword_index.postings.feed import Feed
from gnod.store.keyword_index.postings.files import Damaged
from gnod.store.keyword_index.postings.merging import worth_merging_at_rest
from gnod.store.keyword_index.postings.one_view import in_snapshot
from gnod.store.keyword_index.postings.versions import Postings
from gnod.store.keyword_index.postings.view import totals
from gnod.store.tables import changes

# Changes within this time are taken in together. In a burst the time is longer, so that there are fewer segments to
# merge.
_TOGETHER_S = 0.05
_BURST_S = 1.0
# Seconds to wait after a failure.
_RETRY_S = 60.0
# After this time without changes, segments are merged that would otherwise wait for more. It is longer than the time
# between two saves of an author.
REST_S = 3.0
# The process ends after this time without work.
IDLE_S = 10.0
# An index that shrinks below this share of the minimum size loses its postings.
_HYSTERESIS = 0.5

_log = logging.getLogger(__name__)


class Following:
    """`least`: the number of documents from which on an index has postings; None: never. To be made before the first
    write and read of the database, and closed before it is closed."""

    def __init__(
        self,
        database: Database,
        postings: Postings,
        builder: Builder,
        least: Callable[[], int | None],
        *,
        rest_s: float = REST_S,
        idle_s: float = IDLE_S,
    ) -> None:
        self._database = database
        self._postings = postings
        self._builder = builder
        self._least = least
        self._feed = Feed()
        self._closing = threading.Event()
        self._is_loaded = threading.Event()
        self._rest_s = rest_s
        self._idle_s = idle_s
        database.postings = postings
        postings.when_in_doubt = self.wake
        database.follow(self)
        self._thread = threading.Thread(target=self._run, name="gnod-postings", daemon=True)

    def start(self) -> None:
        self._feed.wake.set()
        self._thread.start()

    def wait_until_loaded(self, longest_s: float) -> None:
        """Wait until the postings that were there at the start are read, or cannot be."""
        self._is_loaded.wait(longest_s)

    def wake(self) -> None:
        """Look again: the least size may have changed, or files may be damaged."""
        self._feed.wake.set()

    def close(self) -> None:
        self._closing.set()
        self._builder.close()
        self._feed.wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def before_commit(self, connection: Connection) -> Callable[[], None]:
        clock = changes.present(connection).clock
        terms = attachment.take(connection)
        return lambda: self._feed.add(clock, terms)

    def _run(self) -> None:
        try:
            connection = self._database.open_reader()
        except (GnoError, apsw.Error):
            self._is_loaded.set()
            return  # the next reader reports it
        self._guarded(self._postings.load)
        self._is_loaded.set()
        while not self._closing.is_set():
            self._wait()
            self._feed.wake.clear()
            while not self._closing.is_set() and self._guarded(lambda: self._step(connection)):
                pass
            self._closing.wait(_BURST_S if self._builder.is_running else _TOGETHER_S)

    def _wait(self) -> None:
        """Wait for work; meanwhile merge what is left, and then end the process."""
        wake = self._feed.wake
        if wake.wait(self._rest_s):
            return
        while not wake.is_set() and self._guarded(self._tidy):
            pass
        if wake.is_set() or (self._builder.is_running and wake.wait(self._idle_s)):
            return
        self._builder.rest()
        wake.wait()

    def _tidy(self) -> bool:
        return updating.compact(self._postings, self._builder.perform, worth_merging_at_rest)

    def _guarded(self, work: Callable[[], object]) -> bool:
        """Run a step. Postings that cannot be used are deleted, and built again; on a full disk they wait."""
        try:
            return bool(work())
        except (OSError, apsw.Error) as error:
            if self._closing.is_set():
                return False
            _log.warning("postings.failed", extra={"fields": {"reason": f"{type(error).__name__}: {error}"}})
            self._closing.wait(_RETRY_S)
        except Damaged as error:
            _log.warning("postings.dropped", extra={"fields": {"reason": str(error)}})
            self._drop()
        except (ValueError, IndexError):
            _log.exception("postings.dropped")
            self._drop()
            self._closing.wait(_RETRY_S)
        self._feed.wake.set()
        return False

    def _step(self, connection: Connection) -> bool:
        self._postings.verify()
        if not in_snapshot(connection, self._wanted):
            return False
        more = updating.step(connection, self._postings, self._feed, self._builder.perform)
        return updating.compact(self._postings, self._builder.perform) or more

    def _wanted(self, connection: Connection) -> bool:
        least, (documents, _) = self._least(), totals(connection)
        has_some = self._postings.newest is not None
        if least is not None and documents >= least * (_HYSTERESIS if has_some else 1):
            return True
        if has_some:
            self._drop()
        self._feed.forget(changes.present(connection).clock)
        return False

    def _drop(self) -> None:
        self._builder.rest()  # the process can write only to this folder
        self._postings.drop()
