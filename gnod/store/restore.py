"""Putting a backup in the place of index and memories, in three steps that leave the old or the new, whatever happens.

`prepare` makes and checks everything beside what stays in use. `swap` is called while nobody has a database open: it
writes down what is to be moved, and moves it. What a crash has interrupted there is carried on by `finish`, which every
start calls before it opens the index. See restore_checks.py and restore_moves.py.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

import apsw
import msgspec

from gnod.errors import GnoError, StorageFailed
from gnod.paths import Places
from gnod.store import archive, changes, memory_schema, restore_checks, restore_moves, staging
from gnod.store.archive import Manifest, Tell
from gnod.store.database import Connection, Database
from gnod.store.restore_moves import Move

_RESTORED = "restored_at"
# What the manifest, a migration and SQLite's log need beside the index.
_ROOM = 32 * 1024 * 1024

ConfigFate = Literal["restored", "kept", "same", "none"]
MemoriesFate = Literal["restored", "kept", "none"]

_log = logging.getLogger(__name__)


class Wishes(NamedTuple):
    """`config`, `memories`: also where there are some already. `keep_index`: the one that is there is worth keeping."""

    config: bool
    memories: bool
    keep_index: bool


class Prepared(NamedTuple):
    """`moves` is for `swap`; `kept` is where they leave what was there. `config` and `memories`: "restored", "kept"
    (others are there), "same" (the very same is) or "none" (the archive has none)."""

    manifest: Manifest
    documents: int
    config: ConfigFate
    memories: MemoriesFate
    moves: list[Move]
    kept: list[str]


def prepare(places: Places, file: Path, wishes: Wishes, *, now: datetime, tell: Tell) -> Prepared:
    """Unpack and check `file` in the staging folder, and bring it up to this version. The caller clears the folder,
    unless it goes on to `swap`. Raises BackupRejected, NewerDatabase, StorageFailed."""
    folder = staging.path_of(places)
    manifest = _unpack(places, file, folder, tell)
    index, config, memories = (folder / name for name in (archive.INDEX, archive.CONFIG, archive.MEMORIES))
    restore_checks.check_index(index, file, tell)
    config_is = _fate_of_config(config, places.config_file)
    memories_are: MemoriesFate = "none"
    moves, kept = [], []
    if config_is == "restored" or (config_is == "kept" and wishes.config):
        restore_checks.check_config(config, file)
        aside = _beside(places.config_file, now) if config_is == "kept" else None
        moves.append(Move(name=archive.CONFIG, target=str(places.config_file), aside=aside))
        config_is = "restored"
    if memories.exists():
        restore_checks.check_memories(memories, file, tell)
        memories_are = "restored" if wishes.memories or not _has_memories(places.memory_database) else "kept"
    if memories_are == "restored":
        # Always with a name beside it: somebody may have something remembered until the very moment of the move.
        aside = _beside(places.memory_database, now)
        moves.append(Move(name=archive.MEMORIES, target=str(places.memory_database), aside=aside))
    aside = _beside(places.database, now) if wishes.keep_index else str(folder / f"{archive.INDEX}.before")
    moves.append(Move(name=archive.INDEX, target=str(places.database), aside=aside))
    kept = [move.aside for move in moves if move.aside and Path(move.target).exists()]
    if not wishes.keep_index:
        kept = [path for path in kept if path != aside]
    tell("upgrade", 0, None)
    if memories_are == "restored":
        Database(memories, schema=memory_schema.SCHEMA, readers=1, use_knn=False).close()
    return Prepared(manifest, _bring_along(index, now), config_is, memories_are, moves, kept)


def swap(places: Places, moves: list[Move]) -> None:
    """Put what was prepared in place. Nobody may have it open. Raises what went wrong: then the old is there."""
    folder = staging.path_of(places)
    try:
        restore_moves.decide(folder, moves)
        restore_moves.carry_out(folder)
    finally:
        staging.clear(places)


def finish(places: Places) -> None:
    """Carry out what a crash has interrupted, and remove what it left. For the start, before the index is opened."""
    try:
        restore_moves.finish(staging.path_of(places))
    except (OSError, GnoError, msgspec.MsgspecError):
        _log.exception("restore.failed")  # and the old index is opened
    staging.clear(places)


def restored_at(connection: Connection) -> str | None:
    """Return when the index was last put in place from a backup, in ISO 8601."""
    value: str | None = connection.execute("SELECT value FROM schema_meta WHERE key = ?", (_RESTORED,)).get
    return value


def _unpack(places: Places, file: Path, folder: Path, tell: Tell) -> Manifest:
    staging.clear(places)
    with suppress(OSError):  # to read it will say what is wrong
        staging.check_room(places.data_dir, file.stat().st_size + _ROOM)
    try:
        folder.mkdir(mode=0o700, parents=True)
        return archive.read(file, folder, tell)
    except OSError as error:
        raise StorageFailed(f"{file} cannot be unpacked to {folder}: {error.strerror}") from error


def _fate_of_config(config: Path, present: Path) -> ConfigFate:
    """Return what becomes of the config file, unless it is asked for."""
    if not config.exists():
        return "none"
    if not present.exists():
        return "restored"
    return "same" if present.read_bytes() == config.read_bytes() else "kept"


def _has_memories(database: Path) -> bool:
    """Tell whether there are any, or may be: a damaged database is not taken for an empty one."""
    if not database.exists():
        return False
    try:
        connection = Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            has_tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
            return bool(has_tables and connection.execute("SELECT count(*) FROM memories").get)
        finally:
            connection.close()
    except apsw.Error:
        return True


def _bring_along(index: Path, now: datetime) -> int:
    """Bring the database up to this version, and return how many documents are in it."""

    def work(connection: Connection) -> int:
        changes.begin_anew(connection)
        connection.execute("INSERT OR REPLACE INTO schema_meta VALUES (?, ?)", (_RESTORED, now.isoformat()))
        return int(connection.execute("SELECT count(*) FROM documents WHERE active").get)

    database = Database(index)
    try:
        return database.write(work).result()
    finally:
        database.close()


def _beside(path: Path, now: datetime) -> str:
    """Return a name that nothing has: what was kept before stays."""
    name = f"{path}.before-restore-{now:%Y%m%d-%H%M%S}"
    return f"{name}-{now:%f}" if Path(name).exists() else name
