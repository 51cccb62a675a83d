"""Looks after the file of the index while it is served: that it is still there, and that it is whole.

What is wrong is said in status and doctor. A file that is gone, or another one, or damaged, is opened anew through
`Control.reopen`; what is merely not to be read or written now is left alone, because it may be well again any time.
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
from gnod.server.control import Control
from gnod.store import damage
from gnod.store.database import Connection, Database
from gnod.store.faults import Footing, footing_of

_log = logging.getLogger(__name__)


class Storage:
    """At work from its making. `look` is to be called now and then, in the event loop's thread; it costs next to
    nothing."""

    def __init__(self, database: Database, control: Control) -> None:
        self._database = database
        self._control = control
        self._loop = asyncio.get_running_loop()
        self._is_reopening = False
        self._trial: Future[None] | None = None
        self._away: str | None = None
        self._given_up: str | None = None
        database.on_damage = self._tell
        if database.ended_badly:
            database.read(damage.find).add_done_callback(self._checked)

    def look(self) -> None:
        """Have the index opened anew when its file is not the one any more that is open."""
        if self._is_reopening:
            return
        try:
            found = footing_of(self._database.path)
        except OSError:
            return  # what reads or writes it will say what is wrong
        self._away = None
        if found == self._database.footing:
            self._try_to_write()
            return
        path = self._database.path
        if found.device != self._database.footing.device:
            self._away = f"the drive that holds {path} is away: what changes is taken in when it is back"
            return
        _log.warning("index.replaced", extra={"fields": {"main": found.main == self._database.footing.main}})
        self._reopen(partial(_forsake, path, self._database.footing))

    def damaged(self) -> None:
        """Have a damaged index set aside, and made anew from the folders."""
        self.look()  # a file that is gone looks damaged, too
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
        """Say what is wrong now."""
        failure = self._database.failure
        return [text for text in (self._away, self._given_up, failure and failure.message) if text]

    def notes(self) -> list[str]:
        """Say what has happened, until somebody has taken note of it by deleting what was left."""
        return [_note(path) for path in damage.set_aside(self._database.path)]

    def _try_to_write(self) -> None:
        """Learn whether what failed last would work now, should nobody else want to write."""
        if self._database.failure and (self._trial is None or self._trial.done()):
            self._trial = self._database.write(_write_nothing_new)

    def _reopen(self, before: Callable[[], None]) -> None:
        self._is_reopening = True
        self._control.reopen(before)

    def _tell(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self.damaged)

    def _checked(self, check: Future[str | None]) -> None:
        with contextlib.suppress(GnoError, CancelledError):  # damage beyond checking has been told of
            found = check.result()
            _log.info("index.checked", extra={"fields": {"found": found}})
            if found is not None:
                self._tell()


def _write_nothing_new(connection: Connection) -> None:
    connection.execute("UPDATE schema_meta SET value = value")


def _forsake(path: Path, footing: Footing) -> None:
    """The companions of a file that is gone must not meet the one that comes in its place."""
    found = footing_of(path)
    if found.main == footing.main:
        return
    for suffix, ours, theirs in (("-wal", footing.wal, found.wal), ("-shm", footing.shm, found.shm)):
        if theirs is not None and theirs == ours:
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def _note(path: Path) -> str:
    when = datetime.fromtimestamp(path.stat().st_ctime).astimezone().strftime("%Y-%m-%d %H:%M")
    return (
        f"the index was damaged and made anew on {when}; what was left of it is {path}: "
        "`gnoctl cleanup` deletes it, and this message"
    )
