"""The commands in README.md and docs/, and a home folder in which they find something. It must not
know the tests."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.conversation_files import claude_code
from tests.machine import Machine
from tests.pdf_files import pdf

ROOT = Path(__file__).resolve().parents[2]
GENERATED = {"commands.md", "errors.md", "formats.md", "protocol.md", "search-constants.md", "settings.md"}
PAGES = [ROOT / "README.md", *(page for page in sorted(ROOT.glob("docs/*.md")) if page.name not in GENERATED)]

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_MENTION = re.compile(r"`(gnoctl [^`\n]+)`")


class Example(NamedTuple):
    """`output`: what the page shows below the command."""

    page: str
    command: str
    output: str


def examples(page: Path) -> Iterator[Example]:
    """Yield the commands after `$` in the blocks of a page, in their order."""
    for block in _BLOCK.findall(page.read_text(encoding="utf-8")):
        yield from (Example(page.name, command, output) for command, output in _COMMAND.findall(block))


def mentions(page: Path) -> set[str]:
    """Return the commands of gnoctl that stand in the text of a page, without those that are only half written."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    return {each for each in _MENTION.findall(text) if not re.search(r"[…|>\[]| COMMAND\b", each)}


PROGRAMS = {
    "gnoctl": f'exec {sys.executable} -m gnoctl "$@"',
    "git": "echo The pump of the bilge is repaired.",
    **dict.fromkeys(("fzf", "vi", "xdg-open", "zathura"), "cat >/dev/null; true"),
}

NOTES = {
    "Pier.md": "# Pier\n\nThe engine of the [[boat]] is checked here. See also [the plan](plan.md).\n",
    "boat.md": "---\naliases: [the ketch]\n---\n# Boat\n\nIt is moored at [[Pier]]. [[Nobody knows]] who built it.\n",
    "draft.md": "---\ndate: 2026-03-01\n---\n# Draft\n\nThe board approves a budget in March.\n",
    "plan.md": "# Plan\n\nThe ketch sails in May, and its engine is old.\n",
    "budget.md": "---\nauthor: Ada\ndate: 2026-03-01\n---\n# Budget\n\nThe board approves a budget in March.\n",
    "cat.md": "# Cats\n\nThe kitten sleeps on the sofa all day.\n",
    "certificate.md": "# TLS\n\nRenew the certificate of the server before May.\n",
    "deploy.md": "# Deploy\n\nIn a blue green deploy, traffic is switched to the idle stack.\n",
    "disk.md": "# Full disk\n\nWhat to do when the disk is full: run the cleanup.\n",
    "invoice.md": "---\ntags: [tax, work]\nstatus: open\ndate: 2024-06-01\n---\n# Invoice\n\nAn invoice.\n",
    "keys.md": "# Keys\n\nWe rotate the keys each month.\n",
    "outage.md": "# Outage\n\nThe site was down in October because the disk was full.\n",
    "postgres.md": "---\ntype: decision\nauthor: Mara\ndate: 2026-05-02\nstatus: open\n---\n# Postgres\n\nYes.\n",
    "backup.md": "# Backup\n\nBackups are kept a year.\n\n## Restore\n\nRestore to a point in time, and check it.\n",
}


def furnish(machine: Machine) -> None:
    """Write the programs and the files that the pages name into the home folder of a machine."""
    (machine.folder / "bin").mkdir()
    for name, script in PROGRAMS.items():
        program = machine.folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    shutil.copytree(ROOT / "samples", machine.notes, dirs_exist_ok=True)
    machine.write(**{name.replace(".", "_"): text for name, text in NOTES.items()})
    for folder in ("docs", "handbook", "backups", "papers", "sessions"):
        (machine.folder / folder).mkdir()
    (machine.folder / "handbook" / "hardware.md").write_text("# Hardware\n\nWe order hardware on Mondays.\n")
    (machine.folder / "docs" / "start.md").write_text("# Start\n\nNothing is [here](gone.md).\n")
    (machine.notes / "scan.pdf").write_bytes(b"%PDF-1.4 and then nothing")
    _write_papers(machine.folder / "papers")
    _write_conversations(machine.folder / "sessions")
    _write_judged_queries(machine.folder / "collections" / "scifact")


def _write_papers(folder: Path) -> None:
    pages = [f"Page {number} pays attention to the query." for number in range(1, 14)]
    for name in ("attention", "report"):
        (folder / f"{name}.pdf").write_bytes(pdf(pages, title=name.title()))


def _write_conversations(folder: Path) -> None:
    said = [claude_code("user", f"Which Postgres does the harbour run, Mara? {number}") for number in range(40)]
    lines = "\n".join(said).replace("/home/mara/boat", "/home/mara/harbour")
    (folder / "a.jsonl").write_text(f"{lines}\n{claude_code('assistant', 'It is 16.')}\n")
    chat = "\n".join(f"2026-03-04 10:{minute}:00\tmara\twe move the backup to the cellar" for minute in range(10, 20))
    (folder / "#yard.weechatlog").write_text(chat + "\n")
    (folder.parent / "session.jsonl").write_text('{"role": "user", "content": "The mast is of spruce."}\n')


def _write_judged_queries(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "a", "title": "Keel", "text": "The keel is of lead."}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "keel of lead"}\n')
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n")
