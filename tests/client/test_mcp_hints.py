"""An agent is told of its tools where a tool does what a command of gnoctl does."""

from __future__ import annotations

import re
from pathlib import Path

from gnoctl.commands import NAMES
from gnoctl.mcp.output_text import TOOLS, for_agent
from gnoctl.mcp.tools import CORE

OFFERED = {tool.name for tool in CORE}
ROOT = Path(__file__).resolve().parents[2]


def test_the_table_names_commands_and_tools_that_exist() -> None:
    for command, said in TOOLS.items():
        assert any(command == name or command.startswith(f"{name} ") for name in NAMES), command
        assert said.split("`")[1] in OFFERED, said


def test_every_command_that_has_a_tool_of_its_name_is_in_the_table() -> None:
    named = {tool.replace("_", "-") for tool in OFFERED} & set(NAMES)
    assert named - {"links"} <= set(TOOLS)


def test_no_message_names_a_command_where_there_is_a_tool() -> None:
    files = [
        *(ROOT / "gnod").rglob("*.py"),
        ROOT / "gnoctl" / "printing" / "wording.py",
        ROOT / "gnoctl" / "printing" / "evidence.py",
    ]
    sources = [path.read_text() for path in files if path.parent.name != "evaluate"]  # no agent runs a benchmark
    commands = {match for source in sources for match in re.findall(r"`gnoctl ([a-z][^`{}\n]*)`", source)}
    assert {"ls", "get"} <= commands
    left = {command for command in commands if for_agent(f"`gnoctl {command}`").startswith("`gnoctl")}
    with_tool = {command for command in left if any(f"{command} ".startswith(f"{name} ") for name in TOOLS)}
    assert with_tool == set()
