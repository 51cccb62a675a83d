"""Files that are not indexed are counted by reason and can be listed. Acknowledged failures are not mentioned again."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from tests.machine import Machine, wait_until
from tests.pdf_files import pdf

PNG = b"\x89PNG\r\n\x1a\n"
# The text of a font without a character map
NOISE = "cpRy4#&+yPV ]q2Z@^bZ!mr |obZ@/[{t^br@ ;j=^Zz#kq j=u}t}^l{m~ " * 3

pytestmark = pytest.mark.slow


@pytest.fixture
def machine(emptied: Machine) -> Machine:
    """A machine whose daemon serves all tests."""
    return emptied


def skipped(machine: Machine) -> dict[str, int]:
    (collection,) = machine.call("index.status")["collections"]
    assert sum(collection["skipped_by_kind"].values()) == collection["skipped"]
    return dict(collection["skipped_by_kind"])


def test_skipped_and_failed_files(machine: Machine) -> None:
    machine.write(a_md="heron\n", empty_md="")
    files = {"photo.png": PNG, "x.mp4": b"\0\0\0\x18ftypmp42", ".b.md.icloud": b"bplist00"}
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

    assert machine.call("search.lexical", query="heron")["freshness"]["failed"] == 1
    assert "1 failure acknowledged" in machine.run("status", "--acknowledge").stderr
    assert machine.call("search.lexical", query="heron")["freshness"]["failed"] == 0
    assert "1 of them acknowledged" in machine.ok("status")
    (machine.notes / "worse.docx").write_bytes(b"PK\x03\x04 damaged too")
    wait_until(lambda: machine.call("search.lexical", query="heron")["freshness"]["failed"] == 1)


def failures(machine: Machine) -> dict[str, tuple[str, bool, int]]:
    errors = machine.quiet()["errors"]
    return {each["path"]: (each["kind"], each["acknowledged"], each["count"]) for each in errors}


def test_failures_are_acknowledged_and_tried_again_by_their_kind(machine: Machine) -> None:
    for name in ("a.docx", "b.docx"):
        (machine.notes / name).write_bytes(b"PK\x03\x04 damaged")
    machine.write(empty_md="")  # a skipped file, which is not a failure
    (machine.notes / "c.pdf").write_bytes(b"\0" * 40)
    machine.ok("collection", "add", str(machine.notes), "--name", "notes")
    first = failures(machine)
    kinds = {kind for kind, _, _ in first.values()}
    assert first.keys() == {"a.docx", "b.docx", "c.pdf"}

    assert machine.call("index.acknowledge", kinds=["no such kind"])["files"] == 0
    assert machine.call("index.acknowledge", kinds=[*kinds])["files"] == 3
    assert all(is_known for _, is_known, _ in failures(machine).values())
    # If a file changes and fails in the same way, the failure is new to the user.
    (machine.notes / "a.docx").write_bytes(b"PK\x03\x04 damaged in another place")
    wait_until(lambda: not failures(machine)["a.docx"][1])
    assert failures(machine)["b.docx"][1]

    assert machine.call("index.retry", kinds=["no such kind"])["files"] == 0
    assert machine.call("index.retry", collections=["notes"])["files"] == 3
    again = failures(machine)
    assert [count for _, _, count in again.values()] == [3, 2, 2]
    assert not any(is_known for _, is_known, _ in again.values())
    assert machine.answer("index.retry", collections=["other"])["error"]["data"]["kind"] == "collection_not_found"


def test_hidden_files_leave_the_index_at_the_next_sync_and_are_counted(machine: Machine) -> None:
    machine.write(a_md="heron\n", empty_md="")
    hidden = (".obsidian/plugins/heron.md", ".trash/heron.md", ".heron.md")
    for name in hidden:
        (machine.notes / name).parent.mkdir(parents=True, exist_ok=True)
        (machine.notes / name).write_text(f"heron in {name}\n")
    machine.ok("collection", "add", str(machine.notes), "--name", "notes", "--hidden")
    assert sorted(machine.paths("heron")) == sorted(("a.md", *hidden))
    text = machine.config.read_text()
    machine.config.write_text(text.replace("hidden: true", "hidden: false"))
    wait_until(lambda: machine.paths("heron") == ["a.md"])
    (status,) = machine.call("index.status")["collections"]
    assert (status["hidden"], status["indexed"]) == (3, 1)
    assert "notes: skipped: 1 without text, 3 hidden" in machine.ok("status")
    assert "notes: skipped: 1 without text, 3 hidden" in machine.run("ls", "notes", "--skipped").stderr
    assert "it is hidden" in machine.ok("why", str(machine.notes / ".trash/heron.md"))


def test_documents_that_are_read_in_part(machine: Machine) -> None:
    machine.write(a_md="---\ntitle: Re: colon: twice\nloose words\n---\nheron\n", whole_md="heron\n")
    for name in ("one.pdf", "two.pdf"):
        (machine.notes / name).write_bytes(pdf([f"heron in {name}", NOISE, NOISE]))
    with zipfile.ZipFile(machine.notes / "b.zip", "w") as archive:
        archive.writestr("photo.png", PNG)
        archive.writestr("scan.pdf", pdf(["heron in an archive", NOISE]))
    machine.ok("collection", "add", str(machine.notes), "--name", "notes", "--ocr", "off")
    machine.quiet()

    (collection,) = machine.call("index.status")["collections"]
    assert collection["partial_by_kind"] == {"bad_head": 1, "members": 1, "needs_ocr": 3}
    assert collection["skipped"] == 0
    assert "documents read in part: 1 with lines in the frontmatter" in (status := machine.ok("status"))
    assert "3 with pages that need OCR" in status
    listed = machine.json("ls", "--skipped")
    assert listed["total"] == 5
    found = {each["path"]: (each["stage"], each["kind"]) for each in listed["files"]}
    assert found["b.zip!/photo.png"] == ("member", "needs_ocr")
    assert found["one.pdf"] == found["b.zip!/scan.pdf"] == ("part", "needs_ocr")
    assert "needs_ocr (a part)" in (table := machine.ok("ls", "notes", "--skipped"))
    assert "pages 2, 3 without readable text" in table
    assert "line 3, `loose words`" in machine.ok("why", "notes/a.md")

    machine.write(a_md="heron\n")
    (machine.notes / "one.pdf").unlink()
    wait_until(lambda: machine.json("ls", "--skipped")["total"] == 3)


def test_a_file_that_is_moved_to_the_cloud_stays_searchable(machine: Machine) -> None:
    machine.write(a_md="heron\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    path = machine.notes / "a.md"
    try:
        os.setxattr(path, "user.onedriver.status", b"Cloud")
    except (AttributeError, OSError):
        pytest.skip("the file system has no extended attributes")
    os.utime(path, (1, 1))
    machine.ok("index")
    assert machine.paths("heron") == ["a.md"]
    assert skipped(machine) == {"not_downloaded": 1}
    os.setxattr(path, "user.onedriver.status", b"Local")
    os.utime(path, (2, 2))
    machine.ok("index")
    assert skipped(machine) == {}


def replaced(path: Path, text: str) -> None:
    """Write a text of the same size, and restore the modification time."""
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
