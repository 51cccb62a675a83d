"""`gnoctl open` as a process, with programs on the PATH that record their arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from gnod.errors import NotFound
from gnod.protocol.base import Location
from gnod.protocol.documents import DocumentLocateParams, DocumentPlace
from tests.client import samples
from tests.client.conftest import Gnoctl, Spawn
from tests.client.fake_daemon import FakeDaemon
from tests.machine import wait_until

NAME = "-x $(touch pwned) 'a' \"b\"\n;{line}.pdf"


def place(**changes: Any) -> DocumentPlace:
    return DocumentPlace(**asdict(samples.entry()) | changes)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH. Its programs record their arguments in `NAME.argv`, each followed by NUL."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    for name in ("VISUAL", "EDITOR", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return folder


def add(programs: Path, name: str, then: str = "") -> Path:
    """Add a program; return the file in which it records its arguments."""
    record = programs / f"{name}.argv"
    script = programs / name
    script.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" > '{record}.new'\n/bin/mv '{record}.new' '{record}'\n{then}\n")
    script.chmod(0o755)
    return record


def recorded(record: Path) -> list[str]:
    wait_until(record.exists)
    return record.read_text().split("\0")[:-1]


def test_a_pdf_opens_at_its_page(daemon: FakeDaemon, spawn: Spawn, programs: Path) -> None:
    source = f"{programs}/{NAME}"
    location = Location(page=12, label="p12")
    daemon.answers["document.locate"] = place(source=source, mime="application/pdf", location=location, stale=True)
    # The viewer continues after gnoctl has ended.
    record = add(programs, "zathura", "/bin/sleep 5")
    process = spawn("open", "notes/report.pdf:p12", DISPLAY=":9")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert "has changed since" in err
    assert recorded(record) == ["-P", "12", source]
    assert daemon.asked(DocumentLocateParams).ref == "notes/report.pdf:p12"
    assert not Path("pwned").exists()


def test_text_opens_in_the_editor_and_its_status_is_returned(daemon: FakeDaemon, spawn: Spawn, programs: Path) -> None:
    daemon.answers["document.locate"] = place(source="/d/a.md", line=40)
    record = add(programs, "my-editor", "exit 7")
    process = spawn("open", "#a1b2c3d4", EDITOR="my-editor '+{line}' --plain {path}")
    assert process.wait(timeout=60) == 7
    assert recorded(record) == ["+40", "--plain", "/d/a.md"]


def test_the_config_chooses_the_program(daemon: FakeDaemon, spawn: Spawn, programs: Path) -> None:
    viewer = ["shower", "--at", "{page}", "{path}"]
    daemon.answers["document.locate"] = place(source="/d/a.pptx", location=Location(slide=3), viewer=viewer)
    record = add(programs, "shower")
    assert spawn("open", "notes/a.pptx").wait(timeout=60) == 0
    assert recorded(record) == ["--at", "3", "/d/a.pptx"]


def test_print_runs_nothing(daemon: FakeDaemon, gnoctl: Gnoctl, programs: Path) -> None:
    daemon.answers["document.locate"] = place(source="/d/a\n b.pdf", mime="application/pdf")
    record = add(programs, "evince")
    assert gnoctl("open", "notes/a.pdf", "--print") == (0, "evince --page-index=1 $'/d/a\\x0a b.pdf'\n", "")
    assert gnoctl("open", "notes/a.pdf", "--print", "--with", "less").out.startswith("less ")
    assert not record.exists()


def test_messages_if_nothing_opens_or_not_at_the_page(
    daemon: FakeDaemon, gnoctl: Gnoctl, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = Location(page=12, label="p12")
    daemon.answers["document.locate"] = place(source="/d/a.pdf", mime="application/pdf", location=location)
    assert "no program was found to open /d/a.pdf" in gnoctl("open", "#a1b2c3d4").err
    add(programs, "xdg-open", "exit 3")
    outcome = gnoctl("open", "#a1b2c3d4")
    assert outcome.status == 2
    assert "no display is available to show /d/a.pdf, p12: `gnoctl get` prints the text" in outcome.err
    monkeypatch.setenv("DISPLAY", ":9")
    assert "xdg-open could not open /d/a.pdf (status 3)" in gnoctl("open", "#a1b2c3d4").err
    add(programs, "xdg-open", "exit 0")
    assert gnoctl("open", "#a1b2c3d4") == (0, "", "xdg-open shows the first page: the hit is on page 12\n")
    outcome = gnoctl("open", "#a1b2c3d4", "--with", "no-such-program")
    assert outcome.err == "gnoctl: no-such-program cannot be started: No such file or directory\n"
    daemon.answers["document.locate"] = NotFound("/d/a.pdf is not there any more")
    assert gnoctl("open", "#a1b2c3d4") == (2, "", "gnoctl: /d/a.pdf is not there any more\n")
