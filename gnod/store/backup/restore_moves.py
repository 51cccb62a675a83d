"""Move restored files into place. The plan is written to a file; then either all moves are made or none.

After a crash the next start continues with the plan (`finish`), because each move and each undo can be repeated. At any
moment every file is complete, either the old or the new one, and no old file is lost. The files must be closed.
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
from gnod.store.backup import archive

# The names of the files with the moves to make and the moves to undo.
_PLAN = "plan.json"
_UNDO = "undo.json"

_log = logging.getLogger(__name__)


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the staging folder, its target, and `aside`, the new name of the current file (None: no current file).
    If `aside` is in the staging folder, the current file is not kept."""

    name: str
    target: str
    aside: str | None


def decide(folder: Path, moves: list[Move]) -> None:
    """Write the plan. From now on the restore will be completed, even after a crash."""
    unfinished = folder / f"{_PLAN}.tmp"
    with unfinished.open("wb") as file:
        file.write(msgspec.json.encode(moves))
        file.flush()
        os.fsync(file.fileno())
    storage.sync_folder(folder)
    unfinished.replace(folder / _PLAN)
    storage.sync_folder(folder)


def carry_out(folder: Path) -> None:
    """Make the moves of the plan. If a move fails, undo the moves before it."""
    moves = _read(folder / _PLAN)
    try:
        for move in moves:
            _make(folder, move)
    except BaseException:
        with suppress(OSError):
            (folder / _PLAN).replace(folder / _UNDO)
            storage.sync_folder(folder)
        _undo_all(folder, moves)
        raise
    _forget(folder)
    _log.info("index.restored", extra={"fields": {"moved": [move.target for move in moves]}})


def finish(folder: Path) -> None:
    """Continue after a crash. If this raises, the old files are in place."""
    if (folder / _PLAN).exists():
        carry_out(folder)
    elif (folder / _UNDO).exists():
        _undo_all(folder, _read(folder / _UNDO))


def _read(plan: Path) -> list[Move]:
    return msgspec.json.decode(plan.read_bytes(), type=list[Move])


def _forget(folder: Path) -> None:
    """Delete the plan before the other files. While it exists, a missing file counts as moved."""
    for name in (_PLAN, _UNDO):
        (folder / name).unlink(missing_ok=True)
    storage.sync_folder(folder)


def _undo_all(folder: Path, moves: list[Move]) -> None:
    for move in reversed(moves):
        try:
            _undo(folder, move)
        except (OSError, GnoError):
            _log.exception("restore.not_taken_back", extra={"fields": {"file": move.target}})
    _forget(folder)


def _make(folder: Path, move: Move) -> None:
    staged, target = folder / move.name, Path(move.target)
    if not staged.exists():
        return  # moved before a crash
    if move.name == archive.CONFIG:
        if move.aside and not Path(move.aside).exists():
            _copy(target, Path(move.aside))
        storage.write(target, staged.read_text("utf-8"))  # the target may be a link to another disk
        staged.unlink()
        return
    _checkpoint(target)
    if move.aside and target.exists() and not Path(move.aside).exists():
        _link(target, Path(move.aside))
    for suffix in ("-wal", "-shm"):
        # The old database's log must not be applied to the new one.
        left = Path(f"{target}{suffix}")
        if left.exists() and move.aside and suffix == "-wal":
            left.replace(f"{move.aside}{suffix}")
        left.unlink(missing_ok=True)
    staged.chmod(0o600)
    staged.replace(target)
    storage.sync_folder(target.parent)


def _undo(folder: Path, move: Move) -> None:
    """Undo a complete or incomplete `_make`."""
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
    storage.sync_folder(target.parent)


def _checkpoint(database: Path) -> None:
    """Checkpoint the log, so that the database is one file. A damaged database is not changed."""
    with suppress(apsw.Error):
        connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("PRAGMA wal_checkpoint (TRUNCATE)")
        finally:
            connection.close()


def _link(path: Path, aside: Path) -> None:
    aside.with_name(f"{aside.name}.partial").unlink(missing_ok=True)  # left by a killed restore
    try:
        os.link(path, aside)
    except OSError:  # a file system without links
        _copy(path, aside)


def _copy(path: Path, aside: Path) -> None:
    """Copy atomically, because after a crash an existing copy counts as complete."""
    partial = aside.with_name(f"{aside.name}.partial")
    try:
        shutil.copy2(path, partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(aside)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
