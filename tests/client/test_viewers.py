"""The choice of the program that opens a file, and its arguments. No process runs here."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnoctl.opening.viewers import (
    PDF,
    System,
    ViewerCommand,
    ViewerTarget,
    choose,
    choose_file_manager,
    choose_window,
    shown,
)
from gnod.errors import Unavailable, UsageError

REPORT = ViewerTarget("/d/a b.pdf", PDF, page=12)
NOTE = ViewerTarget("/d/a b.md", "text/markdown", line=7)
BOOK = ViewerTarget("/d/costs.xlsx", "application/vnd.ms-excel", row=4)


def system(*programs: str, preferred: str = "", is_macos: bool = False, **environment: str) -> System:
    return System(environment, lambda name: name if name in programs else None, lambda: preferred, is_macos=is_macos)


def test_the_file_manager_shows_the_file_or_its_folder() -> None:
    assert choose_file_manager(NOTE, system("xdg-open")).words == ["xdg-open", "/d"]
    assert choose_file_manager(NOTE, system("open", is_macos=True)).words == ["open", "-R", NOTE.path]
    with pytest.raises(Unavailable, match="install xdg-open"):
        choose_file_manager(NOTE, system("open"))


def words(target: ViewerTarget, with_: str) -> list[str]:
    return choose(target, system(), wanted=with_).words


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("vim", "vim +7 PATH"),
        ("nano -w", "nano -w +7 PATH"),
        ("/opt/bin/emacsclient -t", "/opt/bin/emacsclient -t +7 PATH"),
        ("code --wait", "code --wait -g PATH:7"),
        ("hx", "hx PATH:7"),
        ("subl", "subl PATH:7"),
        ("kak", "kak +7 PATH"),
        ("kate", "kate -l 7 PATH"),
        ("less", "less PATH"),
        ("less +{line}g {path}", "less +7g PATH"),
    ],
)
def test_editors_get_the_line_in_their_own_syntax(program: str, expected: str) -> None:
    assert words(NOTE, program) == [word.replace("PATH", NOTE.path) for word in expected.split()]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("zathura", "-P 12 PATH"),
        ("evince", "--page-index=12 PATH"),
        ("okular", "-p 12 PATH"),
        ("sioyek", "--page 12 PATH"),
        ("mupdf", "PATH 12"),
        ("firefox", "file:///d/a%20b.pdf#page=12"),
    ],
)
def test_viewers_get_the_page(program: str, expected: str) -> None:
    command = [program, *(word.replace("PATH", REPORT.path) for word in expected.split())]
    assert choose(REPORT, system(program)) == ViewerCommand(command, has_window=True, gets_page=True)
    assert words(REPORT, program) == command


def test_the_viewer_that_the_desktop_prefers_goes_first() -> None:
    installed = ("zathura", "evince", "okular", "xdg-open")
    for preferred, chosen in {
        "org.gnome.Evince.desktop\n": "evince",
        "okularApplication_pdf.desktop": "okular",
        "org.pwmt.zathura-pdf-mupdf.desktop": "zathura",
        "unknown.desktop": "zathura",
        "": "zathura",
    }.items():
        assert choose(REPORT, system(*installed, preferred=preferred)).words[0] == chosen


def test_the_order_of_what_is_chosen() -> None:
    machine = system("vim", "xdg-open", VISUAL="", EDITOR="nano")
    assert choose(NOTE, machine).words == ["nano", "+7", NOTE.path]
    assert choose(NOTE, machine._replace(environment={"VISUAL": "code -w"})).words[:2] == ["code", "-w"]
    assert choose(NOTE, machine._replace(environment={})).words[0] == "vim"
    assert choose(NOTE, machine, configured=["kak"]).words[0] == "kak"
    assert choose(NOTE, machine, configured=["kak"], wanted="hx").words[0] == "hx"
    assert choose(REPORT, machine) == ViewerCommand(["xdg-open", REPORT.path], has_window=True)
    assert choose(BOOK, machine) == ViewerCommand(["xdg-open", BOOK.path], has_window=True)
    assert choose(BOOK, machine, configured=["sc-im", "{path}", "--row={row}"]).words[-1] == "--row=4"


def test_macos() -> None:
    machine = system("open", is_macos=True)
    assert choose(REPORT, machine) == ViewerCommand(["open", REPORT.path], has_window=True)
    skim = choose(REPORT, machine._replace(has_skim=True))
    assert skim == ViewerCommand(["open", "skim:///d/a%20b.pdf#page=12"], has_window=True, gets_page=True)
    assert machine.has_display
    assert not machine._replace(environment={"SSH_CONNECTION": "::1"}).has_display


def test_nothing_to_open_it_with() -> None:
    with pytest.raises(Unavailable, match="set EDITOR"):
        choose(NOTE, system())
    with pytest.raises(Unavailable, match="under `viewers`"):
        choose(REPORT, system())
    with pytest.raises(Unavailable, match="only a terminal program"):
        choose_window(NOTE, system(EDITOR="hx"))
    for bad in ("", "  ", "'unclosed"):
        with pytest.raises(UsageError, match="--with"):
            choose(NOTE, system(), wanted=bad)


HOSTILE = "/d/$(touch x) `y` 'a' \"b\"\n;{line}{page} -rf*.pdf"


@pytest.mark.parametrize("program", ["vim", "zathura", "code", "firefox", "less", "xdg-open"])
def test_a_hostile_name_stays_one_word(program: str) -> None:
    target = ViewerTarget(HOSTILE, PDF, line=3, page=3)
    made = words(target, program)
    uri = Path(HOSTILE).as_uri()
    assert sum(HOSTILE in word or uri in word for word in made) == 1
    assert len(made) <= 4
    assert all(word.startswith(("/", "+", "-P", "-g", "file:///", "3")) for word in made[1:])


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12), min_size=1))
@example([HOSTILE, "\x1b]0;x\x07", "\u202e", "-x", ""])
def test_a_shown_command_is_safe_and_says_the_same(command: list[str]) -> None:
    line = shown(command)
    assert "\n" not in line
    assert "\x1b" not in line
    if "$'" not in line:
        assert shlex.split(line) == command


def test_a_shell_reads_a_shown_command_as_it_was() -> None:
    command = ["printf", "%s|", HOSTILE, "tab\tbell\x07\u202e", "it's", "é"]
    done = subprocess.run(["bash", "-c", shown(command)], capture_output=True, check=True)
    assert done.stdout.decode() == "".join(f"{word}|" for word in command[2:])


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        (system("xdg-open", VISUAL="code"), ["code", "-g", f"{NOTE.path}:7"]),
        (system("xdg-open", EDITOR="/usr/bin/vim -R"), ["xdg-open", NOTE.path]),
        (system("nano", "xdg-open"), ["xdg-open", NOTE.path]),
        (system("nano", "open", is_macos=True), ["open", NOTE.path]),
    ],
)
def test_a_caller_without_a_terminal_gets_a_window(on: System, expected: list[str]) -> None:
    assert choose_window(NOTE, on).words == expected
