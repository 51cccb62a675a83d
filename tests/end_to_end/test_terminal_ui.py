"""`gnoctl ui` with a real daemon. Textual's pilot presses the keys; one test uses a real terminal (tmux)."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.containers import Vertical
from textual.pilot import Pilot
from textual.strip import Strip

from gnoctl.ui.app import UserInterface
from gnoctl.ui.lines import ShownLines
from gnoctl.ui.links import LinkPane
from gnoctl.ui.narrowing import Narrowing
from gnoctl.ui.styles import is_match
from gnod.paths import resolve
from tests.machine import Machine, temporary_machine, wait_until
from tests.waiting import until

pytestmark = pytest.mark.slow

HOSTILE = "[red]title[/red] \x1b]0;owned\x07"
NOTES = {
    "boats_md": "---\ntags: [water]\n---\n# Boats\n\nThe **heron** is a boat.\n\n"
    "| berth | boat |\n| --- | --- |\n| A1 | heron |\n",
    "birds_md": "---\ntags: [water, air]\n---\n# Birds\n\n"
    + "A line of text.\n\n" * 60
    + "At the end a heron stands.\n",
    "hostile_md": f"# {HOSTILE}\n\nThe heron \x1b[2J is here.\n",
    "table.csv": "bird,size\n" + "".join(f"bird{n},{n}\n" for n in range(300)),
    "code__herons.py": 'def heron(count: int) -> str:\n    """Name a heron."""\n    return f"heron {count}"\n',
}
Drive = Pilot[str]


@pytest.fixture(scope="module")
def shared() -> Iterator[Machine]:
    with temporary_machine() as machine, pytest.MonkeyPatch.context() as patch:
        for name, value in machine.environment.items():
            patch.setenv(name, value)
        machine.write(**NOTES)
        machine.ok("init", str(machine.notes), "--name", "notes")
        yield machine


@contextlib.asynccontextmanager
async def driven(size: tuple[int, int] = (120, 30), **options: Any) -> AsyncIterator[tuple[UserInterface, Drive]]:
    interface = UserInterface(resolve(), **options)
    async with interface.run_test(size=size) as pilot:
        await until(lambda: interface.watched.collections is not None)
        yield interface, pilot


async def typed(pilot: Drive, words: str) -> None:
    await pilot.press(*("space" if char == " " else char for char in words))


def titles(interface: UserInterface) -> list[str]:
    return [hit.title for hit in interface.results.hits]


def drawn(widget: Any) -> str:
    strips: list[Strip] = [widget.render_line(y) for y in range(widget.size.height)]
    return "\n".join(strip.text.rstrip() for strip in strips)


def bar(interface: UserInterface, name: str) -> str:
    return str(interface.query_one(f"#{name}").render())


def widths(interface: UserInterface) -> tuple[int, int]:
    return interface.results.size.width, interface.preview.size.width


async def test_results_and_preview_follow_what_is_typed(shared: Machine) -> None:
    async with driven() as (interface, pilot):
        await until(lambda: len(titles(interface)) == 5)
        assert bar(interface, "found") == "Type to search 5 documents. These changed last."
        await typed(pilot, "hero")
        await until(lambda: len(titles(interface)) == 4)
        await typed(pilot, "n berth")
        await until(lambda: titles(interface)[:1] == ["Boats"])
        await until(lambda: "heron is a boat" in drawn(interface.preview))
        shown = drawn(interface.preview)
        assert "**" not in shown
        assert "| A1" not in shown  # a table is drawn as a table
        assert "A1" in shown
        words = {segment.text for strip in interface.preview._lines for segment in strip if is_match(segment.style)}
        assert words == {"heron", "berth"}
        await pilot.press("escape")
        assert interface.input.value == ""
        await until(lambda: len(titles(interface)) == 5)


async def test_old_results_are_dimmed_while_the_daemon_is_stopped(shared: Machine) -> None:
    pid = shared.pid()
    async with driven(query="heron") as (interface, _):
        await until(lambda: interface.results.hits)
        os.kill(pid, signal.SIGSTOP)
        try:
            interface.input.value = "heron berth"
            await until(lambda: "waiting for the daemon" in bar(interface, "found"))
            assert interface.results.is_stale
            styles = [each.style for each in interface.results.render_line(0) if each.text.strip() and each.style]
            assert styles
            assert all(style.dim for style in styles)
        finally:
            os.kill(pid, signal.SIGCONT)
        await until(lambda: titles(interface)[:1] == ["Boats"] and not interface.results.is_stale)
        assert "waiting" not in bar(interface, "found")


async def test_what_a_document_says_reaches_the_terminal_as_text(shared: Machine) -> None:
    async with driven(query="path:hostile heron") as (interface, pilot):
        await until(lambda: "is here" in drawn(interface.preview))
        shown = drawn(interface.results) + drawn(interface.preview)
        assert "[red]title[/red]" in shown
        assert "\x1b" not in shown
        await pilot.press("ctrl+a")
        await pilot.press("escape")


async def test_the_preview_goes_to_every_match(shared: Machine) -> None:
    async with driven(query="bird*") as (interface, pilot):
        await until(lambda: "table" in titles(interface))
        await pilot.press(*["down"] * titles(interface).index("table"))
        await until(lambda: "301 × found" in drawn(interface.preview))
        await pilot.press("tab", "N")
        await until(lambda: "bird299" in drawn(interface.preview))  # far below the loaded part
        await pilot.press("n", "n")
        await until(lambda: "2 of 301" in drawn(interface.preview))
        assert "bird0 " in drawn(interface.preview)


async def test_the_preview_begins_at_the_hit_and_code_has_colours(shared: Machine) -> None:
    async with driven(query="stands") as (interface, pilot):
        await until(lambda: "a heron stands" in drawn(interface.preview))
        await pilot.press("tab", "home", "up")
        await until(lambda: "a heron stands" not in drawn(interface.preview))
        await pilot.press("tab")
        interface.input.value = "def heron"
        await until(lambda: "return f" in drawn(interface.preview))
        styles = {segment.style.color for strip in interface.preview._lines for segment in strip if segment.style}
        assert len(styles) > 2
        interface.input.value = "bird250"
        await until(lambda: "bird251" in drawn(interface.preview))
        assert "|" not in drawn(interface.preview)


@pytest.mark.stress
async def test_the_selected_document_stays_selected_when_files_change(shared: Machine) -> None:
    new = shared.notes / "new.md"
    async with driven(query="heron") as (interface, pilot):
        await until(lambda: len(titles(interface)) == 4)
        await pilot.press("down", "down")
        selected = interface.results.selected
        assert selected
        assert interface.results.cursor == 2
        try:
            new.write_text("# Heron heron heron\n\nheron heron\n")
            await until(lambda: len(titles(interface)) == 5)
            assert interface.results.selected
            assert interface.results.selected.docid == selected.docid
        finally:
            new.unlink()
        await until(lambda: len(titles(interface)) == 4)


async def test_filters_count_and_narrow(shared: Machine) -> None:
    async with driven(query="heron") as (interface, pilot):
        await until(lambda: len(titles(interface)) == 4)
        await pilot.press("f2")
        await until(lambda: "[ ] air" in drawn(interface.screen.query_one(ShownLines)))
        pane = interface.screen.query_one(Vertical).region
        assert (pane.width, pane.right, pane.height) == (46, 120, 30)  # the results stay visible beside it
        lines = drawn(interface.screen.query_one(ShownLines)).splitlines()
        counts = {line.split()[-2]: line.split()[-1] for line in lines if "[ ]" in line}
        assert (counts["notes"], counts["water"], counts["air"], counts["notes/code"]) == ("4", "2", "1", "1")
        rows = [line for line in lines if "[ ]" in line]
        kind = next(at for at, line in enumerate(rows) if " py " in line)
        await pilot.press(*["down"] * kind, "space")
        await until(lambda: len(titles(interface)) == 1)
        # The user can also choose another type. For the other fields, only values of this document are counted.
        await until(lambda: re.search(r"\[ \] air +0$", drawn(interface.screen.query_one(ShownLines)), re.MULTILINE))
        assert re.search(rf"\[ \] md +{counts['md']}$", drawn(interface.screen.query_one(ShownLines)), re.MULTILINE)
        await pilot.press("space", *["down"] * (next(at for at, line in enumerate(rows) if " air " in line) - kind))
        await until(lambda: len(titles(interface)) == 4)
        await pilot.press("space")
        await until(lambda: titles(interface) == ["Birds"])
        assert interface.session.narrowing == Narrowing.to(tags=["air"])
        await pilot.press("delete")
        await until(lambda: len(titles(interface)) == 4)
        await pilot.press("escape")


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(
    ("connection", "copied"), [(None, "# Café 日本"), ("::1 22 ::1 22", None)], ids=["here", "ssh"]
)
async def test_a_mac_also_gets_what_is_copied(
    connection: str | None, copied: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pbcopy = tmp_path / "pbcopy"
    pbcopy.write_text(f'#!/bin/sh\ntest "$LC_CTYPE" = UTF-8 && cat > {shlex.quote(str(tmp_path))}/pasteboard\n')
    pbcopy.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    if connection:
        monkeypatch.setenv("SSH_CONNECTION", connection)  # the pasteboard belongs to the other machine
    async with driven() as (interface, _):
        interface.copy_to_clipboard("# Café 日本")
        assert interface.clipboard == "# Café 日本"
    pasteboard = tmp_path / "pasteboard"
    assert (pasteboard.read_text("utf-8") if pasteboard.exists() else None) == copied


@pytest.mark.usefixtures("shared")
async def test_an_event_while_the_screen_is_taken_down_is_no_error() -> None:
    async with driven() as (interface, _):
        pass
    with interface._context():
        interface.say("late")


async def test_copying_and_asking(shared: Machine) -> None:
    boats = shared.notes / "boats.md"
    async with driven(query="berth") as (interface, pilot):
        await until(lambda: titles(interface) == ["Boats"])
        copied = []
        for _ in range(4):
            await pilot.press("ctrl+y")
            copied.append(interface.clipboard)
        line = interface.results.hits[0].line
        assert copied[0] == copied[3] == f"{boats}:{line}"
        assert copied[1:3] == [
            f"Boats, notes/boats.md, line {line} <gno://notes/boats.md:{line}>",
            f"gno://notes/boats.md:{line}",
        ]
        assert "Ctrl-Y again" in bar(interface, "found")
        interface.input.value = "where does a heron stand"
        await until(lambda: interface.session.query.endswith("stand"))
        await pilot.press("ctrl+a")
        await until(lambda: "At the end a heron stands." in drawn(interface.screen.query_one(ShownLines)))
        await pilot.press("escape")


async def test_links_are_followed_there_and_back(shared: Machine) -> None:
    shared.write(
        hub_md=f"# The hub\n\nTo [[Boats]], to [[gone]] and to [[spoke]].\n\n## {HOSTILE}\n",
        spoke_md="# A spoke\n\nBack to the [[hub]].\n",
        nothing_md="# Nothing\n\nOf the hub, without a link.\n",
    )
    async with driven(query="path:hub") as (interface, pilot):
        await until(lambda: titles(interface) == ["The hub"])
        await pilot.press("ctrl+l")
        links = interface.screen
        assert isinstance(links, LinkPane)
        await until(lambda: "Related" in drawn(links.lines))
        shown = drawn(links.lines)
        for expected in (
            "Links 3\n▌ notes/boats.md\n  gone  (no such document)\n  notes/spoke.md\n",
            "Backlinks 1\n  A spoke  notes/spoke.md:3\n    Back to the hub.\n",
            "Mentions without a link 1\n  Nothing  notes/nothing.md:3\n    Of the hub, without a link.\n",
        ):
            assert expected in shown
        await until(lambda: "heron is a boat" in drawn(links.preview))
        await pilot.press("down", "down", "down")
        await until(lambda: "Back to the" in drawn(links.preview))
        await pilot.press("enter")
        await until(lambda: "notes/hub.md:3" in drawn(links.lines))
        shared.write(new_md="# New\n\nTo the [[spoke]].\n")
        await until(lambda: "New  notes/new.md:3" in drawn(links.lines))
        await pilot.press("t")
        await until(lambda: "▌ A spoke  notes/spoke.md  1 out, 2 in\n" in drawn(links.lines))
        assert "    ← New" in drawn(links.lines)
        assert "Boats" in drawn(links.lines)
        await pilot.press("1")
        await until(lambda: "Boats" not in drawn(links.lines))
        await pilot.press("t", "backspace")
        await until(lambda: "▌ A spoke  notes/spoke.md:3" in drawn(links.lines))
        await pilot.press("escape")
        assert interface.screen is not links
    for name in ("hub", "spoke", "nothing", "new"):
        (shared.notes / f"{name}.md").unlink()
    shared.ok("index")


async def test_a_small_screen_shows_one_pane_at_a_time(shared: Machine) -> None:
    async with driven((60, 15), query="berth") as (interface, pilot):
        await until(lambda: titles(interface) == ["Boats"])
        assert widths(interface) == (60, 0)
        await pilot.press("tab")
        await until(lambda: "heron is a boat" in drawn(interface.preview))
        assert widths(interface) == (0, 60)
        await pilot.press("f1", "escape", "escape")
        await until(lambda: widths(interface) == (60, 0))
        interface.input.value = "stands"
        await until(lambda: titles(interface) == ["Birds"])
        await pilot.press("tab")
        await until(lambda: "a heron stands" in drawn(interface.preview))
        assert bar(interface, "keys").rstrip().endswith("F1 help")


@pytest.mark.stress
async def test_an_empty_index_a_daemon_that_hangs_and_one_that_crashes(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in machine.environment.items():
        monkeypatch.setenv(name, value)
    async with driven(query="heron") as (interface, pilot):
        await until(lambda: "gnoctl collection add FOLDER" in drawn(interface.results))
        machine.write(a_md="# A heron\n")
        machine.ok("collection", "add", str(machine.notes))
        await until(lambda: titles(interface) == ["A heron"])
        stopped = machine.pid()
        os.kill(stopped, signal.SIGSTOP)
        await typed(pilot, " [/x]")
        assert interface.input.value == "heron [/x]"
        await pilot.press("f1", "f1")
        os.kill(stopped, signal.SIGCONT)
        await until(lambda: interface.session.result and interface.session.result.query == "heron [/x]")
        await pilot.press("ctrl+a")
        await until(lambda: "heron [/x]" in drawn(interface.screen.query_one(ShownLines)))
        await pilot.press("escape")
        machine.kill()
        await until(lambda: "does not answer, trying again" in bar(interface, "status"))
        machine.write(b_md="# A heron and a berth\n")
        interface.input.value = "berth"
        await until(lambda: titles(interface) == ["A heron and a berth"])
        await until(lambda: "current" in bar(interface, "status"))


def _editor(folder: Path) -> tuple[Path, Path]:
    """Return an editor that writes its arguments to a file, and that file."""
    editor, opened = folder / "vim", folder / "opened"
    editor.write_text(f'#!/bin/sh\necho "$@" > {shlex.quote(str(opened))}.part\nmv {opened}.part {opened}\n')
    editor.chmod(0o755)
    return editor, opened


class Tmux:
    """A terminal of tmux with its own server. A context manager, which ends the server."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._command = ["tmux", "-S", str(folder / "t"), "-f", "/dev/null"]
        self._environment = {**environment, "PYTHONPATH": str(Path.cwd()), "LC_ALL": "C.UTF-8"}
        self.run("new-session", "-d", "-x", "110", "-y", "24", "bash", "--norc")

    def __enter__(self) -> Tmux:
        return self

    def __exit__(self, *_: object) -> None:
        self.run("kill-server")

    def run(self, *words: str) -> str:
        command = [*self._command, *words]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, check=True).stdout

    def keys(self, *keys: str) -> None:
        self.run("send-keys", *keys)

    def shows(self, words: str) -> None:
        try:
            wait_until(lambda: words in self.run("capture-pane", "-p"))
        except AssertionError:
            raise AssertionError(f"{words!r} is not on the screen: {self.run('capture-pane', '-p')}") from None


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
def test_with_the_keys_of_a_real_terminal(shared: Machine, short_tmp: Path) -> None:
    editor, opened = _editor(short_tmp)
    gnoctl = shlex.join([sys.executable, "-m", "gnoctl", "ui"])
    with Tmux(short_tmp, {**shared.environment, "EDITOR": str(editor)}) as tmux:
        tmux.keys(f'gnoctl() {{ {sys.executable} -m gnoctl "$@"; }}', "Enter")
        tmux.keys('eval "$(gnoctl completion bash)"; clear', "Enter")
        tmux.keys("echo chosen:,", "Left", "C-g")
        tmux.shows("Type to search")
        tmux.keys("berth")
        tmux.shows("1 of 1 document")
        tmux.keys("Enter")
        tmux.shows(f"echo chosen:{shared.notes}/boats.md,")
        tmux.keys("Enter")
        tmux.shows(f"\nchosen:{shared.notes}/boats.md,")
        tmux.keys(f"clear; {gnoctl} stands", "Enter")
        tmux.shows("At the end a heron stands.")
        tmux.keys("Enter")
        wait_until(opened.exists)
        assert opened.read_text() == f"+126 {shared.notes}/birds.md\n"
        tmux.shows("Enter open")
        tmux.keys("C-t")
        tmux.shows("gnoctl models use auto")
        tmux.keys("F1")
        tmux.shows("Show all keys")
        tmux.keys("F1")
        tmux.shows("Enter open")
        tmux.keys("C-z")
        tmux.shows("Stopped")
        tmux.keys("fg", "Enter")
        tmux.shows("At the end a heron stands.")
        tmux.keys("C-c")
        wait_until(lambda: "Enter open" not in tmux.run("capture-pane", "-p"))


def test_lines_instead_of_a_screen(shared: Machine) -> None:
    command = [sys.executable, "-m", "gnoctl", "ui", "--linear"]
    lines = "berth\n:p 1\n:c 1\n:m meaning\n:m keyword\nheron\n9\n:a where does a heron stand\n:z\n:q\nnever read\n"
    done = subprocess.run(command, input=lines, env=shared.environment, capture_output=True, text=True, check=True)
    for expected in (
        "5 documents. Type a query, or :h for help.\n1 hit for berth\n1. Boats\nnotes/boats.md:",
        "Boats, lines ",
        "<gno://notes/boats.md:",
        "there is no mode meaning",
        "4 hits for heron",
        "there is no hit 9",
        "At the end a heron stands.",
        "there is no command :z",
    ):
        assert expected in done.stdout
    assert "\x1b" not in done.stdout
    assert "never" not in done.stdout
    shared.write(to_boats_md="# To boats\n\nSee [[boats]] and [[gone]].\n")
    lines = "path:to_boats\n:l 1\n:l 1\n:t 1\n:b\n:b\n:p 1\n:b\n:b\n:l 9\n"
    done = subprocess.run(command, input=lines, env=shared.environment, capture_output=True, text=True, check=True)
    (shared.notes / "to_boats.md").unlink()
    for expected in (
        "Links 2\n1. notes/boats.md\ngone  (no such document)\nBacklinks 0\nMentions without a link 0\n",
        "Links 0\nBacklinks 1\n1. To boats  notes/to_boats.md:3\n  See boats and gone.\n",
        "2 documents\n1. To boats  notes/to_boats.md  1 out, 0 in\n2.   → Boats  notes/boats.md  0 out, 1 in\n",
        "The **heron** is a boat",
        "there is no previous list",
        "there is no hit 9",
    ):
        assert expected in done.stdout
    command += ["--print"]
    done = subprocess.run(command, input="berth\n1\n", env=shared.environment, capture_output=True, text=True)
    assert done.stdout == f"{shared.notes}/boats.md\n"


def test_without_a_terminal(shared: Machine) -> None:
    done = shared.run("ui")
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    assert "hybrid, keyword or vector, not 'x'" in shared.run("ui", "--mode", "x").stderr
