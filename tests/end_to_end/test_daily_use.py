"""Daily use: point gnoctl at a folder and search it. Bad input gives one clear sentence and the right exit status."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machine import Machine, wait_until
from tests.pdf_files import pdf

pytestmark = pytest.mark.slow


@pytest.fixture
def machine(emptied: Machine) -> Machine:
    """A machine whose daemon serves all tests."""
    return emptied


@pytest.fixture
def fresh(short_tmp: Path) -> Iterator[Machine]:
    with Machine(short_tmp) as machine:
        yield machine


def test_from_nothing_to_an_answer(machine: Machine) -> None:
    machine.run("daemon", "stop")
    machine.write(a_md="# Zebra\n\nStripes.\n")
    first = machine.run("init", str(machine.notes))
    assert first.returncode == 0
    assert "started gnod" in first.stderr
    again = machine.run("search", "zebra")
    assert "started gnod" not in again.stderr
    assert "notes/a.md:1" in again.stdout


def test_a_hit_tells_all(busy: Machine) -> None:
    result = busy.json("search", "deploy", "--full")
    (hit,) = result["hits"]
    assert hit["uri"] == "gno://notes/deploy.md"
    assert hit["source"] == str(busy.notes / "deploy.md")
    assert (hit["title"], hit["line"], hit["tags"]) == ("Deployment", 6, ["ops"])
    assert 0.3 < hit["score"] <= 1
    start, end = hit["marks"][0]
    assert hit["snippet"][start:end] == "Deployment"
    assert hit["snippet"].startswith("Deployment")
    assert hit["text"].startswith("---\ntags")
    assert (result["freshness"]["failed"], result["freshness"]["state"]) == (1, "current")


def test_a_file_that_cannot_be_read_is_left_to_status(busy: Machine) -> None:
    for asked in (("deploy", "--files"), ("deploy", "--fresh"), ("nowhere-at-all",)):
        done = busy.run("search", *asked)
        said = done.stdout + done.stderr
        assert not any(words in said for words in ("could not be read", "current", "syncing")), said
    status = busy.ok("status")
    assert "notes: 1 file could not be read" in status
    assert "\ncurrent\ncompared with the disk now: names, sizes, inodes" in status


def test_get_in_every_way(busy: Machine) -> None:
    whole = busy.ok("get", "gno://notes/deploy.md")
    assert whole.startswith("---\ntags: [ops]\n---\n# Deployment\n")
    docid = busy.json("search", "deploy")["hits"][0]["docid"]
    for ref in ("notes/deploy.md", docid, docid[:7], str(busy.notes / "deploy.md")):
        assert busy.ok("get", ref) == whole, ref
    assert busy.run("get", "deploy.md", cwd=busy.notes).stdout == whole
    assert busy.ok("get", "notes/deploy.md:4", "-l", "1") == "# Deployment\n"
    assert busy.ok("get", "notes/deploy.md", "--from", "6", "-l", "1").startswith("To deploy")
    beyond = busy.run("get", "notes/deploy.md", "--from", "999")
    assert (beyond.returncode, beyond.stdout) == (2, "")
    assert beyond.stderr == "gnoctl: gno://notes/deploy.md has no line 999: its last line is 6\n"
    assert busy.ok("get", "notes/deploy.md#deployment", "-l", "1") == "# Deployment\n"


def test_multi_get_and_ls(busy: Machine) -> None:
    got = busy.json("multi-get", "notes/**/*.md", "notes/nothing.md")
    assert [d["path"] for d in got["documents"]] == ["d/cpp.md", "deploy.md", "umlaut.md"]
    assert got["skipped"][0]["ref"] == "notes/nothing.md"
    (skipped,) = busy.json("multi-get", "notes/deploy.md", "notes/d/cpp.md", "--max-bytes", "40")["skipped"]
    assert skipped["ref"] == "gno://notes/deploy.md"
    assert "d/cpp.md" in busy.ok("ls", "notes/d")
    assert busy.json("ls")["total"] == 3


def test_status_and_why(busy: Machine) -> None:
    (status,) = busy.json("status")["collections"]
    assert (status["on_disk"], status["indexed"], status["failed"], status["skipped"]) == (5, 3, 1, 1)
    assert "broken.pdf" in busy.ok("status", "--errors")
    wait_until(lambda: "postings for fast keyword search: all documents" in busy.ok("status"))
    verdicts = {
        "deploy.md": "indexed",
        "broken.pdf": "failed",
        "empty.md": "skipped",
        "nowhere.md": "missing",
        ".git/config": "missing",
    }
    for path, verdict in verdicts.items():
        assert busy.json("why", str(busy.notes / path))["collections"][0]["verdict"] == verdict, path
    assert busy.json("why", "/etc/hosts")["collections"] == []
    assert "indexed" in busy.run("why", "deploy.md", cwd=busy.notes).stdout


def test_doctor_and_daemon_status(busy: Machine) -> None:
    doctor = busy.json("doctor")
    (files,) = (check for check in doctor["checks"] if check["name"] == "files")
    assert (files["status"], files["message"]) == ("ok", "1 file could not be read")
    assert doctor["healthy"], [check for check in doctor["checks"] if check["status"] != "ok"]
    status = busy.json("daemon", "status")
    assert status["index"] == "default"
    assert str(busy.socket) in busy.ok("socket")
    assert "daemon.started" in busy.ok("daemon", "logs", "--json")


def test_collections_come_and_go(machine: Machine) -> None:
    machine.write(a_md="# Zebra\n")
    other = machine.folder / "other place"
    other.mkdir()
    (other / "b.md").write_text("# Zebra too\n")
    machine.ok("init", str(machine.notes))
    machine.ok("collection", "add", str(other))
    assert {c["name"] for c in machine.json("collection", "list")["collections"]} == {"notes", "other-place"}
    assert machine.paths("zebra", "-c", "other-place") == ["b.md"]
    before = machine.json("get", "other-place/b.md")
    machine.ok("context", "add", "gno://other-place/", "About stripes")
    machine.ok("collection", "rename", "other-place", "second")
    after = machine.json("search", "zebra", "-c", "second")["hits"][0]
    assert after["docid"] == before["docid"]
    assert after["context"] == "About stripes"
    machine.ok("collection", "remove", "second")
    assert machine.paths("zebra") == ["a.md"]
    assert machine.json("context", "list")["contexts"] == []
    assert (other / "b.md").exists()


def test_update_runs_the_collections_command(machine: Machine) -> None:
    machine.write(a_md="# Zebra\n")
    machine.ok("collection", "add", str(machine.notes), "--update", "echo '# Lion' > pulled.md")
    assert machine.paths("lion") == []
    machine.ok("update")
    assert machine.paths("lion") == ["pulled.md"]
    machine.config.write_text(machine.config.read_text().replace("echo '# Lion' > pulled.md", "exit 7"))
    failed = machine.run("update")
    assert failed.returncode == 2
    assert "exit status 7" in failed.stderr


def test_cleanup_forgets_what_was_removed(machine: Machine) -> None:
    machine.write(a_md="# Zebra\n", b_md="# Lion\n")
    machine.ok("init", str(machine.notes))
    (machine.notes / "b.md").unlink()
    machine.ok("index")
    assert machine.json("why", str(machine.notes / "b.md"))["collections"][0]["verdict"] == "deleted"
    assert machine.json("cleanup")["removed_documents"] == 1
    assert machine.json("why", str(machine.notes / "b.md"))["collections"][0]["verdict"] == "missing"
    assert machine.paths("zebra") == ["a.md"]


def test_a_config_changed_by_hand_is_in_force_without_a_restart(machine: Machine) -> None:
    machine.write(a_md="# Zebra\n")
    machine.ok("init", str(machine.notes))
    other = machine.folder / "other"
    other.mkdir()
    (other / "b.md").write_text("# Lion\n")
    entry = f"collections:\n  - name: other # my own comment\n    path: {other}\n"
    machine.config.write_text(machine.config.read_text().replace("collections:\n", entry, 1))
    wait_until(lambda: machine.paths("lion") == ["b.md"])
    machine.ok("context", "add", "/", "Everything")
    assert "# my own comment" in machine.config.read_text()

    good = machine.config.read_text()
    machine.config.write_text(good + "collections: twice\n")
    wait_until(lambda: machine.json("status")["config_error"])
    assert machine.paths("lion") == ["b.md"]  # the last good config stays in force
    machine.config.write_text(good)
    wait_until(lambda: not machine.json("status")["config_error"])


def test_a_missing_folder_keeps_its_documents(machine: Machine) -> None:
    machine.write(a_md="# Zebra\n")
    machine.ok("init", str(machine.notes))
    machine.notes.rename(machine.folder / "away")
    gone = machine.run("index")
    assert gone.returncode == 2
    assert "does not exist" in gone.stderr + gone.stdout
    result = machine.json("search", "zebra")
    assert [hit["path"] for hit in result["hits"]] == ["a.md"]
    assert result["freshness"]["unavailable"] == ["notes"]
    Path(machine.folder / "away").rename(machine.notes)
    machine.ok("index")
    assert machine.json("search", "zebra")["freshness"]["unavailable"] == []


def test_a_hit_in_a_pdf_names_its_page(machine: Machine) -> None:
    (machine.notes / "report.pdf").write_bytes(pdf(["An anchor", "A lantern", "A buoy"]))
    machine.ok("init", str(machine.notes))
    assert "notes/report.pdf:p2" in machine.ok("search", "lantern")
    (hit,) = machine.json("search", "lantern")["hits"]
    assert hit["location"] == {"page": 2, "label": "p2", "fragment": "page=2"}
    docid = hit["docid"]
    for reference in ("notes/report.pdf:p2", "gno://notes/report.pdf#page=2", f"{docid}:p2", f"{docid}#page=2"):
        assert machine.ok("get", reference).split() == ["A", "lantern"], reference
    assert machine.ok("get", str(machine.notes / "report.pdf:p2")).split() == ["A", "lantern"]
    unknown = machine.run("get", "notes/report.pdf:p4")
    assert unknown.returncode != 0
    assert "notes/report.pdf has no page 4: it has pages 1 to 3" in unknown.stderr
    (passage,) = machine.json("evidence", "where is the lantern")["passages"]
    assert passage["location"]["page"] == 2
    assert "notes/report.pdf:p2" in machine.ok("ask", "where is the lantern")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["search", 'say "hello'], "quotation mark is not closed"),
        (["search", "--", "-only"], "only excludes words"),
        (["search", ""], "the query has no words"),
        (["search", "zebra", "-c", "nowhere"], "no collection 'nowhere'"),
        (["search", "zebra", "--since", "soon"], "is not a date"),
        (["search", "zebra", "--since", "2026-01-02", "--until", "2026-01-01"], "is after until 2026-01-01: swap"),
        (["search", "zebra", "--since", "1d", "--until", "7d"], "is after until 7d: swap"),
        (["get", "notes/nowhere.md"], "no document"),
        (["get", "/etc/passwd"], "is not in the folder of a collection"),
        (["collection", "add", "/nowhere/at/all"], "does not exist"),
        (["collection", "add", "{notes}", "--name", "Bad Name"], "not valid"),
        (["collection", "add", "{notes}", "--name", "notes"], "notes"),
        (["collection", "remove", "nowhere"], "no collection 'nowhere'"),
        (["collection", "rename", "notes", "Bad Name"], "not valid"),
        (["context", "add", "nonsense scope", "text"], "scope"),
        (["index", "nowhere"], "no collection 'nowhere'"),
    ],
)
def test_validation_errors(busy: Machine, arguments: list[str], sentence: str) -> None:
    arguments = [argument.replace("{notes}", str(busy.notes)) for argument in arguments]
    done = busy.run(*arguments)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert busy.paths("deploy") == ["deploy.md"]


def test_a_config_with_errors_names_them_all(fresh: Machine) -> None:
    fresh.config.parent.mkdir()
    faulty = "collections:\n  - name: Bad Name\n    path: 3\ncontext: []\ningest:\n  timeout_s: soon\n"
    fresh.config.write_text(faulty)
    done = fresh.run("search", "x")
    assert done.returncode == 2
    for fault in ("index.yml:2", "index.yml:3", "index.yml:6"):
        assert fault in done.stderr
    assert fresh.config.read_text() == faulty


def test_folders_that_cannot_be_written(fresh: Machine) -> None:
    Path(fresh.folder / "data").write_text("a file where the folder should be")
    done = fresh.run("status")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert str(fresh.folder / "data") in done.stderr
