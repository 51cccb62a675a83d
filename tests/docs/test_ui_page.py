"""docs/ui.md names the keys that the terminal UI has, and all interfaces give the modes of search the same names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from gnoctl.commands import bench
from gnoctl.mcp.tools import SEARCHES
from gnoctl.ui.keys import KEYS
from gnoctl.ui.linear import COMMANDS
from gnoctl.ui.session import MODES
from gnoctl.web.static_files import FOLDER

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "ui.md").read_text(encoding="utf-8")


def test_the_page_has_the_keys() -> None:
    table = PAGE.partition("## Keys")[2].partition("## Modes")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", table, re.MULTILINE)[2:]
    assert rows == [(key.shown, key.help) for key in KEYS]


def test_the_page_has_the_commands_of_the_linear_mode() -> None:
    for command in COMMANDS:
        if command.startswith(":"):
            assert f"`{command.split()[0]}" in PAGE


def test_a_mode_has_one_name() -> None:
    shown = re.search(r"MODES = \{ (.*) \}", (FOLDER / "router.js").read_text(encoding="utf-8"))
    assert shown
    page = dict(re.findall(r'(\w+): "(\w+)"', shown[1]))
    names = {"hybrid", "keyword", "vector"}
    assert set(MODES) == set(SEARCHES) == set(page) == {name.lower() for name in page.values()} == names
    assert names == set(get_args(bench.Mode))
    assert all(f"| {name} |" in PAGE for name in names)
