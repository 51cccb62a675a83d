"""Where programs keep conversations on this machine, for `gnoctl collection add --kind conversations`.

Reads names and sizes of files, never their content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# What exports and logs are called. What is not a conversation is indexed as what it is.
EXTENSIONS = ["jsonl", "json", "html", "txt", "log", "weechatlog", "zip"]


class ConversationPlace(NamedTuple):
    """A folder in which a program keeps conversations, and the extension of their files. `variable`: the environment
    variable that names another folder than `usual`, which is below the home folder; `below`: the folder in either."""

    program: str
    name: str
    usual: str
    below: str
    extension: str
    variable: str = ""

    @property
    def folder(self) -> Path:
        return Path(os.environ.get(self.variable) or Path.home() / self.usual) / self.below


class FoundConversations(NamedTuple):
    place: ConversationPlace
    files: int
    size: int


_PLACES = (
    ConversationPlace("Claude Code", "claude-code", ".claude", "projects", "jsonl", "CLAUDE_CONFIG_DIR"),
    ConversationPlace("Codex", "codex", ".codex", "sessions", "jsonl", "CODEX_HOME"),
    ConversationPlace("irssi", "irssi", "irclogs", "", "log"),
    ConversationPlace("WeeChat", "weechat", ".local/share/weechat", "logs", "weechatlog", "WEECHAT_HOME"),
    ConversationPlace("WeeChat, before 3.2", "weechat-before-3-2", ".weechat", "logs", "weechatlog"),
    ConversationPlace("HexChat", "hexchat", ".config/hexchat", "logs", "log"),
)


def usual_places() -> Iterator[FoundConversations]:
    """Yield the places that have conversations."""
    for place in _PLACES:
        sizes = list(_sizes(place))
        if sizes:
            yield FoundConversations(place, len(sizes), sum(sizes))


def _sizes(place: ConversationPlace) -> Iterator[int]:
    for folder, _, names in os.walk(place.folder):  # what cannot be read is left out
        for name in names:
            if name.endswith(f".{place.extension}"):
                try:
                    yield os.stat(os.path.join(folder, name)).st_size  # noqa: PTH116, PTH118
                except OSError:
                    continue
