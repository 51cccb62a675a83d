"""Run a thread that updates the postings of a database after each transaction and after a start.

Searches never wait for it. They read changes that the postings lack from the full-text table. Must not depend on FTS5.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import apsw

from gnod.errors import GnoError
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.keyword_index.postings import updating
from gnod.store.keyword_index.postings.builder import Builder
from gnod.store.keyword_index.postings.feed import Feed
from gnod.store.keyword_index.postings.segment import Damaged
from gnod.store.keyword_index.postings.versions import Postings

# Changes within this time are added together. In a burst the time is longer, so that there are fewer segments to merge.
_TOGETHER_S = 0.05
_BURST_S = 1.0
# Seconds to wait after a failure.
_RETRY_S = 60.0
# The process ends after this many seconds without work.
IDLE_S = 10.0

_log = logging.getLogger(__name__)


class Following:
    """Create this before the first write or read of the database, and close it before the database is closed."""

    def __init__(self, database: Database, postings: Postings, builder: Builder, *, idle_s: float = IDLE_S) -> None:
        self._database = database
        self._postings = postings
        self._builder = builder
        self._feed = Feed()
        self._closing = threading.Event()
        self._is_loaded = threading.Event()
        self._idle_s = idle_s
        database.postings = postings
        postings.when_in_doubt = self._feed.wake.set
        database.follow(self._feed)
        self._thread = threading.Thread(target=self._run, name="gnod-postings", daemon=True)

    def start(self) -> None:
        self._feed.wake.set()
        self._thread.start()

    def wait_until_loaded(self, longest_s: float) -> None:
        """Wait until the existing postings are read, or reading them has failed."""
        self._is_loaded.wait(longest_s)

    def close(self) -> None:
        self._closing.set()
        self._builder.close()
        self._feed.wake.set()
        if self._thread.is_alive():
            self._thread.join()

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
        """Wait for work. End the process if there is no work for a while."""
        wake = self._feed.wake
        if self._builder.is_running and not wake.wait(self._idle_s):
            self._builder.rest()
        wake.wait()

    def _guarded(self, work: Callable[[], object]) -> bool:
        """Run a step. Unusable postings are deleted and built again. On a full disk, they are kept for another try."""
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
        more = updating.step(connection, self._postings, self._feed, self._builder.perform)
        return updating.compact(self._postings, self._builder.perform) or more

    def _drop(self) -> None:
        self._builder.rest()  # the process can write only to this folder
        self._postings.drop()
