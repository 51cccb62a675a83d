"""The commands and their modules. A module is imported only when one of its commands runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gnoctl.command import Command

# Maps a panel of the help to commands, and these to modules of this package. A name of two words belongs to a command
# in a group.
PANELS: dict[str, dict[str, str]] = {
    "Search and read": {
        "query": "search",
        **dict.fromkeys(("ask", "evidence"), "ask"),
        **dict.fromkeys(("search", "vsearch", "similar"), "search"),
        **dict.fromkeys(("saved add", "saved list", "saved remove"), "search"),
        "ui": "ui",
        "web": "web",
        "open": "document",
        **dict.fromkeys(("get", "multi-get", "ls", "capture"), "document"),
    },
    "Links": {
        **dict.fromkeys(
            ("links", "backlinks", "mentions", "graph", "unresolved", "orphans", "check-links", "audit"), "links"
        ),
        "mv": "links",
    },
    "Index folders": {
        "init": "init",
        **{f"collection {verb}": "collection" for verb in ("add", "list", "attach", "detach", "remove", "rename")},
        **{f"collection {verb}": "collection" for verb in ("publish", "unpublish")},
        **{f"context {verb}": "collection" for verb in ("add", "list", "rm")},
        **dict.fromkeys(("index", "update", "embed", "pause", "resume", "tune"), "index"),
    },
    "Memory": {
        **dict.fromkeys(("remember", "recall"), "memory.memory"),
        **{f"memory {verb}": "memory.memory" for verb in ("show", "list", "update", "history", "done", "forget")},
        "memory publish": "memory.memory",
        **{f"memory {verb}": "memory.memory_files" for verb in ("export", "import")},
        **{f"memory {verb}": "memory.vault" for verb in ("lock", "unlock", "passphrase", "status")},
    },
    "Models": {f"models {verb}": "models" for verb in ("list", "use", "pull", "clear", "path")},
    "Inspect and maintain": {
        "status": "status",
        "follow": "follow",
        **dict.fromkeys(("egress", "why"), "status"),
        **dict.fromkeys(("doctor", "stats"), "doctor"),
        "cleanup": "index",
        **dict.fromkeys(("backup", "restore"), "backup"),
        "bench": "bench",
    },
    "Daemon and integrations": {
        **{f"daemon {verb}": "daemon" for verb in ("start", "stop", "restart", "status", "logs")},
        **{f"service {verb}": "integration.service" for verb in ("install", "uninstall", "status")},
        "socket": "daemon",
        "mcp": "integration.mcp",
        "mcp install": "integration.mcp_install",
        **{f"skill {verb}": "integration.skill" for verb in ("install", "remove")},
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
    "skill": "Tell AI agents when to search, how to cite and what to remember.",
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
