"""Which commands there are, and in which module each is. A module is imported only when one of its commands runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnoctl.command import Command

# Maps a panel of the help to commands, and these to modules of this package. A name of two words is that of a command
# in a group.
PANELS: dict[str, dict[str, str]] = {
    "Search and read": {
        "query": "search",
        "ask": "ask",
        "evidence": "ask",
        "search": "search",
        "vsearch": "search",
        "similar": "search",
        "saved add": "saved",
        "saved list": "saved",
        "saved remove": "saved",
        "ui": "ui",
        "web": "web",
        "open": "open",
        "get": "document",
        "multi-get": "document",
        "ls": "document",
    },
    "Links": {
        "links": "links",
        "backlinks": "links",
        "mentions": "links",
        "graph": "links",
        "unresolved": "links",
        "orphans": "links",
        "check-links": "links",
    },
    "Index folders": {
        "init": "collection",
        "collection add": "collection",
        "collection list": "collection",
        "collection attach": "collection",
        "collection detach": "collection",
        "collection remove": "collection",
        "collection rename": "collection",
        "collection publish": "publishing",
        "collection unpublish": "publishing",
        "context add": "collection",
        "context list": "collection",
        "context rm": "collection",
        "index": "index",
        "update": "index",
        "embed": "index",
        "pause": "index",
        "resume": "index",
        "tune": "index",
    },
    "Memory": {
        "remember": "memory.memory",
        "recall": "memory.memory",
        "memory show": "memory.memory",
        "memory list": "memory.memory",
        "memory update": "memory.memory",
        "memory history": "memory.memory",
        "memory done": "memory.memory",
        "memory forget": "memory.memory",
        "memory publish": "memory.memory",
        "memory export": "memory.memory_files",
        "memory import": "memory.memory_files",
        "memory lock": "memory.vault",
        "memory unlock": "memory.vault",
        "memory passphrase": "memory.vault",
        "memory status": "memory.vault",
    },
    "Models": {
        "models list": "models",
        "models use": "models",
        "models pull": "models",
        "models clear": "models",
        "models path": "models",
    },
    "Inspect and maintain": {
        "status": "status",
        "follow": "follow",
        "egress": "egress",
        "why": "status",
        "doctor": "doctor",
        "cleanup": "index",
        "backup": "backup",
        "restore": "backup",
        "bench": "bench",
    },
    "Daemon and integrations": {
        "daemon start": "daemon",
        "daemon stop": "daemon",
        "daemon restart": "daemon",
        "daemon status": "daemon",
        "daemon logs": "daemon",
        "service install": "integration.service",
        "service uninstall": "integration.service",
        "service status": "integration.service",
        "socket": "daemon",
        "mcp": "integration.mcp",
        "mcp install": "integration.mcp_install",
        "completion": "integration.completion",
    },
}

GROUPS = {
    "collection": "Manage the collections (indexed folders).",
    "context": "Describe what folders are about; search results include the description.",
    "saved": "Manage saved searches; `gnoctl search @name` runs one.",
    "memory": "Manage memories; they are stored encrypted.",
    "models": "Choose, download and delete language models.",
    "daemon": "Control the daemon and read its log.",
    "service": "Run the daemon as a service of systemd or launchd.",
    "mcp": "Serve AI agents (MCP), and configure them.",
}

ALIASES = {"saved rm": "saved remove", "collection rm": "collection remove", "context remove": "context rm"}

_MODULES = {name: module for names in PANELS.values() for name, module in names.items()}
NAMES = list(_MODULES)


def longest_name(words: list[str]) -> str | None:
    """Return the command that `words` begin with, an alias resolved."""
    for length in (2, 1):
        name = " ".join(words[:length])
        name = ALIASES.get(name, name)
        # A single word that contains a space ("collection add") is not a command.
        if name in _MODULES and len(name.split()) == length:
            return name
    return None


def load(name: str) -> Command[Any]:
    from gnoctl.command import COMMANDS

    if name not in COMMANDS:
        import_module(f"{__name__}.{_MODULES[name]}")
    return COMMANDS[name]
