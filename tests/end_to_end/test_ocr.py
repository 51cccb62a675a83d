"""A real daemon makes scans and pictures searchable after the texts, and recognises no page twice."""

from __future__ import annotations

import io
import sqlite3

import pytest

from tests.machine import Machine, wait_until
from tests.pdf_files import pdf
from tests.pictures import drawn, encoded

pytestmark = pytest.mark.slow
pytest.importorskip("rapidocr", reason="the extra `ocr` is not installed")


@pytest.fixture
def machine(emptied: Machine) -> Machine:
    """A machine whose daemon serves all tests."""
    return emptied


def mixed_pdf(*scanned: str) -> bytes:
    """A PDF whose first page has text; the others are pictures of text."""
    import pypdfium2  # type: ignore[import-untyped]

    document = pypdfium2.PdfDocument(pdf(["zqxwritten page"]))
    scan = encoded(*(drawn(words) for words in scanned), kind="PDF")
    document.import_pages(pypdfium2.PdfDocument(scan))
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def pages(machine: Machine) -> dict[int, tuple[int, str]]:
    """Return the state and the text of each page that OCR has processed or queued."""
    connection = sqlite3.connect(f"file:{machine.folder}/data/index-default.sqlite?mode=ro", uri=True)
    try:
        rows = connection.execute("SELECT page, state, text FROM scanned_pages").fetchall()
    finally:
        connection.close()
    return {page: (state, text) for page, state, text in rows}


@pytest.mark.stress
def test_scans_are_found_and_a_kill_repeats_nothing(machine: Machine) -> None:
    machine.write(note_md="# A note\n")
    (machine.notes / "photo.png").write_bytes(encoded(drawn("Invoice zqxseven from Zürich")))
    machine.ok("init", str(machine.notes), "--name", "notes")
    assert machine.paths("photo") == ["photo.png"]  # found by its name, before OCR
    wait_until(lambda: machine.paths("zqxseven") == ["photo.png"])
    found = machine.json("get", "notes/photo.png", "--boxes", "zqxseven")
    assert (found["width"], found["height"], found["recognised"]) == (800, 108, True)
    [box] = found["boxes"]
    (layer,) = machine.call("document.layers", ref="notes/photo.png")["layers"]
    assert layer["recognised"]
    assert any("zqxseven" in run["text"] and run["x0"] < box["x1"] for run in layer["runs"])
    # The word is drawn at x 123 to 237 and y 30 to 60. Its position on the line is an estimate.
    assert box["text"] == "zqxseven"
    assert abs(box["x0"] - 123) < 30 > abs(box["x1"] - 237)
    assert box["y0"] < 40 < 50 < box["y1"] < 80

    machine.ok("pause")
    (machine.notes / "mixed.pdf").write_bytes(mixed_pdf("The zqxeight page", "The zqxnine page"))
    assert machine.paths("zqxwritten", "--fresh") == ["mixed.pdf"]
    wait_until(lambda: machine.json("status")["ocr"]["state"] == "paused")
    status = machine.json("status")["ocr"]
    assert (status["pending"], status["reason"]) == (2, "paused: run `gnoctl resume`")
    assert "ocr: 2 pages left" in machine.ok("status")
    assert "OCR of 2 pages or pictures is pending" in machine.ok("why", str(machine.notes / "mixed.pdf"))

    machine.ok("resume")
    wait_until(lambda: pages(machine)[2][0] == 1)
    machine.kill()
    connection = sqlite3.connect(machine.folder / "data" / "index-default.sqlite")
    with connection:
        # A second recognition would give page 2 its own text. Page 3 may have been completed before the kill.
        connection.execute("UPDATE scanned_pages SET text = 'zqxmarked' WHERE page = 2")
        connection.execute("UPDATE scanned_pages SET state = 0, text = NULL WHERE page = 3")
        connection.execute("UPDATE documents SET pages_used = 0 WHERE path = 'mixed.pdf'")
    connection.close()
    machine.ok("status")  # starts the daemon
    wait_until(lambda: machine.paths("zqxmarked") == ["mixed.pdf"])
    wait_until(lambda: machine.paths("zqxnine") == ["mixed.pdf"])
    [hit] = machine.json("search", "zqxnine")["hits"]
    assert hit["location"]["page"] == 3
    found = machine.json("get", "notes/mixed.pdf:p3", "--boxes", "zqxnine")
    assert [box["text"] for box in found["boxes"]] == ["zqxnine"]
    assert found["recognised"]

    # A copy has the same pages under another name.
    before = pages(machine)
    (machine.notes / "copy.pdf").write_bytes((machine.notes / "mixed.pdf").read_bytes())
    wait_until(lambda: "copy.pdf" in machine.paths("zqxmarked"))
    assert pages(machine) == before


def test_the_setting_takes_effect_at_once(machine: Machine) -> None:
    (machine.notes / "photo.png").write_bytes(encoded(drawn("Invoice zqxseven")))
    machine.ok("init", str(machine.notes), "--name", "notes")
    wait_until(lambda: machine.paths("zqxseven") == ["photo.png"])
    config = machine.folder / "config" / "index.yml"
    written = config.read_text()
    config.write_text(
        written.replace("collections:\n  - name: notes\n", "collections:\n  - name: notes\n    ocr: off\n")
    )
    wait_until(lambda: machine.paths("zqxseven") == [])
    assert "`ocr` is off for this collection" in machine.ok("why", str(machine.notes / "photo.png"))
    config.write_text(written)
    wait_until(lambda: machine.paths("zqxseven") == ["photo.png"])


def test_the_setting_is_given_with_the_folder(machine: Machine) -> None:
    (machine.notes / "photo.png").write_bytes(encoded(drawn("Invoice zqxseven")))
    machine.ok("collection", "add", str(machine.notes), "--name", "notes", "--ocr", "off")
    assert "`ocr` is off for this collection" in machine.ok("why", str(machine.notes / "photo.png"))
    refused = machine.run("collection", "add", str(machine.folder), "--name", "other", "--ocr", "german")
    assert refused.returncode == 2
    assert "expected on, off, or languages such as 'ru,de', got 'german'" in refused.stderr
