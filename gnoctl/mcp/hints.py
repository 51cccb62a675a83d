"""Replace commands of `gnoctl` in the daemon's messages by the tools that an agent has. Pure."""

from __future__ import annotations

import re

# Commands that do the same as a tool. All others are for the user.
TOOLS = {
    "ask": "`evidence`",
    "evidence": "`evidence`",
    "get": "`read`",
    "index": "`search` with fresh=true",
    "ls": "`search` with a query such as collection:NAME",
    "multi-get": "`read`",
    "query": "`search`",
    "recall": "`recall`",
    "remember": "`remember`",
    "search": "`search`",
    "similar": "`links` with what=similar",
    "vsearch": "`search`",
}

_COMMAND = re.compile("`gnoctl ([^`]+)`")


def for_agent(message: str) -> str:
    """Return a message with the tools that do what the commands in it do.

    >>> for_agent("no document 'x' in the index; `gnoctl ls` lists what is indexed")
    "no document 'x' in the index; `search` with a query such as collection:NAME lists what is indexed"
    >>> for_agent("the memories are locked: `gnoctl memory unlock`")
    'the memories are locked: `gnoctl memory unlock`'
    """
    return _COMMAND.sub(lambda command: TOOLS.get(command[1], command[0]), message)
