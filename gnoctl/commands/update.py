"""`gnoctl update`: fetch, then index."""

from __future__ import annotations

from functools import partial

from gnoctl.commands.index import IndexOptions, index
from gnoctl.options import Command

HELP = """Run each collection's update command (`git pull`, say), then index it.

A collection without an update command is only indexed.
"""

COMMAND = Command(IndexOptions, partial(index, update=True), HELP)
