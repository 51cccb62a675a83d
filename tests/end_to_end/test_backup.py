"""`gnoctl backup` and `gnoctl restore` with real daemons: during writes, on an empty machine, from hostile files, on a
full disk, and with kills."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.end_to_end.backups import BEFORE_RELEASE, Members, changed, kept, leftovers, members, pack
from tests.end_to_end.namespace import namespace
from tests.machine import Machine, alive, temporary_machine, wait_until

pytestmark = pytest.mark.slow


def notes(machine: Machine, many: int, word: str) -> None:
    """Write notes with a word that is stored twice: in tables of the index, and in its full-text index."""
    for number in range(many):
        (machine.notes / f"n{number}.md").write_text(f"# {word.title()} {number}\n\nThe {word} of note {number}.\n")


def assert_whole(data: bytes) -> int:
    """Check that each document in the database of a backup is complete, and return the number of documents."""
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as file:
        file.write(data)
        file.flush()
        with closing(apsw.Connection(file.name)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
            connection.execute("INSERT INTO documents_fts (documents_fts, rank) VALUES ('integrity-check', 0)")
            documents = connection.execute("SELECT count(*) FROM documents WHERE active").get
            whole = connection.execute(
                "SELECT count(*) FROM documents d JOIN mirrors c USING (mirror_hash)"
                " JOIN documents_fts_docsize f ON f.id = d.id"
                " WHERE EXISTS (SELECT 1 FROM chunks k WHERE k.mirror_hash = d.mirror_hash)"
                " AND EXISTS (SELECT 1 FROM changes h WHERE h.path = d.path)"
            ).get
            assert whole == documents
    return int(documents)


def refusal(machine: Machine, method: str, **params: object) -> str:
    """Return the daemon's error for a request."""
    return str(machine.answer(method, **params)["error"]["message"])


@pytest.mark.stress
def test_a_backup_during_a_sync(machine: Machine) -> None:
    machine.write(first_md="# Heron\n\nOne heron.\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    notes(machine, 250, "otter")
    wait_until(lambda: machine.paths("otter"))
    first = machine.folder / "first.tar"
    machine.call("index.backup", path=str(first))
    notes(machine, 500, "otter")
    sync = subprocess.Popen(
        [sys.executable, "-m", "gnoctl", "index", "-q"], env=machine.environment, stdout=subprocess.DEVNULL
    )
    made = [first]
    for number in range(100):
        file = machine.folder / f"b{number}.tar"
        result = machine.call("index.backup", path=str(file))
        made.append(file)
        assert result["bytes"] == file.stat().st_size
        assert file.stat().st_mode & 0o777 == 0o600
        assert machine.call("search.lexical", query="heron")["hits"]
        if sync.poll() is not None:
            break
    assert sync.wait(60) == 0
    counted = [assert_whole(members(file)["index.sqlite"]) for file in made]
    assert counted == sorted(counted)
    assert any(1 < count < 501 for count in counted), counted  # some backups were made during the sync
    assert counted[-1] <= 501
    assert leftovers(machine) == []


def test_on_an_empty_machine_search_works_before_any_sync(machine: Machine) -> None:
    notes(machine, 3, "heron")
    machine.ok("init", str(machine.notes), "--name", "notes")
    file = machine.folder / "b.tar"
    assert "3 documents" in machine.ok("backup", str(file))
    with temporary_machine() as other:
        other.ok("daemon", "start")
        shutil.move(machine.notes, machine.folder / "away")  # so that no sync can find files
        done = other.run("restore", "--yes", str(file))
        assert done.returncode == 0, done.stderr
        assert "restored 3 documents" in done.stdout
        assert sorted(other.paths("heron")) == ["n0.md", "n1.md", "n2.md"]
        assert other.config.read_text() == machine.config.read_text()
        assert kept(other) == []  # there was nothing to keep
        assert leftovers(other) == []
        shutil.move(machine.folder / "away", machine.notes)
        (machine.notes / "n3.md").write_text("# Heron, again\n")
        assert len(other.json("search", "heron", "--fresh")["hits"]) == 4


@pytest.mark.stress
def test_over_a_running_one_what_was_there_is_kept(machine: Machine) -> None:
    notes(machine, 2, "heron")
    machine.ok("init", str(machine.notes), "--name", "notes")
    file = machine.folder / "b.tar"
    machine.ok("backup", str(file))
    clock = machine.call("index.subscribe")["clock"]
    machine.hang_up()
    notes(machine, 4, "otter")
    assert len(machine.json("search", "otter", "--fresh")["hits"]) == 4
    other = machine.folder / "other"
    other.mkdir()
    (other / "x.md").write_text("# Badger\n")
    machine.ok("collection", "add", str(other), "--name", "other")
    config = machine.config.read_text()
    result = machine.json("restore", "--yes", str(file))
    assert (result["documents"], result["config"]) == (2, "kept")
    assert machine.config.read_text() == config
    # A sync brings it up to date with the disk, including files that are not in the backup.
    machine.ok("index")
    assert len(machine.paths("otter")) == 4
    assert machine.paths("heron") == []
    assert machine.paths("badger") == ["x.md"]
    assert kept(machine) == [Path(path) for path in result["kept"]]
    assert assert_whole(kept(machine)[0].read_bytes()) == 5
    assert not machine.database.samefile(kept(machine)[0])
    # A subscriber with a clock of the previous index gets everything again.
    assert machine.call("index.subscribe", since=clock)["reset"]
    machine.hang_up()
    # With the config of the backup, the other collection is removed.
    result = machine.json("restore", "--yes", "--config", str(file))
    assert result["config"] == "restored"
    assert len(result["kept"]) == 2
    assert Path(result["kept"][0]).read_text() == config
    assert [each["name"] for each in machine.json("collection", "list")["collections"]] == ["notes"]
    assert machine.paths("badger") == []


def test_a_backup_from_before_the_first_release_is_restored_if_its_schema_is_the_first(machine: Machine) -> None:
    machine.write(a_md="# Heron\n\nOne heron.\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    file = machine.folder / "b.tar"
    machine.ok("backup", str(file))
    parts = members(file)
    pack(file, parts | {"index.sqlite": changed(parts["index.sqlite"], BEFORE_RELEASE)}, schema=22)
    assert machine.json("restore", "--yes", str(file))["documents"] == 1
    assert machine.paths("heron") == ["a.md"]
    assert machine.json("status")["storage_notes"] == []


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    with temporary_machine() as machine:
        machine.write(a_md="# Heron\n\nOne heron.\n")
        machine.ok("init", str(machine.notes), "--name", "notes")
        machine.ok("backup", str(machine.folder / "good.tar"))
        yield machine


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


def linked(kind: bytes) -> Callable[[Path, Members], None]:
    def make(file: Path, parts: Members) -> None:
        pack(file, parts)
        data = bytearray(file.read_bytes())
        header = tarfile.TarInfo("index.sqlite")
        header.type, header.linkname = kind, "/etc/passwd"
        data[:512] = header.tobuf(tarfile.GNU_FORMAT)
        file.write_bytes(data)

    return make


def sized(size: int) -> Callable[[Path, Members], None]:
    def make(file: Path, parts: Members) -> None:
        pack(file, parts)
        header = tarfile.TarInfo("index.sqlite")
        header.size = size
        file.write_bytes(header.tobuf(tarfile.GNU_FORMAT) + file.read_bytes()[512:])

    return make


def index(*statements: str) -> Callable[[Path, Members], None]:
    def make(file: Path, parts: Members) -> None:
        pack(file, parts | {"index.sqlite": changed(parts["index.sqlite"], *statements)})

    return make


def raw(change: Callable[[bytes], bytes]) -> Callable[[Path, Members], None]:
    def make(file: Path, parts: Members) -> None:
        pack(file, parts)
        file.write_bytes(change(file.read_bytes()))

    return make


def strangers_database() -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.commit()
        return connection.serialize()


HOSTILE: dict[str, tuple[Callable[[Path, Members], object], str]] = {
    "symbolic link": (linked(tarfile.SYMTYPE), "not a regular file"),
    "hard link": (linked(tarfile.LNKTYPE), "not a regular file"),
    "device": (linked(tarfile.CHRTYPE), "not a regular file"),
    "pipe": (linked(tarfile.FIFOTYPE), "not a regular file"),
    "sparse": (linked(tarfile.GNUTYPE_SPARSE), "cannot be restored"),
    "path upwards": (lambda f, p: pack(f, p | {"../evil": b"x"}), "does not know"),
    "absolute path": (lambda f, p: pack(f, p | {"/tmp/evil": b"x"}), "does not know"),
    "part of the future": (lambda f, p: pack(f, p | {"later.sqlite": b"x"}), "does not know"),
    "long name": (lambda f, p: pack(f, p | {"a" * 4000: b"x"}), "does not know"),
    "pax header": (raw(lambda d: tarfile.TarInfo("é" * 99).tobuf(tarfile.PAX_FORMAT) + d), "does not know"),
    "larger than the file": (sized(2**40), "truncated"),
    "larger than disks": (sized(2**62), "truncated"),
    "smaller than it is": (sized(512), "cannot be restored"),
    "large config": (lambda f, p: pack(f, p | {"index.yml": b"#" * 5_000_000}), "impossible size"),
    "faulty config": (lambda f, p: pack(f, p | {"index.yml": b"collections: 7\n"}), "index.yml is faulty"),
    "cut short": (raw(lambda d: d[: len(d) // 2]), "truncated"),
    "without an end": (raw(lambda d: d.rstrip(b"\0")), "truncated"),
    "flipped in the index": (raw(lambda d: flipped(d, 70_000)), "damaged"),
    "flipped in a header": (raw(lambda d: flipped(d, 10)), "not a backup"),
    "no manifest": (raw(lambda d: d[: d.index(b"manifest.json")] + bytes(1024)), "no manifest"),
    "no index": (lambda f, p: pack(f, {"index.yml": p["index.yml"]}), "no index.sqlite"),
    "empty": (lambda f, _: f.write_bytes(b""), "not a backup"),
    "nought": (lambda f, _: f.write_bytes(bytes(4096)), "no manifest"),
    "text": (lambda f, _: f.write_text("hello" * 1000), "not a backup"),
    "compressed": (raw(gzip.compress), "not a backup"),
    "a bare database": (lambda f, p: f.write_bytes(p["index.sqlite"]), "not a backup"),
    "format of the future": (lambda f, p: pack(f, p, format=2), "another gnod"),
    "manifest that is none": (lambda f, p: pack(f, p, documents="many"), "manifest cannot be read"),
    "another program's database": (lambda f, p: pack(f, p | {"index.sqlite": strangers_database()}), "another program"),
    "no database": (lambda f, p: pack(f, p | {"index.sqlite": b"x" * 9000}), "cannot be restored"),
    "empty database": (lambda f, p: pack(f, p | {"index.sqlite": b""}), "another program"),
    "newer schema": (
        index("UPDATE schema_meta SET value = '999' WHERE key = 'version'"),
        "newer gnod (schema 999",
    ),
    "another schema of before": (index(BEFORE_RELEASE, "DROP TABLE llm_cache"), "before the first release"),
    "no version": (index("DELETE FROM schema_meta"), "has no version"),
    "trigger": (
        index("CREATE TRIGGER t AFTER UPDATE ON collections BEGIN DELETE FROM documents; END"),
        "does not create",
    ),
    "view": (index("CREATE VIEW v AS SELECT load_extension('/tmp/x.so')"), "does not create"),
    "table missing": (index("DROP TABLE llm_cache"), "does not create"),
    "column more": (index("ALTER TABLE tags ADD COLUMN more TEXT"), "does not create"),
    "orphans": (index("PRAGMA foreign_keys = OFF", "DELETE FROM collections"), "damaged"),
    "full text that lies": (index("DELETE FROM documents_fts_docsize"), "no search would find"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_the_reason(name: str, victim: Machine) -> None:
    make, reason = HOSTILE[name]
    file = victim.folder / "bad.tar"
    make(file, members(victim.folder / "good.tar"))
    # A different config is checked if its restore is requested.
    said = refusal(victim, "index.restore", path=str(file), config="config" in name)
    assert reason in said
    assert str(file) in said
    assert [hit["path"] for hit in victim.call("search.lexical", query="heron")["hits"]] == ["a.md"]
    assert leftovers(victim) == []
    assert kept(victim) == []
    assert not Path("/tmp/evil").exists()
    file.unlink()


def test_paths_that_are_not_files_are_refused(victim: Machine) -> None:
    os.mkfifo(victim.folder / "pipe")
    for name, reason in {
        "pipe": "not a regular file",
        "nowhere": "no such file",
        "notes": "not a regular file",
    }.items():
        assert reason in refusal(victim, "index.restore", path=str(victim.folder / name))
    assert "must be absolute" in refusal(victim, "index.restore", path="good.tar")
    for method in ("index.backup", "index.restore"):
        assert "too long" in refusal(victim, method, path="/" + "x" * 300)
        assert "NUL" in refusal(victim, method, path="/a\0b")


def test_what_must_not_be_overwritten_is_not(victim: Machine) -> None:
    good = victim.folder / "good.tar"
    done = victim.run("backup", str(good))
    assert done.returncode == 2
    assert "--force" in done.stderr
    victim.call("index.backup", path=str(good), force=True)
    for precious in (victim.database, victim.config, victim.notes / "a.md"):
        before = precious.read_bytes()[:100]
        assert "not a backup of gnod" in refusal(victim, "index.backup", path=str(precious), force=True)
        assert precious.read_bytes()[:100] == before
    assert "is a folder" in refusal(victim, "index.backup", path=str(victim.notes), force=True)
    assert "no folder" in refusal(victim, "index.backup", path=str(victim.folder / "nowhere" / "b.tar"))
    assert leftovers(victim) == []


def test_without_a_terminal_nothing_is_restored(victim: Machine) -> None:
    done = victim.run("restore", str(victim.folder / "good.tar"))
    assert done.returncode == 2
    assert "--yes" in done.stderr


@pytest.mark.stress
def test_a_full_disk_leaves_nothing_half(machine: Machine) -> None:
    notes(machine, 3, "heron")
    machine.ok("init", str(machine.notes), "--name", "notes")
    machine.ok("backup", str(machine.folder / "good.tar"))
    machine.ok("daemon", "stop")
    small = machine.folder / "small"
    small.mkdir()
    with namespace(machine, "--mount") as inside:
        inside.run(f"mount -t tmpfs -o size=10M none {small}")
        inside.run(f"head -c 2000000 /dev/zero > {small}/other")
        inside.start_daemon()
        gnoctl = f"{sys.executable} -m gnoctl"
        said = inside.run(f"{gnoctl} backup {small}/b.tar; test $? = 2")
        assert "no space" in said
        assert inside.run(f"ls -A {small}") == "other"
        # The disk fills up during the restore: there is room for its beginning.
        inside.run(f"rm {small}/other; mount -o remount,size=100k {small}")
        assert "no space" in inside.run(f"{gnoctl} backup {small}/b.tar; test $? = 2")
        assert inside.run(f"ls -A {small}") == ""
        # The index itself is on the full disk.
        inside.run(f"mount -t tmpfs -o size=1500k none {small}; mkdir {small}/data")
        inside.run(f"{gnoctl} daemon stop")
        machine.environment["GNO_DATA_DIR"] = f"{small}/data"
        inside.run(f"export GNO_DATA_DIR={small}/data")
        inside.start_daemon()
        said = inside.run(f"{gnoctl} restore --yes {machine.folder}/good.tar; test $? = 2")
        assert "no space" in said
        assert "staging" not in inside.run(f"ls -A {small}/data")
        assert "3 documents" in inside.run(f"{gnoctl} index -q; {gnoctl} status")  # the daemon serves as before


@pytest.mark.stress
def test_ctrl_c_leaves_the_index_as_it_was(machine: Machine) -> None:
    notes(machine, 30, "heron")
    machine.ok("init", str(machine.notes), "--name", "notes")
    file = machine.folder / "b.tar"
    machine.ok("backup", str(file))
    notes(machine, 30, "otter")
    machine.ok("index")
    chance = random.Random(7)
    for _ in range(4):
        command = chance.choice((["backup", "--force", str(file)], ["restore", "--yes", str(file)]))
        process = subprocess.Popen(
            [sys.executable, "-m", "gnoctl", *command],
            env=machine.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(chance.uniform(0.05, 0.5))
        process.send_signal(signal.SIGINT)
        process.wait(60)
        wait_until(lambda: len(machine.paths("otter", "--fresh", "-n", "100")) == 30)
        assert assert_whole(members(file)["index.sqlite"]) == 30
    wait_until(lambda: leftovers(machine) == [])


@pytest.mark.stress
@pytest.mark.parametrize("command", ["backup", "restore"])
def test_killed_at_any_moment_nothing_is_lost(command: str, machine: Machine) -> None:
    notes(machine, 60, "heron")
    machine.ok("init", str(machine.notes), "--name", "notes")
    file = machine.folder / "b.tar"
    machine.ok("backup", str(file))
    chance = random.Random(command)
    request: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": f"index.{command}"}
    request["params"] = {"path": str(file)} | ({"force": True} if command == "backup" else {})
    for _ in range(6):
        pid = machine.pid()
        with machine.connect() as client:
            client.sendall(json.dumps(request).encode() + b"\n")
            time.sleep(chance.uniform(0.0, 0.4))
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: not alive(pid))
        assert assert_whole(members(file)["index.sqlite"]) == 60
        with closing(apsw.Connection(str(machine.database))) as connection:
            assert connection.execute("SELECT count(*) FROM documents WHERE active").get == 60
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert len(machine.paths("heron", "-n", "100")) == 60  # starts the daemon
        for path in kept(machine):
            assert not machine.database.samefile(path)
            assert assert_whole(path.read_bytes()) == 60
            path.unlink()
        assert [name for name in leftovers(machine) if "staging" in name] == []
    machine.ok("backup", "--force", str(file))
    assert leftovers(machine) == []
