"""Hostile files in a watched folder beside healthy notes. A real daemon survives them, names the problem of each, finds
their readable parts, and reads nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import hostile_samples
from tests.machine import Machine, wait_until
from tests.systems import needs_any_name

CORPUS = Path(__file__).parents[3] / "shared" / "corpora" / "hostile"
CANARY = "tweettweet"
# Markers in files that are not documents: truncated, encrypted, of an unknown format, or beyond the limits.
UNREAD = {
    48: "4,096 NULs around it: binary",
    81: "plain text under the name of a PDF",
    82: "a web page under the name of a Word document",
    83: "five letters under the name of an image",
    88: "in an encrypted archive",
    90: "its file name is not UTF-8",
    95: "2 GB",
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def quiet(machine: Machine) -> Any:
    """Wait until everything is indexed, and search healthy notes meanwhile. Return the status."""
    status: Any = None

    def settled() -> bool:
        nonlocal status
        assert found(machine, "harbour") == {"healthy.md"}
        status = machine.call("index.status", errors=True)
        return not (status["syncing"] or status["freshness"]["pending"])

    wait_until(settled, timeout_s=120)
    return status


def found(machine: Machine, query: str) -> set[str]:
    """Return the paths of the hits and of their copies."""
    hits = machine.call("search.lexical", query=query, limit=100)["hits"]
    return {each["path"] for hit in hits for each in (hit, *hit["also"])}


def why(machine: Machine, path: str) -> str:
    """Return the explanation of `gnoctl why` for one path of the collection."""
    return machine.run("why", str(machine.notes / path)).stdout


def start(machine: Machine) -> Any:
    machine.write(healthy_md="# Healthy\n\nThe boat lies in the harbour.\n")
    machine.ok("init", str(machine.notes), "--name", "notes")
    return quiet(machine)


def test_nothing_outside_the_folder_is_read(machine: Machine) -> None:
    outside = machine.folder / "private"
    outside.mkdir()
    canary = outside / "canary.md"
    canary.write_text(f"# Canary\n\n{CANARY}\n")
    hostile_samples.write(machine.notes / "asking", hostile_samples.asking_for(canary))
    hostile_samples.odd_kinds(machine.notes / "odd", canary)
    start(machine)
    assert found(machine, CANARY) == set()
    assert {path.partition("/")[0] for path in found(machine, "harmless")} == {"asking"}
    assert len(found(machine, "harmless")) >= 8
    for file in machine.database.parent.iterdir():
        assert file.is_dir() or CANARY.encode() not in file.read_bytes()
    assert "2,147 MB" in why(machine, "odd/sparse.md")
    assert "not a regular file" in why(machine, "odd/pipe.md")
    assert "symbolic link" in why(machine, "odd/outside.md")


@needs_any_name
def test_odd_names_and_empty_files(machine: Machine) -> None:
    names = hostile_samples.odd_names(machine.notes / "names")
    empty = machine.notes / "empty"
    empty.mkdir()
    for number in range(100):
        (empty / f"{number}.md").touch()
    status = start(machine)
    (notes,) = status["collections"]
    assert notes["skipped"] == 100
    assert "The file is empty." in why(machine, "empty/7.md")
    for name, word in names.items():
        if b"\xff" not in name:
            assert found(machine, word) == {f"names/{os.fsdecode(name)}"}
    assert [error["kind"] for error in status["errors"]] == ["bad_name"]
    assert "not valid UTF-8" in status["errors"][0]["message"]
    (empty / "7.md").write_text("filled at last\n")
    machine.call("index.sync")
    assert found(machine, "filled") == {"empty/7.md"}


@pytest.mark.stress
def test_pdf_files_that_exhaust_a_reader(machine: Machine) -> None:
    """Each file ends as text or at a limit, and searches are answered meanwhile."""
    start(machine)
    with machine.config.open("a") as config:
        config.write("ingest: {timeout_s: 10, memory_mb: 1000}\n")
    machine.ok("daemon", "stop")
    machine.hang_up()
    files = hostile_samples.exhausting_pdfs()
    hostile_samples.write(machine.notes, files)
    machine.start()
    failed = {each["path"]: each["kind"] for each in quiet(machine)["errors"]}
    assert {failed.pop("loop.pdf"), failed.pop("tree.pdf")} == {"corrupt"}
    assert set(failed) <= {"content.pdf", "forms.pdf", "letters.pdf", "objects.pdf", "pages.pdf"}
    assert set(failed.values()) <= {"timeout", "memory", "crashed"}
    assert failed["pages.pdf"] == "timeout"
    assert found(machine, "heron") >= {f"{name}.pdf" for name in ("arrays", "boxes", "fields", "glyphs", "notes")}


@pytest.mark.stress
@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"{CORPUS} does not exist")
def test_the_hostile_corpus(machine: Machine) -> None:
    start(machine)
    maker = [sys.executable, str(CORPUS / "make_hostile.py"), str(machine.notes / "made")]
    subprocess.run(maker, check=True, stdout=subprocess.DEVNULL)
    machine.call("collection.add", path=str(CORPUS / "real"), name="real")
    status = quiet(machine)
    # Root can read files without permission.
    unread = set(UNREAD) | (set() if os.geteuid() == 0 else {92, 93})
    assert {number for number in range(41, 96) if not found(machine, f"zqx{number}")} == unread
    for error in status["errors"]:
        assert error["kind"] in {"corrupt", "encrypted", "bad_name", "unreadable"}, error
        assert not any(vague in error["message"] for vague in ("could not be", "converter failed")), error
    encrypted = {error["path"].rpartition("/")[2] for error in status["errors"] if error["kind"] == "encrypted"}
    assert {"testPassword4Spaces.pdf", "testWORD_protected_passtika.docx", "password.xls"} <= encrypted
    passwd = Path("/etc/passwd").read_text().splitlines()[0]
    for file in machine.database.parent.iterdir():
        assert file.is_dir() or passwd.encode() not in file.read_bytes()
