"""The commands, one module each. `collection add` lives in `gnoctl.commands.collection.add`.

A module is imported only when its command runs, and exposes `COMMAND`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnoctl.options import Command

# The order of the help. A name of two words belongs to a group.
PANELS: dict[str, tuple[str, ...]] = {
    "Search and read": ("query", "ask", "search", "vsearch", "similar", "get", "multi-get", "ls"),
    "Choose and index folders": (
        "init",
        "collection add",
        "collection list",
        "collection remove",
        "collection rename",
        "context add",
        "context list",
        "context rm",
        "index",
        "update",
        "embed",
        "pause",
        "resume",
    ),
    "Remember and recall": (
        "remember",
        "recall",
        "memory show",
        "memory list",
        "memory update",
        "memory done",
        "memory forget",
        "memory publish",
        "memory export",
        "memory import",
        "memory lock",
        "memory unlock",
        "memory passphrase",
        "memory status",
    ),
    "Choose and fetch models": ("models list", "models use", "models pull", "models clear", "models path"),
    "Understand and mend": ("status", "follow", "why", "doctor", "cleanup", "backup", "restore", "bench"),
    "The program itself": (
        "daemon start",
        "daemon stop",
        "daemon restart",
        "daemon status",
        "daemon logs",
        "service install",
        "service uninstall",
        "service status",
        "socket",
        "mcp",
        "mcp install",
        "completion",
    ),
}

GROUPS = {
    "collection": "Folders that are indexed.",
    "context": "What a folder is about, in words; handed out with every result from it.",
    "memory": "What you and your agents want to be remembered, kept encrypted.",
    "models": "The language models: which are used, and which are on this machine.",
    "mcp": "AI agents: the bridge that they start, and how they learn of it.",
    "daemon": "The process that keeps the index and answers.",
    "service": "The daemon as a service of systemd or launchd.",
}

ALIASES = {"collection rm": "collection remove", "context remove": "context rm"}

NAMES = frozenset(name for names in PANELS.values() for name in names)


def longest_name(words: list[str]) -> str | None:
    """Return the command that `words` begin with, an alias resolved."""
    for length in (2, 1):
        name = " ".join(words[:length])
        name = ALIASES.get(name, name)
        # A single word with a space in it ("collection add") is no command.
        if name in NAMES and len(name.split()) == length:
            return name
    return None


def load(name: str) -> Command[Any]:
    module = import_module(f"{__name__}.{name.replace(' ', '.').replace('-', '_')}")
    command: Command[Any] = module.COMMAND
    return command
