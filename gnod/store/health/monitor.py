"""Check whether the file of the index is still the same file, and intact.

A missing, replaced or damaged file is reopened. A file that cannot be read or written may recover, and stays open. The
commands status and doctor show the problems.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from datetime import datetime
from functools import partial
from pathlib import Path

from gnod.errors import GnoError
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.faults import FileIdentity, identify
from gnod.store.health import damage

_log = logging.getLogger(__name__)


class StorageMonitor:
    """Call `check` regularly in the event loop's thread. It is cheap. `reopen` closes the index, runs a function, and
    opens the index again."""

    def __init__(self, database: Database, reopen: Callable[[Callable[[], None]], None]) -> None:
        self._database = database
        self._reopen_index = reopen
        self._loop = asyncio.get_running_loop()
        self._is_reopening = False
        self._trial: Future[None] | None = None
        self._away: str | None = None
        self._given_up: str | None = None
        database.damaged.connect(self._report_damage)
        if database.unclean_shutdown:
            database.submit_read(damage.find).add_done_callback(self._checked)

    def check(self) -> None:
        """Reopen the index if its path has another file than the open one."""
        if self._is_reopening:
            return
        try:
            found = identify(self._database.path)
        except OSError:
            return  # reads and writes will report the error
        self._away = None
        if found == self._database.file_identity:
            self._try_to_write()
            return
        path = self._database.path
        if found.device != self._database.file_identity.device:
            self._away = f"the drive that holds {path} is not mounted: changes are indexed when it is back"
            return
        _log.warning("index.replaced", extra={"fields": {"main": found.main == self._database.file_identity.main}})
        self._reopen(partial(_delete_companions, path, self._database.file_identity))

    def damaged(self) -> None:
        """Quarantine a damaged index, and rebuild it from the folders."""
        self.check()  # a missing file causes the same errors
        if self._is_reopening or self._given_up or self._away:
            return
        path = self._database.path
        if damage.happens_too_often(path):
            self._given_up = damage.too_often(path)
            _log.error("index.damaged_too_often")
            return
        _log.error("index.damaged", extra={"fields": {"database": str(path)}})
        self._reopen(partial(damage.renew, path))

    def problems(self) -> list[str]:
        """Return the current problems."""
        failure = self._database.failure
        return [text for text in (self._away, self._given_up, failure and failure.message) if text]

    def notes(self) -> list[str]:
        """Return a note for each quarantined index, until it is deleted."""
        return [_note(*each) for each in damage.quarantined(self._database.path)]

    def _try_to_write(self) -> None:
        """After a failed write, find out whether writes work again."""
        if self._database.failure and (self._trial is None or self._trial.done()):
            self._trial = self._database.submit_write(_write_nothing)

    def _reopen(self, before: Callable[[], None]) -> None:
        self._is_reopening = True
        self._reopen_index(before)

    def _report_damage(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self.damaged)

    def _checked(self, check: Future[str | None]) -> None:
        with contextlib.suppress(GnoError, CancelledError):  # such damage was reported already
            found = check.result()
            _log.info("index.checked", extra={"fields": {"found": found}})
            if found is not None:
                self._report_damage()


def _write_nothing(connection: Connection) -> None:
    connection.execute("UPDATE schema_meta SET value = value")


def _delete_companions(path: Path, opened: FileIdentity) -> None:
    """Delete the -wal and -shm files of a missing database. Its replacement must not use them."""
    found = identify(path)
    if found.main == opened.main:
        return
    for suffix, ours, theirs in (("-wal", opened.wal, found.wal), ("-shm", opened.shm, found.shm)):
        if theirs is not None and theirs == ours:
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def _note(aside: Path, reason: damage.Reason) -> str:
    when = datetime.fromtimestamp(aside.stat().st_ctime).astimezone().strftime("%Y-%m-%d %H:%M")
    return (
        f"the index was {reason} and rebuilt on {when}; the {reason} file is {aside}: "
        "`gnoctl cleanup` deletes it and this message"
    )
