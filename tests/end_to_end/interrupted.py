"""A program that ends a restore at each of its file operations, and checks the result of the next start.

Run it as `python interrupted.py FOLDER`. It prints a JSON object for each case: the operation that failed, the
operation at which the process was killed (0: none), the files that are new after the next start, and the other files.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

import apsw

from gnod.paths import IndexPaths
from gnod.store.backup import backup, restore
from gnod.store.backup.restore_moves import Move
from gnod.store.database import Database
from gnod.store.memory import memory_schema
from tests.small_index import SmallIndex

_EVENTS = {"open", "os.rename", "os.link", "os.remove", "os.chmod", "os.rmdir"}
_OLD, _NEW = 1, 2


def places_in(folder: Path) -> IndexPaths:
    return IndexPaths(
        index="default",
        config_dir=folder / "config",
        data_dir=folder / "data",
        cache_dir=folder / "cache",
        socket=folder / "s.sock",
    )


def fill(places: IndexPaths, many: int) -> tuple[SmallIndex, Database]:
    """Make an index, memories and a config with `many` entries. The databases stay open."""
    places.data_dir.mkdir(parents=True)
    places.config_dir.mkdir()
    places.config_file.write_text(f"collections: []  # {many}\n")
    index = SmallIndex(places.database)
    index.add({f"{n}.md": f"# {n}\n" for n in range(many)})
    memories = Database(places.memory_database, schema=memory_schema.SCHEMA, readers=1, use_knn=False)
    memories.submit_write(lambda c: c.execute("INSERT INTO namespaces VALUES (1, x'00', x'00', 0)")).result()
    row = "INSERT INTO memories VALUES (?1, ?1, 1, 'fact', 0, 0, CAST(?1 AS BLOB), x'00', NULL)"
    memories.submit_write(lambda c: c.executemany(row, [(n + 1,) for n in range(many)])).result()
    return index, memories


def prepared(world: Path, template: Path) -> list[Move]:
    """Prepare all files for the moves in `template`, with a log beside each database."""
    places = places_in(world)
    index, memories = fill(places, _NEW)
    file = world.with_suffix(".tar")
    backup.make(index.database, places, file, force=False, on_progress=lambda *_: None)
    index.close()
    memories.close()
    shutil.rmtree(world)
    index, memories = fill(places, _OLD)
    moves = restore.prepare(
        places, file, config=True, memories=True, keep_index=True, now=datetime.now(UTC), on_progress=lambda *_: None
    ).moves
    shutil.copytree(world, template)
    index.close()
    memories.close()
    return moves


def swapped(places: IndexPaths, moves: list[Move], fails_at: int, ends_at: int) -> bool:
    """Swap the files in a separate process. Return False if it never reaches this operation."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
    number = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal number
        if event in _EVENTS and str(arguments[0]).startswith(str(places.data_dir.parent)):
            number += 1
            if number == ends_at:
                os._exit(9)
            if number == fails_at:
                raise OSError(errno.EIO, "made to fail")

    sys.addaudithook(hook)
    try:
        restore.swap(places, moves)
    except OSError:
        pass
    except BaseException:
        os._exit(8)
    # Also count suppressed errors: the moves continued after them.
    os._exit(7 if max(fails_at, ends_at) <= number else 0)


def found(places: IndexPaths) -> dict[str, object]:
    counts = [_OLD if f"# {_OLD}" in places.config_file.read_text() else _NEW]
    for path, table in ((places.memory_database, "memories"), (places.database, "documents")):
        counts.append(rows(path, table))
    kept = sorted(places.data_dir.glob("*.before-restore-*")) + sorted(places.config_dir.glob("*.before-restore-*"))
    others = sorted(p.name for p in places.data_dir.iterdir() if "staging" in p.name or "partial" in p.name)
    return {"new": [count == _NEW for count in counts], "kept": [contents(path) for path in kept], "others": others}


def rows(path: Path, table: str) -> int:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], path
        return int(connection.execute(f"SELECT count(*) FROM {table}").get)
    finally:
        connection.close()


def contents(path: Path) -> int:
    if path.name.startswith("index.yml"):
        return _OLD if f"# {_OLD}" in path.read_text() else _NEW
    return rows(path, "memories" if path.name.startswith("memory") else "documents")


def main(folder: Path) -> None:
    logging.disable(logging.CRITICAL)
    world, template = folder / "world", folder / "template"
    moves = prepared(world, template)
    places = places_in(world)

    def tried(fails_at: int, ends_at: int) -> bool:
        shutil.rmtree(world)
        shutil.copytree(template, world)
        came_so_far = swapped(places, moves, fails_at, ends_at)
        restore.finish(places)
        print(json.dumps({"fails_at": fails_at, "ends_at": ends_at, **found(places)}), flush=True)  # noqa: T201
        return came_so_far

    ends_at = 1
    while tried(0, ends_at):
        ends_at += 1
    fails_at = 1
    while tried(fails_at, 0):
        # The process is killed while it rolls back.
        if fails_at % 3 == 0:
            tried(fails_at, fails_at + 2 + fails_at % 7)
        fails_at += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
