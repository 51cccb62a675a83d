"""`gnoctl capture` writes notes with the right folder, name and head, and searches find them at once."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machine import Machine, temporary_machine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with temporary_machine() as machine:
        machine.configure()
        machine.write(a_md="# Zebra\n")
        machine.ok("update")
        yield machine


@pytest.fixture
def capturing(machine: Machine) -> Iterator[Machine]:
    before = machine.config.read_text()
    yield machine
    machine.config.write_text(before)


def test_a_note_is_found_at_once(capturing: Machine) -> None:
    printed = capturing.ok("capture", "# Ask Mara about: the heat pump", "\n\nBy Friday #house").strip()
    today = f"{datetime.date.today()}"
    file = capturing.notes / "Inbox" / f"{today} Ask Mara about the heat pump.md"
    assert printed == str(file)
    assert capturing.paths("heat pump") == [f"Inbox/{today} Ask Mara about the heat pump.md"]
    assert capturing.paths("tag:house") == [f"Inbox/{today} Ask Mara about the heat pump.md"]
    assert capturing.paths(f"date:{today}") != []
    head, _, rest = (
        (capturing.notes / "Inbox" / f"{today} Ask Mara about the heat pump.md").read_text().partition("\n\n")
    )
    assert re.fullmatch(rf"---\ncreated: {today}T\d\d:\d\d:\d\d\n---", head)
    assert rest == "# Ask Mara about: the heat pump \n\nBy Friday #house\n"


def test_no_file_is_replaced(capturing: Machine) -> None:
    files = [capturing.json("capture", "Milk")["source"] for _ in range(3)]
    assert [file.rpartition(" ")[2] for file in files] == ["Milk.md", "2.md", "3.md"]


def test_templates(capturing: Machine) -> None:
    capturing.config.write_text(
        capturing.config.read_text()
        + 'capture: {collection: notes, folder: a/b, name: "{title} ({date}) {x}", head: "# {title}\\n\\n"}\n'
    )
    written = capturing.json("capture", "--", "- [ ] Buy `nails`")
    assert written["uri"] == f"gno://notes/a/b/Buy%20%60nails%60%20({datetime.date.today()})%20%7Bx%7D.md"
    assert Path(written["source"]).read_text() == "# Buy `nails`\n\n- [ ] Buy `nails`\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("../../etc/passwd", "etc passwd"),
        ("\n\n---\n\nTitle after a rule", "Title after a rule"),
        ("...", "note"),
        ("界" * 200, "界" * 60),
        ("🦓" * 100 + " b", "🦓" * 57),
        ("1. first [[link|shown]]", "first link shown"),
        ("word " * 100, ("word " * 12).strip()),
        ("a\tb\x1bc", "a b c"),
        ("שלום עולם", "שלום עולם"),
    ],
)
def test_names_of_files(capturing: Machine, text: str, name: str) -> None:
    written = capturing.call("document.capture", text=text)["source"]
    assert re.sub(r"( \d)?\.md$", "", written.rpartition("/")[2]) == f"{datetime.date.today()} {name}"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("folder: ../elsewhere", "is not inside the collection"),
        ("folder: /tmp", "is not inside the collection"),
        ("folder: outside", "is not inside the collection"),
        ("folder: a.md", "cannot write a note"),
        ("collection: nobody", "there is no collection 'nobody'"),
        ("folder: node_modules", "would not be indexed"),
    ],
)
def test_where_notes_cannot_go(capturing: Machine, setting: str, message: str) -> None:
    link = capturing.notes / "outside"
    if not link.is_symlink():
        link.symlink_to(capturing.folder)
    capturing.config.write_text(capturing.config.read_text() + f"capture: {{{setting}}}\n")
    failed = capturing.run("capture", "Zebra")
    assert failed.returncode != 0
    assert message in failed.stderr


def test_which_collection(capturing: Machine) -> None:
    other = capturing.folder / "other"
    other.mkdir()
    capturing.configure(other)
    failed = capturing.run("capture", "Zebra")
    assert failed.returncode == 2
    assert "notes, other" in failed.stderr
    assert capturing.json("capture", "Zebra", "-c", "other")["source"].startswith(str(other / "Inbox"))


def test_nothing_to_write(capturing: Machine) -> None:
    failed = capturing.run("capture", "")
    assert failed.returncode == 2
    assert failed.stderr
