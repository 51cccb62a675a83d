"""An index on a small file system that is full or read-only. Nothing is lost, searches continue, status reports the
problem, and indexing resumes without help."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.namespace import Namespace, namespace
from tests.machine import Machine, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Disk:
    """The file system with the index, seen from inside its namespace."""

    def __init__(self, machine: Machine, inside: Namespace) -> None:
        self.machine = machine
        self.path = machine.folder / "data"
        self._inside = inside

    def fill(self) -> None:
        self._inside.run(f"dd if=/dev/zero of={self.path}/ballast bs=4k 2>/dev/null || true")

    def empty(self) -> None:
        self._inside.run(f"rm {self.path}/ballast")

    def run(self, command: str) -> str:
        return self._inside.run(command)

    def start(self) -> None:
        self._inside.start_daemon()

    def log(self) -> list[dict[str, Any]]:
        text = self.run(f"cat {self.path}/logs/gnod-default.log || true")
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@pytest.fixture
def disk(machine: Machine) -> Iterator[Disk]:
    (machine.folder / "data").mkdir()
    with namespace(machine, "--mount") as inside:
        inside.run(f"mount -t tmpfs -o size=16m tmpfs {machine.folder}/data")
        yield Disk(machine, inside)


def texts(first: int, last: int, words: int = 300) -> dict[str, str]:
    return {
        f"n{n}_md": f"# Note {n}\n\nkestrel word{n} " + f"it is the filler{n} " * (words // 2)
        for n in range(first, last)
    }


def found(machine: Machine) -> int:
    return len(machine.call("search.lexical", query="kestrel", limit=100)["hits"])


def begin(disk: Disk, count: int = 20) -> None:
    disk.start()
    disk.machine.write(**texts(0, count))
    disk.machine.ok("init", str(disk.machine.notes), "--name", "notes")
    wait_until(lambda: found(disk.machine) == count, 60)
    disk.machine.quiet()


@pytest.mark.stress
def test_changes_during_a_full_disk_are_indexed_later(disk: Disk) -> None:
    machine = disk.machine
    begin(disk)
    disk.fill()
    machine.write(**texts(20, 40))
    wait_until(lambda: machine.call("index.status")["collections"][0]["watch_reason"], 60)
    status = machine.call("index.status")
    assert "is free: work continues when there is more" in status["collections"][0]["watch_reason"]
    assert status["freshness"]["pending"] == 20
    assert found(machine) == 20
    assert "of the disk that holds" in machine.ok("status")
    disk.empty()
    wait_until(lambda: found(machine) == 40, 60)
    assert machine.quiet()["freshness"]["current"]


@pytest.mark.stress
def test_a_disk_that_fills_in_the_middle_of_a_sync_loses_nothing(disk: Disk) -> None:
    """The files are too much for the disk, which has enough space at the start."""
    machine = disk.machine
    begin(disk)
    disk.run(f"dd if=/dev/zero of={disk.path}/ballast bs=1M count=11 2>/dev/null || true")
    machine.write(**texts(20, 60, words=20_000))
    wait_until(lambda: "no space left on the disk" in said(machine) or "less than 1 %" in said(machine), 60)
    assert found(machine) >= 20
    failed = [line for line in disk.log() if line["event"] == "sync.failed"]
    assert len(failed) <= 3
    disk.empty()
    disk.run(f"mount -o remount,size=200m {disk.path}")
    wait_until(lambda: found(machine) == 60, 90)
    assert machine.quiet()["storage_problems"] == []
    assert_whole(disk)


@pytest.mark.stress
def test_a_cleanup_without_disk_space_fails_and_loses_nothing(disk: Disk) -> None:
    machine = disk.machine
    begin(disk, 60)
    disk.fill()
    refused = machine.run("cleanup")
    assert refused.returncode != 0
    assert "no space left" in refused.stderr
    assert found(machine) == 60
    disk.empty()
    wait_until(lambda: machine.call("index.status")["storage_problems"] == [], 60)
    machine.ok("cleanup")
    assert found(machine) == 60
    assert_whole(disk)


@pytest.mark.stress
def test_a_disk_that_fills_while_chunks_are_embedded_loses_nothing(disk: Disk, minilm_onnx: Path) -> None:
    machine = disk.machine
    machine.config.parent.mkdir()
    machine.config.write_text(
        f'collections:\n  - {{name: notes, path: {machine.notes}, models: {{embed: "file:{minilm_onnx}"}}}}\n'
    )
    disk.start()
    machine.ok("pause")
    count = 200  # their vectors alone take 300 kB
    machine.write(**{f"n{n}_md": f"# Kestrel {n}\n\nIt flew {n} miles.\n" for n in range(count)})
    wait_until(lambda: machine.call("document.list", scope="notes")["total"] == count, 60)
    machine.quiet()
    machine.ok("cleanup")
    disk.fill()
    disk.run(f"truncate -s -250K {disk.path}/ballast")  # space for some of the vectors
    machine.ok("resume")
    wait_until(lambda: "no space left" in said(machine) or "less than 1 %" in reason(machine), 60)
    assert machine.call("index.status")["embedding"]["pending"] > 0
    assert found(machine) == 100
    disk.empty()
    wait_until(lambda: machine.call("index.status")["embedding"]["pending"] == 0, 90)
    assert machine.call("index.status")["embedding"]["failed"] == 0
    assert len(machine.call("search.vector", query="a bird in the air", limit=100)["hits"]) == 100
    assert machine.quiet()["storage_problems"] == []
    assert_whole(disk)


@pytest.mark.stress
def test_a_start_without_room_says_what_is_wrong(disk: Disk) -> None:
    disk.fill()
    for _ in range(2):  # the remains of the first attempt do not prevent the second
        said = disk.run(f"{sys.executable} -m gnod 2>&1; true")
        assert "no space left" in said
        assert "Traceback" not in said
    disk.empty()
    begin(disk)
    assert_whole(disk)


@pytest.mark.stress
def test_the_daemon_works_without_space_for_its_log(disk: Disk) -> None:
    machine = disk.machine
    disk.run(f"mkdir -p {disk.path}/logs && mount -t tmpfs -o size=4k tmpfs {disk.path}/logs")
    disk.run(f"dd if=/dev/zero of={disk.path}/logs/ballast bs=4k 2>/dev/null || true")
    begin(disk)
    assert found(machine) == 20
    assert machine.run("daemon", "logs").returncode in (0, 1, 2)
    disk.run(f"rm {disk.path}/logs/ballast")
    machine.ok("index")
    assert disk.log() != []


@pytest.mark.stress
def test_a_read_only_disk_is_reported_at_the_start(disk: Disk) -> None:
    begin(disk)
    disk.machine.hang_up()
    disk.machine.ok("daemon", "stop")
    disk.run(f"mount -o remount,ro {disk.path}")
    said = disk.run(f"{sys.executable} -m gnod 2>&1; true")
    assert "writable for you, or set GNO_DATA_DIR" in said
    disk.run(f"mount -o remount,rw {disk.path}")
    disk.start()
    assert found(disk.machine) == 20


def said(machine: Machine) -> str:
    status = machine.call("index.status")
    return f"{status['storage_problems']} {status['collections'][0]['watch_reason']}"


def reason(machine: Machine) -> str:
    return str(machine.call("index.status")["embedding"]["reason"])


def assert_whole(disk: Disk) -> None:
    """Check with doctor, because the file is in another namespace. Call it once, because it repairs damage."""
    checks = {check["name"]: check for check in disk.machine.call("doctor.run")["checks"]}
    assert checks["database"]["status"] == "ok", checks["database"]
