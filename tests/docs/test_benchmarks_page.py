"""docs/BENCHMARKS.md: each table has a command that reproduces it, and the commands exist with their options."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "BENCHMARKS.md").read_text(encoding="utf-8")
_COMMAND = re.compile(r"`(?:[A-Z_]+=\S+ )?(?:python (?:-m )?|(?=scripts/))([\w./]+)([^`]*)`")


def source(program: str) -> str:
    """Return the text of a script, or of a module that `python -m` runs."""
    path = ROOT / (program if program.endswith((".py", ".sh")) else program.replace(".", "/") + ".py")
    return (path if path.exists() else path.with_suffix("") / "__main__.py").read_text(encoding="utf-8")


def test_the_commands_exist_with_their_options() -> None:
    commands = [each for each in _COMMAND.findall(PAGE) if each[0] != "pytest"]
    assert len(commands) > 40
    unknown = [
        (program, option)
        for program, words in commands
        for option in re.findall(r"--[a-z-]+", words)
        if f'"{option}"' not in source(program)
    ]
    assert unknown == []


def test_each_section_with_a_table_has_its_command() -> None:
    sections = re.split(r"^##+ ", PAGE, flags=re.MULTILINE)[1:]
    without = [each.partition("\n")[0] for each in sections if "\n| ---" in each and not _COMMAND.search(each)]
    assert without == ["Office files against LibreOffice"], "which says why"
