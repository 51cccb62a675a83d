"""A subscriber that survives restarts of the daemon: it resumes from its clock and tracks the documents from
notifications alone."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from gnod.client import Client
from gnod.errors import GnoError
from gnod.protocol.subscription import IndexChanged


class Follower:
    """Follows in its own thread until `close`. `documents`: docids by URI."""

    def __init__(self, socket: Path) -> None:
        self.documents: dict[str, str] = {}
        self.clock = 0
        self.resumed = 0
        self.resets = 0
        self.surprise: BaseException | None = None
        self._socket = socket
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def equals(self, documents: dict[str, str], timeout_s: float = 10.0) -> bool:
        """Return whether it knows exactly these documents, now or within the time limit."""
        deadline = time.monotonic() + timeout_s
        while dict(self.documents) != documents:
            if self.surprise or time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def close(self) -> None:
        self._is_closed = True

    def _run(self) -> None:
        try:
            while not self._is_closed:
                try:
                    self._follow()
                except GnoError:
                    time.sleep(0.02)
        except BaseException as error:
            self.surprise = error

    def _follow(self) -> None:
        with Client.connect(socket=self._socket, start=False) as client, client.subscribe(since=self.clock) as changes:
            self.resumed += 1
            if changes.begun.reset:
                self._forget()
                self.clock = changes.begun.clock
            for changed in changes:
                self._take(changed)
                if self._is_closed:
                    return

    def _forget(self) -> None:
        self.resets += 1
        self.documents.clear()

    def _take(self, changed: IndexChanged) -> None:
        if changed.reset:
            self._forget()
        for each in changed.indexed:
            self.documents[each.uri] = each.docid
        for gone in changed.removed:
            self.documents.pop(gone.uri, None)
        for failed in changed.failed:
            if failed.docid:
                self.documents[failed.uri] = failed.docid
            else:
                self.documents.pop(failed.uri, None)
        self.clock = changed.clock
