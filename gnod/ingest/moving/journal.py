"""Carry out a move completely or not at all, and undo it.

The journal is written before the first file changes, and is kept afterwards for one undo. It has the changed bytes and
the hashes of the files, but not their content. A crash leaves each file either old or new; undo accepts both.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gnod.atomic_file import replacing
from gnod.errors import MoveConflict, NothingToUndo, RootUnavailable, StorageFailed
from gnod.ingest.files.walk import folder_problem
from gnod.ingest.moving.plan import MovePlan, is_same, moved
from gnod.ingest.moving.rewriting import Edit, apply, reverse


class JournalFile(msgspec.Struct, frozen=True):
    """`path`: the path before the move. `before` and `after`: the SHA-256 of the content."""

    path: str
    before: str
    after: str
    edits: list[Edit]


class MoveJournal(msgspec.Struct, frozen=True):
    """`made`: the folders that the move creates, outermost first. `is_done`: false while files are being changed."""

    collection: str
    root: str
    old: str
    new: str
    files: list[JournalFile]
    made: list[str]
    is_done: bool = False


def carry_out(journal: Path, collection: str, plan: MovePlan) -> None:
    """Change the files, then move. Restores all changes before it raises MoveConflict or StorageFailed."""
    if (last := _read(journal)) and not last.is_done:
        raise MoveConflict("an earlier move was interrupted: run `gnoctl mv --undo` first")
    files = [JournalFile(each.path, _hash(each.before), _hash(each.after), each.edits) for each in plan.files]
    move = MoveJournal(collection, plan.root, plan.old, plan.new, files, list(_missing(plan.root, plan.new)))
    previous = journal.read_bytes() if last else None
    _write(journal, msgspec.json.encode(move))
    try:
        for file in files:
            _change(Path(plan.root, file.path), file.before, file.edits)
        Path(plan.root, plan.new).parent.mkdir(parents=True, exist_ok=True)
        _rename(Path(plan.root, plan.old), Path(plan.root, plan.new))
    except BaseException as error:
        _restore(move)
        if previous is None:
            journal.unlink()
        else:
            _write(journal, previous)
        if isinstance(error, OSError):
            raise StorageFailed(f"cannot move {plan.old}: {error.strerror}; nothing was changed") from error
        raise
    _write(journal, msgspec.json.encode(msgspec.structs.replace(move, is_done=True)))


def undo(journal: Path) -> MoveJournal:
    """Undo the last move or an interrupted one. Raises NothingToUndo, RootUnavailable, MoveConflict and
    StorageFailed."""
    move = _read(journal)
    if move is None:
        raise NothingToUndo("there is no move to undo")
    if reason := folder_problem(move.root):
        raise RootUnavailable(reason)
    is_moved = _is_there(Path(move.root, move.new))
    if is_moved == _is_there(Path(move.root, move.old)):
        raise MoveConflict(f"{move.old} and {move.new} have changed since the move: undo it by hand")
    changed = list(_changed_since(move, is_moved=is_moved))
    if changed:
        raise MoveConflict(f"{', '.join(changed[:5])} changed since the move; nothing was undone: undo it by hand")
    try:
        if is_moved:
            Path(move.root, move.old).parent.mkdir(parents=True, exist_ok=True)
            _rename(Path(move.root, move.new), Path(move.root, move.old))
        _restore(move)
    except OSError as error:
        raise StorageFailed(f"cannot undo the move: {error.strerror}; repair that and run the command again") from error
    journal.unlink()
    return move


def _changed_since(move: MoveJournal, *, is_moved: bool) -> Iterator[str]:
    for file in move.files:
        path = moved(file.path, move.old, move.new) if is_moved else file.path
        if _hash_of(Path(move.root, path)) not in (file.before, file.after):
            yield path


def _restore(move: MoveJournal) -> None:
    """Restore the old content of all changed files, and remove the folders that the move created."""
    for file in move.files:
        path = Path(move.root, file.path)
        if file.before != file.after and _hash_of(path) == file.after:
            _change(path, file.after, reverse(file.edits))
    for folder in reversed(move.made):
        with contextlib.suppress(OSError):
            Path(move.root, folder).rmdir()


def _change(path: Path, expected: str, edits: list[Edit]) -> None:
    data = path.read_bytes()
    if _hash(data) != expected:
        raise MoveConflict(f"{path} has changed just now; nothing was moved: try again")
    with replacing(path, mode=path.stat().st_mode & 0o7777) as file:
        file.write(apply(data, edits))


def _rename(old: Path, new: Path) -> None:
    """Rename without ever replacing a file."""
    if os.path.lexists(new) and not is_same(old, new):
        raise MoveConflict(f"{new} exists already; nothing was moved")
    old.rename(new)


def _is_there(path: Path) -> bool:
    """Return whether a file with exactly this name exists: some file systems also find it in another case."""
    try:
        return path.name in os.listdir(path.parent)  # noqa: PTH208
    except OSError:
        return False


def _missing(root: str, new: str) -> Iterator[str]:
    folder = Path()
    for part in Path(new).parts[:-1]:
        folder /= part
        if not Path(root, folder).exists():
            yield folder.as_posix()


def _read(journal: Path) -> MoveJournal | None:
    try:
        return msgspec.json.decode(journal.read_bytes(), type=MoveJournal)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise StorageFailed(f"{journal} is damaged: no move can be undone; remove the file") from error


def _write(journal: Path, content: bytes) -> None:
    with replacing(journal) as file:
        file.write(content)


def _hash_of(path: Path) -> str:
    return _hash(path.read_bytes()) if path.is_file() else ""


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
