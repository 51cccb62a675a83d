"""docs/ui.md names the keys that the terminal UI has."""

from __future__ import annotations

import re
from pathlib import Path

from gnoctl.ui.keys import KEYS
from gnoctl.ui.linear import COMMANDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "ui.md").read_text(encoding="utf-8")


def test_the_page_has_the_keys() -> None:
    table = PAGE.partition("## Keys")[2].partition("## Modes")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", table, re.MULTILINE)[2:]
    assert rows == [(key.shown, key.help) for key in KEYS]


def test_the_page_has_the_commands_of_the_linear_mode() -> None:
    for command in COMMANDS:
        if command.startswith(":"):
            assert f"`{command.split()[0]}" in PAGE
