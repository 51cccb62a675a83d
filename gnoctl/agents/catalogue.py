"""Which agents there are, and where each keeps its MCP servers. Looks at no file's contents."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple


class Agent(NamedTuple):
    """One agent. `file` holds the table `table`, of which each server is a member; `more` stands in each entry beside
    the command. It is on this machine when `home` exists or `program` is found."""

    name: str
    title: str
    file: Callable[[], Path]
    home: Callable[[], Path]
    table: str
    format: Literal["json", "toml"] = "json"
    program: str | None = None
    more: dict[str, object] = {}  # noqa: RUF012  # never changed

    def is_here(self) -> bool:
        return self.file().exists() or self.home().is_dir() or bool(self.program and shutil.which(self.program))


def _home(*parts: str) -> Path:
    return Path.home().joinpath(*parts)


def _moved(variable: str, *usual: str) -> Path:
    """Return the folder that a variable names, else the usual one."""
    value = os.environ.get(variable)
    return Path(value).expanduser().absolute() if value else _home(*usual)


def _settings(*parts: str) -> Path:
    """Return a path below the folder in which desktop programs keep their settings."""
    if sys.platform == "darwin":
        return _home("Library", "Application Support", *parts)
    return _moved("XDG_CONFIG_HOME", ".config").joinpath(*parts)


def _claude_code() -> Path:
    # The file lies beside the folder, unless the folder was moved.
    if os.environ.get("CLAUDE_CONFIG_DIR"):
        return _moved("CLAUDE_CONFIG_DIR") / ".claude.json"
    return _home(".claude.json")


AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            name="claude-code",
            title="Claude Code",
            file=_claude_code,
            home=lambda: _moved("CLAUDE_CONFIG_DIR", ".claude"),
            table="mcpServers",
            program="claude",
            more={"type": "stdio"},
        ),
        Agent(
            name="claude-desktop",
            title="Claude Desktop",
            file=lambda: _settings("Claude", "claude_desktop_config.json"),
            home=lambda: _settings("Claude"),
            table="mcpServers",
        ),
        Agent(
            name="codex",
            title="Codex",
            file=lambda: _moved("CODEX_HOME", ".codex") / "config.toml",
            home=lambda: _moved("CODEX_HOME", ".codex"),
            table="mcp_servers",
            format="toml",
            program="codex",
        ),
        Agent(
            name="copilot",
            title="Copilot CLI",
            file=lambda: _moved("COPILOT_HOME", ".copilot") / "mcp-config.json",
            home=lambda: _moved("COPILOT_HOME", ".copilot"),
            table="mcpServers",
            program="copilot",
            more={"type": "local", "tools": ["*"]},
        ),
        Agent(
            name="cursor",
            title="Cursor",
            file=lambda: _home(".cursor", "mcp.json"),
            home=lambda: _home(".cursor"),
            table="mcpServers",
            program="cursor",
        ),
        Agent(
            name="gemini",
            title="Gemini CLI",
            file=lambda: _home(".gemini", "settings.json"),
            home=lambda: _home(".gemini"),
            table="mcpServers",
            program="gemini",
        ),
        Agent(
            name="vscode",
            title="VS Code",
            file=lambda: _settings("Code", "User", "mcp.json"),
            home=lambda: _settings("Code", "User"),
            table="servers",
            program="code",
            more={"type": "stdio"},
        ),
        Agent(
            name="windsurf",
            title="Windsurf",
            file=lambda: _home(".codeium", "windsurf", "mcp_config.json"),
            home=lambda: _home(".codeium", "windsurf"),
            table="mcpServers",
            program="windsurf",
        ),
        Agent(
            name="zed",
            title="Zed",
            # Zed keeps it there on macOS, too.
            file=lambda: _moved("XDG_CONFIG_HOME", ".config") / "zed" / "settings.json",
            home=lambda: _moved("XDG_CONFIG_HOME", ".config") / "zed",
            table="context_servers",
            program="zed",
        ),
    )
}
