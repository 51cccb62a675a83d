"""Every command on a hostile collection, on a terminal and in a pipe: all of a document, a name or an answer reaches
the terminal as text only."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.end_to_end.test_mcp_server import agent, said
from tests.machine import Machine, temporary_machine, wait_until
from tests.terminal import Terminal

pytestmark = pytest.mark.slow

ESC = "\x1b"
# Retitle, colour, clear, set the clipboard, link; C1's own introducers; DEL and backspace; reversed; a separator.
EVIL = f"{ESC}]0;owned\x07{ESC}[31m{ESC}[2J{ESC}]52;c;b3duZWQ=\x07{ESC}]8;;http://evil{ESC}\\\x9b31m\x9d0;x\x9c\x7f\x08\u202eevil\u2066\u2028"
# A Linux name may contain any byte except the slash and NUL.
EVIL_NAME = f"evil {ESC}[31m\x9b2J\x07\u202e\nforged line.md"

# gnoctl itself writes sequences for colours, for links to files, and for the answer that it redraws.
LINK = r"\x1b\]8;;(?:file://[\w.-]*/[\w/.~%-]+)?\x1b\\"
OURS = re.compile(rf"\x1b\[(?:0|1|2|31|32|33|1;33)m|{LINK}|\r?\x1b\[J|\x1b\[\d+A|\r+\n", re.ASCII)
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def evil() -> Iterator[Machine]:
    with temporary_machine() as machine:
        del machine.environment["NO_COLOR"]
        machine.environment |= {"TERM": "xterm-256color", "COLUMNS": "200"}
        _write(machine.notes)
        machine.run("init", str(machine.notes), "--name", "notes")
        machine.run("context", "add", "notes:", "about\u202e things\x9b31m")
        with machine.config.open("a") as config:
            config.write('"colour\\e[31m\\u009bm": 1\n')
        machine.run("index")
        yield machine


def _write(notes: Path) -> None:
    head = json.dumps({"title": f"Title {EVIL}", "tags": [f"tag{EVIL}"], "author": f"Ada {EVIL}", "type": EVIL})
    (notes / EVIL_NAME).write_text(f"---\n{head}\n---\n# Heading {EVIL}\n\nNeedle in text {EVIL} needle.\n")
    (notes / "plain.md").write_text(f"# =cmd|calc {EVIL}\n\n@needle {EVIL}\n{'needle ' * 30}\n")
    (notes / "-dash.md").write_text("# +1 needle\n\n=1+1 needle\n")
    (notes / f"bad {EVIL_NAME}.pdf").write_bytes(b"%PDF-1.4 " + EVIL.encode())
    (notes / f"empty {EVIL_NAME}").write_text("")
    with contextlib.suppress(OSError):  # a file system that allows only UTF-8 names
        Path(os.fsdecode(os.fsencode(notes) + b"/latin-\xe9-\x9b31m.md")).write_text("# Latin\n\nneedle\n")


def on_terminal(machine: Machine, *words: str, enough: str | None = None) -> str:
    """Return the output of a command on a terminal, both streams. It is ended when its output contains `enough`."""
    with Terminal([sys.executable, "-m", "gnoctl", *words], machine.environment, machine.folder) as terminal:
        if enough:
            terminal.read_until(lambda shown: enough in shown)
            terminal.process.terminate()
        terminal.finish()
    return terminal.shown


def check(shown: str, *words: str) -> None:
    raw = OBEYED.findall(OURS.sub("", shown))
    assert not raw, (words, raw, shown)


NAME = f"notes/{EVIL_NAME}"
SEARCHES = [["search", "needle"], ["vsearch", "needle"], ["query", "needle"], ["similar", NAME]]
FORMATS = [[], ["--json"], ["--csv"], ["--md"], ["--xml"], ["--files"]]
COMMANDS: list[list[str]] = [
    *([*search, *output] for search in SEARCHES[:1] for output in FORMATS),
    *SEARCHES[1:],
    ["search", "needle", "--explain", "--full", "--line-numbers"],
    ["search", "needle", "--tag", EVIL.replace("\n", "")],
    ["search", f'"{EVIL}'],
    ["search", "needle", "-c", f"none{ESC}[31m\x9b"],
    ["search", "needle", "--since", f"{ESC}[31m\x9b\u202e"],
    ["search", "needle", f"--unknown{ESC}[31m\x9b"],
    [f"unknown{ESC}[31m\x9b"],
    *(["ls", *output] for output in FORMATS),
    ["get", NAME],
    ["get", NAME, "--line-numbers"],
    ["get", NAME, "--json"],
    ["get", f"notes/{ESC}[31m\x9b\u202e"],
    *(["multi-get", "notes/*.md", *output] for output in FORMATS),
    ["multi-get", f"notes/{ESC}[31m\x9b"],
    ["why", NAME],
    ["why", f"notes/bad {EVIL_NAME}.pdf"],
    ["why", f"notes/empty {EVIL_NAME}"],
    ["why", f"/nowhere/{EVIL_NAME}"],
    ["ask", "needle", EVIL],
    ["collection", "add", f"/nowhere/{EVIL_NAME}"],
    ["collection", "remove", f"{ESC}[31m\x9b"],
    ["collection", "rename", "notes", f"{ESC}[31m\x9b"],
    ["models", "list", "--quiet"],  # gnoctl draws progress with its own sequences
    ["models", "path", f"hf:{ESC}[31m\x9b"],
    ["models", "use", f"{ESC}[31m\x9b"],
    ["--index", f"{ESC}[31m\x9b", "status"],
    *(
        line.split()
        for line in ("status", "status --errors", "status --errors --json", "context list", "index", "embed")
    ),
    *(line.split() for line in ("collection list", "doctor", "daemon status")),
    *(line.split() for line in ("daemon logs -n 500", "daemon logs -n 500 --json")),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: ascii(" ".join(words))[:60])
def test_no_escape_sequence_reaches_a_terminal(evil: Machine, words: list[str]) -> None:
    shown = on_terminal(evil, *words)
    assert shown.strip()
    assert "Traceback" not in shown
    check(shown, *words)


@pytest.mark.parametrize("output", FORMATS, ids=lambda output: " ".join(output))
def test_no_escape_sequence_reaches_a_pipe(evil: Machine, output: list[str]) -> None:
    """The output of `| less -R` or `| head` also reaches a terminal."""
    for words in (["search", "needle"], ["ls"], ["status", "--errors"]):
        if words[0] == "status" and output not in ([], ["--json"]):
            continue
        done = evil.run(*words, *output)
        assert done.returncode == 0, done.stderr
        check(done.stdout + done.stderr, *words)


HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]")
CALLS: list[tuple[str, dict[str, object]]] = [
    ("search", {"query": "needle"}),
    ("evidence", {"question": "needle"}),
    ("ask", {"question": "needle"}),
    ("read", {"refs": ["notes/*.md"]}),
    ("links", {"what": "orphans"}),
    ("status", {"errors": True}),
    ("read", {"refs": [f"notes/{ESC}[31m\x9b\u202e"]}),
]


async def test_no_escape_sequence_reaches_an_agent(evil: Machine) -> None:
    """Addresses can be read as well."""
    addresses: set[str] = set()
    async with agent(evil, "--all") as client:
        for tool, arguments in CALLS:
            shown = said(await client.call_tool(tool, arguments))
            check(shown, tool)
            addresses |= set(re.findall(r"^(?:\d+\. )?(gno://\S+?)(?:, score|\s|$)", shown, re.MULTILINE))
        assert any("evil%20%1B" in each and "%E2%80%AE" in each for each in addresses)
        for each in sorted(addresses):
            assert not HIDDEN.search(each)
            assert not (await client.call_tool("read", {"refs": [each]})).is_error


def test_a_document_in_a_pipe_is_what_was_indexed(evil: Machine) -> None:
    text = evil.run("get", NAME).stdout
    assert f"{ESC}" not in text, "control characters are no part of the canonical text"
    assert "\u202e" in text, "but what people write is"
    assert text == json.loads(evil.run("get", NAME, "--json").stdout)["text"]
    assert "\u202e" not in on_terminal(evil, "get", NAME)


def test_no_escape_sequence_in_follow(evil: Machine) -> None:
    check(on_terminal(evil, "follow", "--since", "0", enough="plain"), "follow")
    check(on_terminal(evil, "follow", "--since", "0", "--json", enough="plain"), "follow --json")


def test_csv_holds_no_formula_and_is_csv(evil: Machine) -> None:
    for words in (["search", "needle", "--full"], ["ls"], ["multi-get", "notes/*.md"]):
        rows = list(csv.reader(io.StringIO(evil.run(*words, "--csv").stdout, newline=""), strict=True))
        assert len(rows) > 3
        assert {len(row) for row in rows} == {len(rows[0])}
        assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))]


def test_xml_is_well_formed(evil: Machine) -> None:
    for words in (["search", "needle", "--full"], ["ls"], ["multi-get", "notes/*.md"]):
        root = ElementTree.fromstring(evil.run(*words, "--xml").stdout)
        assert any("forged%20line" in (each.get("uri") or "") for each in root)


def test_a_name_forges_no_line_of_the_file_list(evil: Machine) -> None:
    lines = evil.run("ls", "--files").stdout.splitlines()
    assert lines
    assert all(re.match(r"#[0-9a-f]{8},gno://notes/", each) for each in lines)


def test_no_escape_sequence_in_the_foreground_log(short_tmp: Path) -> None:
    """The log on a terminal contains names of files and folders, but no forged record."""
    machine = Machine(short_tmp)
    machine.environment["TERM"] = "xterm"
    _write(machine.notes)
    (machine.folder / "config").mkdir()
    root = machine.notes.rename(machine.folder / f"notes {EVIL_NAME}")
    machine.config.write_text(json.dumps({"version": "1.0", "collections": [{"name": "notes", "path": str(root)}]}))
    with Terminal([sys.executable, "-m", "gnod", "--log-level", "debug"], machine.environment) as terminal:
        reading = threading.Thread(target=terminal.finish)
        reading.start()
        try:
            wait_until(machine.is_serving)
            machine.quiet()
            root.rename(machine.folder / "gone")
            machine.call("index.sync")
        finally:
            machine.hang_up()
            terminal.process.terminate()
            reading.join(60)
    shown = terminal.shown
    assert "daemon.started" in shown
    check(shown, "gnod")
    assert not [each for each in shown.splitlines() if each.startswith("forged")]
    for each in (machine.folder / "data").rglob("*.log"):
        check(each.read_text(), "the log itself")
