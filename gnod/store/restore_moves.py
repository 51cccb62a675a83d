"""The moves that put what was restored in place: decided on in a file, then made, all of them or none.

A crash leaves that file, and the next start goes on with what it says (`finish`): each move, and each taking back of
one, can be done again. So every file is the old one or the new one at any moment, whole, and no old one is lost.
Nobody may have open what is moved.
"""

from __future__ import annotations

import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path

import apsw
import msgspec

from gnod.config import storage
from gnod.errors import GnoError
from gnod.store import archive, staging

# What is to be moved; and under the other name, what is to be taken back.
_PLAN = "plan.json"
_UNDO = "undo.json"

_log = logging.getLogger(__name__)


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """What of the staging folder goes where, and the name that what was there gets (None: nothing was there). A name in
    the staging folder is that of something not worth keeping."""

    name: str
    target: str
    aside: str | None


def decide(folder: Path, moves: list[Move]) -> None:
    """From here on the restore happens, whenever that is."""
    unfinished = folder / f"{_PLAN}.tmp"
    with unfinished.open("wb") as file:
        file.write(msgspec.json.encode(moves))
        file.flush()
        os.fsync(file.fileno())
    staging.sync_folder(folder)
    unfinished.replace(folder / _PLAN)
    staging.sync_folder(folder)


def carry_out(folder: Path) -> None:
    """Make the moves that were decided on. Where one cannot be made, those before it are taken back."""
    moves = _read(folder / _PLAN)
    try:
        for move in moves:
            _make(folder, move)
    except BaseException:
        with suppress(OSError):
            (folder / _PLAN).replace(folder / _UNDO)
            staging.sync_folder(folder)
        _take_all_back(folder, moves)
        raise
    _forget(folder)
    _log.info("index.restored", extra={"fields": {"moved": [move.target for move in moves]}})


def finish(folder: Path) -> None:
    """Go on with what a crash has interrupted. Raises what went wrong, when all is as before."""
    if (folder / _PLAN).exists():
        carry_out(folder)
    elif (folder / _UNDO).exists():
        _take_all_back(folder, _read(folder / _UNDO))


def _read(plan: Path) -> list[Move]:
    return msgspec.json.decode(plan.read_bytes(), type=list[Move])


def _forget(folder: Path) -> None:
    """Before anything else of the folder goes: what it holds, or does not hold, says how far the moves have come."""
    for name in (_PLAN, _UNDO):
        (folder / name).unlink(missing_ok=True)
    staging.sync_folder(folder)


def _take_all_back(folder: Path, moves: list[Move]) -> None:
    for move in reversed(moves):
        try:
            _take_back(folder, move)
        except (OSError, GnoError):
            _log.exception("restore.not_taken_back", extra={"fields": {"file": move.target}})
    _forget(folder)


def _make(folder: Path, move: Move) -> None:
    staged, target = folder / move.name, Path(move.target)
    if not staged.exists():
        return  # before a crash
    if move.name == archive.CONFIG:
        if move.aside and not Path(move.aside).exists():
            _copy(target, Path(move.aside))
        storage.write(target, staged.read_text("utf-8"))  # it may be a link, and on another disk
        staged.unlink()
        return
    _settle(target)
    if move.aside and target.exists() and not Path(move.aside).exists():
        _link(target, Path(move.aside))
    for suffix in ("-wal", "-shm"):
        # What is left of a log belongs to the old database, and would be written into the new one.
        left = Path(f"{target}{suffix}")
        if left.exists() and move.aside and suffix == "-wal":
            left.replace(f"{move.aside}{suffix}")
        left.unlink(missing_ok=True)
    staged.chmod(0o600)
    staged.replace(target)
    staging.sync_folder(target.parent)


def _take_back(folder: Path, move: Move) -> None:
    """Undo `_make`, however far it has come."""
    staged, target = folder / move.name, Path(move.target)
    aside = Path(move.aside) if move.aside else None
    if move.name == archive.CONFIG:
        if aside and aside.exists():
            storage.write(target, aside.read_text("utf-8"))
            aside.unlink()
        elif aside is None and not staged.exists():
            target.unlink(missing_ok=True)
        return
    if not staged.exists():
        target.replace(staged)
    if aside and aside.exists():
        if target.exists():
            aside.unlink()
        else:
            aside.replace(target)
    if aside and (log := Path(f"{aside}-wal")).exists():
        log.replace(f"{target}-wal")
    staging.sync_folder(target.parent)


def _settle(database: Path) -> None:
    """Write what waits in the log into the database, so that it is one file. A damaged one stays as it is."""
    with suppress(apsw.Error):
        connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("PRAGMA wal_checkpoint (TRUNCATE)")
        finally:
            connection.close()


def _link(path: Path, aside: Path) -> None:
    aside.with_name(f"{aside.name}.partial").unlink(missing_ok=True)  # of one that was killed
    try:
        os.link(path, aside)
    except OSError:  # a file system without links
        _copy(path, aside)


def _copy(path: Path, aside: Path) -> None:
    """Copy it so that what has the name is whole: the copy is taken for it when a crash has interrupted the moves."""
    partial = aside.with_name(f"{aside.name}.partial")
    try:
        shutil.copy2(path, partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(aside)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
