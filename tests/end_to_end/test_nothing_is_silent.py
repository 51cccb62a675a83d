"""What is not indexed is counted by its reason and can be listed; a failure that the user has seen is not repeated."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.machine import Machine, wait_until

pytestmark = pytest.mark.slow


def skipped(machine: Machine) -> dict[str, int]:
    (collection,) = machine.call("index.status")["collections"]
    assert sum(collection["skipped_by_kind"].values()) == collection["skipped"]
    return dict(collection["skipped_by_kind"])


def test_skipped_and_failed_files(machine: Machine) -> None:
    machine.write(a_md="---\ntitle: Re: colon: twice\nloose words\n---\nheron\n", empty_md="")
    files = {"photo.png": b"\x89PNG\r\n\x1a\n", "x.mp4": b"\0\0\0\x18ftypmp42", ".b.md.icloud": b"bplist00"}
    for name, data in files.items():
        (machine.notes / name).write_bytes(data)
    (machine.notes / "bad.docx").write_bytes(b"PK\x03\x04 damaged")
    machine.ok("collection", "add", str(machine.notes), "--name", "notes", "--ocr", "off")
    machine.quiet()

    assert skipped(machine) == {"needs_ocr": 1, "unsupported": 1, "empty": 1, "not_downloaded": 1}
    status = machine.ok("status")
    assert "1 need OCR (pictures and scans)" in status
    assert "1 not downloaded from their cloud" in status
    listed = machine.ok("ls", "notes", "--skipped")
    assert all(name in listed for name in (*files, "empty.md"))
    assert machine.json("ls", "--skipped", "-n", "1")["total"] == 4
    assert "line 3, `loose words`" in machine.ok("why", "notes/a.md")

    assert machine.call("search.lexical", query="heron")["freshness"]["failed"] == 1
    assert "1 failure acknowledged" in machine.run("status", "--acknowledge").stderr
    assert machine.call("search.lexical", query="heron")["freshness"]["failed"] == 0
    assert "1 of them acknowledged" in machine.ok("status")
    (machine.notes / "worse.docx").write_bytes(b"PK\x03\x04 damaged too")
    wait_until(lambda: machine.call("search.lexical", query="heron")["freshness"]["failed"] == 1)


def test_a_file_that_is_moved_to_the_cloud_stays_searchable(machine: Machine) -> None:
    machine.write(a_md="heron\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    path = machine.notes / "a.md"
    try:
        os.setxattr(path, "user.onedriver.status", b"Cloud")
    except (AttributeError, OSError):
        pytest.skip("the file system keeps no attributes")
    os.utime(path, (1, 1))
    machine.ok("index")
    assert machine.paths("heron") == ["a.md"]
    assert skipped(machine) == {"not_downloaded": 1}
    os.setxattr(path, "user.onedriver.status", b"Local")
    os.utime(path, (2, 2))
    machine.ok("index")
    assert skipped(machine) == {}


def replaced(path: Path, text: str) -> None:
    """Write a text of the same size, with the time of modification of before."""
    found = path.stat()
    with path.open("r+") as file:
        file.write(text)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert path.stat().st_size == found.st_size


def test_a_file_of_the_same_size_and_time_is_read_again(machine: Machine) -> None:
    machine.write(a_md="The oldword is here.\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    path = machine.notes / "a.md"
    replaced(path, "The newword is here.\n")
    wait_until(lambda: machine.paths("newword") == ["a.md"])
    assert machine.paths("oldword", "--exact") == []
    machine.ok("daemon", "stop")
    replaced(path, "The endword is here.\n")
    assert machine.paths("endword", "--fresh") == ["a.md"]
    assert machine.paths("newword", "--exact") == []
    assert "compared with the disk now: names, sizes, inodes, times of modification and of change" in machine.ok(
        "status", "--verify"
    )
