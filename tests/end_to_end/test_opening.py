"""`gnoctl open` and `document.locate` lead from a hit to the place in its source."""

from __future__ import annotations

import zipfile

import pytest

from tests.machine import Machine, wait_until
from tests.pdf_files import pdf

pytestmark = pytest.mark.slow


@pytest.fixture
def library(machine: Machine) -> Machine:
    machine.write(deploy_md="# Deployment\n\n\n\nTo deploy, run it.\n")
    (machine.notes / "report.pdf").write_bytes(pdf(["one", "two zqx002", "three zqx003"]))
    machine.ok("init", str(machine.notes), "--name", "notes")
    return machine


def printed(library: Machine, ref: str) -> str:
    done = library.run("open", ref, "--print", EDITOR="vim")
    return done.stdout if done.returncode == 0 else done.stderr


def test_a_hit_opens_where_it_was_found(library: Machine) -> None:
    (hit,) = library.json("search", "zqx003")["hits"]
    address = f"{hit['uri']}#{hit['location']['fragment']}"
    label = f"{hit['collection']}/{hit['path']}:{hit['location']['label']}"
    report = library.notes / "report.pdf"
    with library.config.open("a") as config:
        config.write("\nviewers:\n  - files: [PDF]\n    command: [my-viewer, '{page}', '{path}']\n")
    wait_until(lambda: printed(library, address).startswith("my-viewer"))
    for ref in (address, label, f"{report}:p3"):
        assert printed(library, ref) == f"my-viewer 3 {report}\n"
    note = library.notes / "deploy.md"
    (hit,) = library.json("search", "run")["hits"]
    assert printed(library, f"notes/{hit['path']}:{hit['line']}") == f"vim +5 {note}\n"


def test_a_file_in_an_archive_opens_the_archive(library: Machine) -> None:
    archive = library.notes / "old.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("inner.md", "# Inner\n\nThe heron stands.\n")
        writer.writestr("inner.pdf", pdf(["one zqx009"]))
    library.ok("index")
    done = library.run("open", "notes/old.zip!/inner.md:3", "--print", "--with", "my-viewer {path}")
    assert done.stdout == f"my-viewer {archive}\n"
    answer = library.answer("document.boxes", ref="notes/old.zip!/inner.pdf", query="zqx009")
    assert "is inside another file" in answer["error"]["message"]


def test_boxes_of_a_page(library: Machine) -> None:
    found = library.json("get", "notes/report.pdf:p3", "--boxes", "THREE zqx")
    assert (found["page"], found["width"], found["height"], found["stale"]) == (3, 612, 792, False)
    assert [box["text"] for box in found["boxes"]] == ["three", "zqx003"]
    assert 72 <= found["boxes"][0]["x0"] < found["boxes"][0]["x1"] < found["boxes"][1]["x0"]
    assert (
        "deploy.md has no pages"
        in library.answer("document.boxes", ref="notes/deploy.md", query="x")["error"]["message"]
    )
