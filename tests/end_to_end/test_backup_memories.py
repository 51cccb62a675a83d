"""Memories in `gnoctl backup` and `gnoctl restore` with real daemons: while memories are stored, on another machine,
from hostile files, and if a restore ends during its moves."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from tests.end_to_end.backups import BEFORE_RELEASE, Members, changed, database, kept, leftovers, members, pack
from tests.end_to_end.remembered import FILE_KEYRING, NO_KEYRING, configure, give_keyring, piped, refused, store_all
from tests.machine import Machine, temporary_machine, wait_until

pytestmark = pytest.mark.slow

PASSPHRASE = b"nine masts and a half\n"


@pytest.fixture
def other(machine: Machine) -> Iterator[Machine]:
    """Another, empty machine."""
    with temporary_machine() as other:
        yield other


def begin(machine: Machine, keyring: str = FILE_KEYRING) -> None:
    give_keyring(machine, keyring)
    configure(machine)
    machine.ok("daemon", "start")


def memory_database(machine: Machine) -> Path:
    return machine.database.with_name("memory-default.sqlite")


def texts(machine: Machine) -> set[str]:
    return {each["text"] for each in machine.json("memory", "list")["memories"]}


def stored_in(data: bytes) -> int:
    """Check the memories of a backup, and return their number."""
    with closing(database(data)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])


@pytest.mark.stress
def test_while_memories_are_stored(machine: Machine) -> None:
    begin(machine)
    file = machine.folder / "b.tar"
    assert "memories" not in machine.ok("backup", str(file))
    assert "memory.sqlite" not in members(file)
    assert not memory_database(machine).exists()  # reading the status creates no file
    store_all(machine)
    is_over = threading.Event()

    def store() -> None:
        with machine.connect() as client, client.makefile("rb") as stream:
            number = 0
            while not is_over.is_set():
                params = {"text": f"The heron of day {number}"}
                request = {"jsonrpc": "2.0", "id": 1, "method": "memory.store", "params": params}
                client.sendall(json.dumps(request).encode() + b"\n")
                assert "result" in json.loads(stream.readline())
                number += 1

    storing = threading.Thread(target=store)
    storing.start()
    counted = []
    for _ in range(12):
        result = machine.call("index.backup", path=str(file), force=True)
        parts = members(file)
        assert result["memory_bytes"] == len(parts["memory.sqlite"])
        assert b"heron" not in b"".join(parts.values())
        counted.append(stored_in(parts["memory.sqlite"]))
    is_over.set()
    storing.join(30)
    assert counted == sorted(counted)
    assert len(set(counted)) > 2, counted
    # The backup also has data from the log of a killed daemon, although no process has opened the memories since.
    total = machine.json("memory", "list")["total"]
    machine.hang_up()
    machine.kill()
    assert "memories (" in machine.ok("backup", "--force", str(file))
    assert stored_in(members(file)["memory.sqlite"]) == total
    assert leftovers(machine) == []


@pytest.mark.stress
def test_on_another_machine_the_key_decides(machine: Machine, other: Machine) -> None:
    begin(machine)
    store_all(machine)
    file = machine.folder / "b.tar"
    machine.ok("backup", str(file))
    give_keyring(other)
    # A search creates an empty database of memories there, with another key. It does not prevent the restore.
    other.run("recall", "kitten")
    done = other.run("restore", "--yes", str(file))
    assert (done.returncode, "and the memories from a backup" in done.stdout) == (0, True), done.stderr
    assert "the system's keyring has no key" in done.stderr
    assert refused(other, "memory.search", query="kitten")[0] == "keyring_failed"
    other.ok("daemon", "stop")
    shutil.copytree(machine.folder / "keyring", other.folder / "keyring", dirs_exist_ok=True)
    assert texts(other) == texts(machine)
    assert "kitten" in other.json("recall", "animals")["results"][0]["text"]
    assert memory_database(other).stat().st_mode & 0o777 == 0o600
    assert leftovers(other) == []


@pytest.mark.stress
def test_existing_memories_are_kept_by_default(machine: Machine) -> None:
    begin(machine)
    machine.ok("remember", "The heron of before")
    file = machine.folder / "b.tar"
    machine.ok("backup", str(file))
    machine.ok("remember", "The otter of after")
    done = machine.run("restore", "--yes", str(file))
    assert (done.returncode, "the memories were not replaced; --memories" in done.stderr) == (0, True)
    assert texts(machine) == {"The heron of before", "The otter of after"}
    assert kept(machine) == []
    result = machine.json("restore", "--yes", "--memories", str(file))
    assert result["memories"] == "restored"
    assert texts(machine) == {"The heron of before"}
    assert [str(path) for path in kept(machine)] == result["kept"]
    with closing(apsw.Connection(str(kept(machine)[0]))) as connection:
        assert connection.execute("SELECT count(*) FROM memories").get == 2
    # Restore the old files: a restore by mistake loses nothing.
    machine.ok("daemon", "stop")
    shutil.copy(kept(machine)[0], memory_database(machine))
    assert texts(machine) == {"The heron of before", "The otter of after"}


@pytest.mark.stress
def test_a_passphrase_is_asked_for_again(machine: Machine) -> None:
    begin(machine, NO_KEYRING)
    piped(machine, PASSPHRASE, "memory", "unlock")
    machine.ok("remember", "The heron of before")
    file = machine.folder / "b.tar"
    machine.ok("backup", str(file))
    done = machine.run("restore", "--yes", "--memories", str(file))
    assert (done.returncode, "locked: run `gnoctl memory unlock`" in done.stderr) == (0, True)
    assert refused(machine, "memory.search", query="heron")[0] == "memory_locked"
    assert piped(machine, PASSPHRASE, "memory", "unlock").returncode == 0
    assert texts(machine) == {"The heron of before"}


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with temporary_machine() as machine:
        begin(machine)
        store_all(machine)
        machine.ok("backup", str(machine.folder / "good.tar"))
        yield machine


def after(*statements: str) -> Callable[[bytes], bytes]:
    return lambda data: changed(data, *statements)


# A trigger with a name that SQLite reserves: only its SQL distinguishes it from a table of statistics.
_HIDDEN = (
    "INSERT INTO sqlite_schema VALUES ('trigger', 'sqlite_stat1', 'memories', 0,"
    " 'CREATE TRIGGER sqlite_stat1 AFTER INSERT ON memories BEGIN DELETE FROM keys; END')"
)

HOSTILE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "wrong application id": (after("PRAGMA application_id = 1735290724"), "database of another program"),
    "newer": (after("UPDATE schema_meta SET value = '99' WHERE key = 'version'"), "newer gnod (schema 99"),
    "another schema of before": (after(BEFORE_RELEASE, "DROP TABLE memory_topics"), "before the first release"),
    "no version": (after("DELETE FROM schema_meta"), "has no version"),
    "column more": (after("ALTER TABLE memories ADD COLUMN more TEXT"), "does not create"),
    "table missing": (after("DROP TABLE memory_vectors"), "does not create"),
    "trigger": (after("CREATE TRIGGER t AFTER INSERT ON memories BEGIN DELETE FROM keys; END"), "does not create"),
    "hidden trigger": (after(_HIDDEN), "does not create"),
    "table that is copies in an index": (after("CREATE TABLE vec_01234567 (x)"), "does not create"),
    "view": (after("CREATE VIEW v AS SELECT * FROM keys"), "does not create"),
    "orphans": (after("PRAGMA foreign_keys = OFF", "DELETE FROM namespaces"), "rows refer to missing rows"),
    "damaged pages": (lambda data: data[:8192] + b"\x55" * (len(data) - 8192), "is damaged"),
    "cut short": (lambda data: data[: len(data) // 2], "is damaged"),
    "no database": (lambda _: b"x" * 9000, "cannot be restored"),
    "nothing": (lambda _: b"", "database of another program"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_memories_are_refused_with_the_reason(name: str, victim: Machine) -> None:
    make, reason = HOSTILE[name]
    file = victim.folder / "bad.tar"
    parts: Members = members(victim.folder / "good.tar")
    pack(file, parts | {"memory.sqlite": make(parts["memory.sqlite"])})
    for memories in (True, False):  # a backup with a hostile part is refused
        kind, said = refused(victim, "index.restore", path=str(file), memories=memories)
        assert (kind in ("backup_rejected", "newer_database"), reason in said, str(file) in said) == (True,) * 3, said
    assert victim.call("memory.list")["total"] == 6
    assert (leftovers(victim), kept(victim)) == ([], [])


@pytest.mark.stress
def test_damaged_memories_are_not_backed_up_as_intact(machine: Machine) -> None:
    begin(machine)
    store_all(machine)
    file = machine.folder / "b.tar"
    machine.ok("backup", str(file))
    machine.hang_up()
    machine.ok("daemon", "stop")
    path = memory_database(machine)
    data = path.read_bytes()
    path.write_bytes(data[:8192] + b"\x55" * (len(data) - 8192))
    done = machine.run("backup", str(machine.folder / "c.tar"))
    assert (done.returncode, "cannot be backed up" in done.stderr) == (2, True), done.stderr
    assert not (machine.folder / "c.tar").exists()
    # As the message says: the memories of the backup, and the remaining files of the others beside them.
    assert "--memories" in machine.run("restore", "--yes", str(file)).stderr
    machine.ok("restore", "--yes", "--memories", str(file))
    assert len(texts(machine)) == 6
    assert kept(machine)[0].read_bytes()[8192:] == b"\x55" * (len(data) - 8192)


@pytest.mark.stress
def test_a_move_that_fails_leaves_all_as_it_was(machine: Machine) -> None:
    """The memories cannot be replaced, so the config, which was moved before them, is rolled back. The index stays."""
    begin(machine)
    machine.ok("remember", "The heron of before")
    file = machine.folder / "b.tar"
    machine.ok("backup", str(file))
    machine.ok("remember", "The otter of after")
    config = machine.config.read_text() + "# later\n"
    machine.config.write_text(config)
    # Then not even root can replace it.
    if subprocess.run(["chattr", "+i", str(memory_database(machine))], capture_output=True).returncode != 0:
        pytest.skip("this file system does not support immutable files")
    try:
        done = machine.run("restore", "--yes", "--config", "--memories", str(file))
    finally:
        subprocess.run(["chattr", "-i", str(memory_database(machine))], check=True)
    assert (done.returncode, "was not restored" in done.stderr) == (2, True), done.stderr
    assert texts(machine) == {"The heron of before", "The otter of after"}
    assert machine.config.read_text() == config
    assert (leftovers(machine), kept(machine), len(list(machine.config.parent.iterdir()))) == ([], [], 1)


@pytest.mark.stress
def test_an_interrupted_restore_is_complete_or_has_no_effect(short_tmp: Path) -> None:
    program = Path(__file__).with_name("interrupted.py")
    done = subprocess.run([sys.executable, str(program), str(short_tmp)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    ends = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(ends) > 60
    old = {"new": [False] * 3, "kept": [], "others": []}
    new = {"new": [True] * 3, "kept": [1] * 3, "others": []}
    for end in ends:
        what = {key: end[key] for key in old}
        assert what in (old, new), end
    # After a kill between the decision and the first move, or between any two moves, the moves are completed.
    killed = [all(end["new"]) for end in ends if not end["fails_at"]]
    assert killed == sorted(killed)
    assert killed.count(False) < killed.count(True)
    # A failed restore is always rolled back.
    assert any(end["fails_at"] and not any(end["new"]) for end in ends)


@pytest.mark.stress
def test_the_next_start_completes_an_interrupted_move(machine: Machine) -> None:
    """The move of the config waits for a pipe, and the process is killed there."""
    begin(machine)
    machine.ok("remember", "The heron of before")
    file = machine.folder / "b.tar"
    machine.ok("backup", str(file))
    config = machine.config.read_text()
    machine.config.write_text(config + "# later\n")
    machine.ok("remember", "The otter of after")
    machine.ok("daemon", "stop")
    script = (
        "import sys\n"
        "from datetime import UTC, datetime\n"
        "from pathlib import Path\n"
        "import os\n"
        "from gnod import paths\n"
        "from gnod.store.backup import restore, staging\n"
        "places = paths.resolve()\n"
        "options = dict(config=True, memories=True, keep_index=True)\n"
        "silent = lambda *_: None\n"
        "ready = restore.prepare(places, Path(sys.argv[1]), **options, now=datetime.now(UTC), on_progress=silent)\n"
        "staged = staging.path_of(places) / 'index.yml'\n"
        "staged.unlink()\n"
        "os.mkfifo(staged)\n"
        "restore.swap(places, ready.moves)\n"
    )
    staging = machine.database.parent / "index-default.staging"
    with subprocess.Popen([sys.executable, "-c", script, str(file)], env=machine.environment) as process:
        wait_until((staging / "plan.json").exists)
        process.kill()
    (staging / "index.yml").unlink()
    (staging / "index.yml").write_text(config)
    assert texts(machine) == {"The heron of before"}
    assert machine.config.read_text() == config
    assert len(kept(machine)) == 2
    assert leftovers(machine) == []
