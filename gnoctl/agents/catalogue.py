"""The known agents and the files that list their MCP servers. Reads no file."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

HttpForm = tuple[str, str, dict[str, object]]
"""The keys of the address and the headers in an entry, and additional members."""


class Agent(NamedTuple):
    """One agent. `table` in `file` has a member for each server; `more` is added to an entry that starts a command.
    `http`: the form of an entry with an address; None if the agent only starts commands.

    The agent is installed if `home` (default: the folder of `file`) or `file` exists, or `program` is on the PATH.
    """

    name: str
    title: str
    table: str
    file: Callable[[], Path]
    program: str | None = None
    home: Callable[[], Path] | None = None
    format: Literal["json", "toml"] = "json"
    more: dict[str, object] = {}
    http: HttpForm | None = ("url", "headers", {})

    def is_installed(self) -> bool:
        file = self.file()
        home = self.home() if self.home else file.parent
        return file.exists() or home.is_dir() or bool(self.program and shutil.which(self.program))


def _home(*parts: str) -> Path:
    return Path.home().joinpath(*parts)


def _moved(variable: str, *usual: str) -> Path:
    """Return the folder that a variable names, otherwise the usual one."""
    value = os.environ.get(variable)
    return Path(value).expanduser().absolute() if value else _home(*usual)


def _settings(*parts: str) -> Path:
    """Return a path below the settings folder of desktop programs."""
    if sys.platform == "darwin":
        return _home("Library", "Application Support", *parts)
    return _moved("XDG_CONFIG_HOME", ".config").joinpath(*parts)


def _claude_code() -> Path:
    # The file is beside the folder, unless the variable names another folder.
    return _claude_home() / ".claude.json" if os.environ.get("CLAUDE_CONFIG_DIR") else _home(".claude.json")


def _claude_home() -> Path:
    return _moved("CLAUDE_CONFIG_DIR", ".claude")


_STDIO: dict[str, object] = {"type": "stdio"}
_LOCAL: dict[str, object] = {"type": "local", "tools": ["*"]}
_TYPED: HttpForm = ("url", "headers", {"type": "http"})

_ALL = (
    Agent("claude-code", "Claude Code", "mcpServers", _claude_code, "claude", _claude_home, more=_STDIO, http=_TYPED),
    Agent(
        "claude-desktop",
        "Claude Desktop",
        "mcpServers",
        lambda: _settings("Claude", "claude_desktop_config.json"),
        http=None,
    ),
    Agent(
        "codex",
        "Codex",
        "mcp_servers",
        lambda: _moved("CODEX_HOME", ".codex") / "config.toml",
        "codex",
        format="toml",
        http=("url", "http_headers", {}),
    ),
    Agent(
        "copilot",
        "Copilot CLI",
        "mcpServers",
        lambda: _moved("COPILOT_HOME", ".copilot") / "mcp-config.json",
        "copilot",
        more=_LOCAL,
        http=("url", "headers", {"type": "http", "tools": ["*"]}),
    ),
    Agent("cursor", "Cursor", "mcpServers", lambda: _home(".cursor", "mcp.json"), "cursor"),
    Agent(
        "gemini",
        "Gemini CLI",
        "mcpServers",
        lambda: _home(".gemini", "settings.json"),
        "gemini",
        http=("httpUrl", "headers", {}),
    ),
    Agent(
        "vscode", "VS Code", "servers", lambda: _settings("Code", "User", "mcp.json"), "code", more=_STDIO, http=_TYPED
    ),
    Agent(
        "windsurf",
        "Windsurf",
        "mcpServers",
        lambda: _home(".codeium", "windsurf", "mcp_config.json"),
        "windsurf",
        http=("serverUrl", "headers", {}),
    ),
    # Zed uses this path on macOS as well.
    Agent("zed", "Zed", "context_servers", lambda: _moved("XDG_CONFIG_HOME", ".config") / "zed/settings.json", "zed"),
)

AGENTS = {agent.name: agent for agent in _ALL}
