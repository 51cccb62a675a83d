"""Real daemons with an index file that was damaged (with plain writes), deleted or replaced."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from gnod.store.database import Database
from gnod.store.vectors import vectors
from tests.end_to_end.backups import BEFORE_RELEASE
from tests.machine import Machine, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NOTES = 60


@pytest.fixture
def filled(machine: Machine) -> Machine:
    """A machine with a quiescent index of several pages."""
    machine.write(
        **{
            f"n{number}_md": f"# Note {number}\n\nkestrel word{number} " + "it is the filler " * 80
            for number in range(NOTES)
        }
    )
    machine.ok("init", str(machine.notes), "--name", "notes")
    machine.quiet()
    return machine


def stop(machine: Machine) -> None:
    machine.hang_up()
    machine.ok("daemon", "stop")


def start(machine: Machine) -> None:
    machine.ok("daemon", "start")


def aside(machine: Machine, reason: str = "damaged") -> list[Path]:
    found = machine.database.parent.glob(f"*.{reason}-*")
    return sorted(path for path in found if not path.name.endswith(("-wal", "-shm")))


def found(machine: Machine) -> int:
    return len(machine.paths("kestrel", "-n", "100"))


def events(machine: Machine) -> list[dict[str, Any]]:
    log = machine.folder / "data" / "logs" / "gnod-default.log"
    return [json.loads(line) for line in log.read_text().splitlines()]


def says(machine: Machine, event: str) -> bool:
    return any(each["event"] == event for each in events(machine))


def is_made_anew(machine: Machine, times: int = 1) -> bool:
    """Send requests like a client that tries again."""
    try:
        status = machine.call("index.status")
        if len(aside(machine)) < times or status["syncing"] or not status["freshness"]["current"]:
            return False
        return len(machine.call("search.lexical", query="kestrel", limit=100)["hits"]) == NOTES
    except (OSError, AssertionError):
        machine.hang_up()
        return False


def is_whole(database: Path) -> bool:
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return bool(connection.execute("PRAGMA integrity_check").get == "ok")
    finally:
        connection.close()


def garble(path: Path, first: int, last: int) -> None:
    """Write random bytes over these pages."""
    with path.open("r+b") as file:
        file.seek(first * 4096)
        file.write(random.Random(7).randbytes((last - first) * 4096))


def middle(path: Path) -> None:
    pages = path.stat().st_size // 4096
    garble(path, pages // 4, pages * 3 // 4)


def magic(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\0" * 16)


def truncated(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2 // 4096 * 4096)


def schema_page(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(random.Random(7).randbytes(3900))


def word_index(path: Path) -> None:
    """The tables in which FTS5 stores its words. Row 10 lists its parts, row 1 has totals."""
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE documents_fts_data SET block = zeroblob(20) WHERE id > 1 AND id <> 10")
    connection.close()


def no_words(path: Path) -> None:
    """Empty the list of parts. SQLite does not notice this damage."""
    connection = apsw.Connection(str(path))
    empty = bytes.fromhex("00000001 ff000001 00 00 00")
    connection.execute("UPDATE documents_fts_data SET block = ? WHERE id = 10", (empty,))
    connection.close()


DAMAGES: list[Callable[[Path], None]] = [truncated, schema_page, word_index, no_words]


@pytest.mark.parametrize("damage", [middle, *(pytest.param(each, marks=pytest.mark.stress) for each in DAMAGES)])
def test_a_damaged_index_is_quarantined_at_the_start_and_rebuilt(
    filled: Machine, damage: Callable[[Path], None]
) -> None:
    stop(filled)
    damage(filled.database)
    start(filled)
    if not aside(filled):
        filled.run("doctor")  # checks the whole index, in case the start has not found the damage
    wait_until(lambda: is_made_anew(filled), 60)
    assert is_whole(filled.database)
    [left] = aside(filled)
    assert f"the damaged file is {left}" in filled.ok("status")
    assert str(left) in filled.run("doctor").stdout
    assert says(filled, "index.quarantined")
    filled.ok("cleanup")
    assert aside(filled) == []
    assert "damaged" not in filled.ok("status")
    assert not says(filled, "index.replaced")


def test_an_index_from_before_the_first_release_is_moved_aside_and_built_again(filled: Machine) -> None:
    stop(filled)
    connection = apsw.Connection(str(filled.database))
    connection.execute(BEFORE_RELEASE + "; DROP TABLE llm_cache")
    connection.close()
    start(filled)
    wait_until(lambda: found(filled) == NOTES, 60)
    assert is_whole(filled.database)
    assert (says(filled, "index.outdated"), aside(filled)) == (True, [])
    [left] = aside(filled, "outdated")
    assert f"the outdated file is {left}: `gnoctl cleanup` deletes it" in filled.ok("status")
    filled.ok("cleanup")
    assert aside(filled, "outdated") == []
    assert "outdated" not in filled.ok("status")


@pytest.mark.stress
@pytest.mark.parametrize("damage", [middle, magic])
def test_damage_while_running_is_detected_by_any_access(filled: Machine, damage: Callable[[Path], None]) -> None:
    pid = filled.pid()
    filled.ok("cleanup")  # now all data is in the file, not in its -wal
    damage(filled.database)
    filled.run("doctor")
    wait_until(lambda: is_made_anew(filled), 60)
    assert filled.pid() == pid
    assert is_whole(filled.database)


@pytest.mark.stress
def test_rows_that_are_missing_from_an_index_are_found_after_an_unclean_end(filled: Machine) -> None:
    stop(filled)
    other = filled.database.with_name("other.sqlite")
    shutil.copy(filled.database, other)
    connection = apsw.Connection(str(other))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA writable_schema = ON")
    # The daemon writes to the index although the file has been replaced.
    definition = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'documents_by_docid'"
    connection.execute(definition, ("(docid)", "(title)"))
    connection.execute("PRAGMA schema_version = 1000")
    connection.execute("UPDATE documents SET title = 'x' || title WHERE id % 2")
    connection.execute(definition, ("(title)", "(docid)"))
    connection.execute("PRAGMA schema_version = 1001")
    for suffix in ("", "-wal"):  # as a crash would leave them
        shutil.copy(f"{other}{suffix}", f"{filled.database}{suffix}")
    connection.close()
    start(filled)
    wait_until(lambda: is_made_anew(filled), 60)
    assert is_whole(filled.database)


@pytest.mark.stress
def test_what_was_switched_by_hand_is_kept(filled: Machine) -> None:
    # The first pages of the file describe its tables, so there must be many more.
    numbers = random.Random(1)
    filled.write(**{f"more{n}_md": " ".join(f"{numbers.getrandbits(40):x}" for _ in range(300)) for n in range(NOTES)})
    filled.quiet()
    filled.ok("pause")
    stop(filled)
    pages = filled.database.stat().st_size // 4096
    garble(filled.database, pages * 3 // 4, pages)
    start(filled)
    filled.run("doctor")
    wait_until(lambda: is_made_anew(filled), 60)
    stop(filled)
    connection = apsw.Connection(str(filled.database), flags=apsw.SQLITE_OPEN_READONLY)
    assert vectors.is_embedding_paused(connection)
    connection.close()


@pytest.mark.stress
def test_repeated_damage_stops_rebuilding(filled: Machine) -> None:
    for times in (1, 2, 3):
        stop(filled)
        magic(filled.database)
        start(filled)
        wait_until(lambda times=times: is_made_anew(filled, times), 60)
    stop(filled)
    magic(filled.database)
    refused = filled.run("daemon", "start")
    assert refused.returncode != 0
    assert "the disk or the memory of this machine may be failing" in refused.stderr
    assert len(aside(filled)) == 3


def remove_companions(path: Path) -> None:
    path.with_name(path.name + "-wal").unlink()
    path.with_name(path.name + "-shm").unlink()


def remove_main(path: Path) -> None:
    path.unlink()


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


def replace(path: Path) -> None:
    """Replace the index with one that another gnod made, without any of our documents."""
    other = path.with_name("other")
    Database(other).close()
    other.replace(path)


@pytest.mark.parametrize(
    "change",
    [
        move_folder,
        *(pytest.param(each, marks=pytest.mark.stress) for each in (remove_main, remove_companions, replace)),
    ],
)
def test_a_deleted_file_is_noticed_and_rebuilt(filled: Machine, change: Callable[[Path], None]) -> None:
    pid = filled.pid()
    change(filled.database)
    filled.write(new_md="# New\n\nkestrel after it went")
    wait_until(lambda: filled.database.exists() and found_now(filled) == NOTES + 1, 60)
    assert filled.pid() == pid
    assert is_whole(filled.database)
    assert aside(filled) == []
    filled.kill()
    filled.hang_up()
    start(filled)
    filled.quiet()
    assert found_now(filled) == NOTES + 1


def found_now(machine: Machine) -> int:
    try:
        return len(machine.call("search.lexical", query="kestrel", limit=100)["hits"])
    except (OSError, AssertionError):
        machine.hang_up()
        return -1
