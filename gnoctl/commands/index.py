"""`gnoctl index`: make the index equal the disk now."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument
from gnoctl.syncing import report, sync

HELP = """Make the index equal the disk now.

The daemon does this by itself; run it after a change that must be found at once. Unchanged files are not
read.
"""


class IndexOptions(JsonOptions, frozen=True, kw_only=True):
    collections: Annotated[
        list[str], argument("COLLECTION", help="Only these (default: all).", complete="collections")
    ] = field(default_factory=list)


def index(options: IndexOptions, *, update: bool = False) -> int:
    with options.connect() as daemon:
        result = sync(daemon, options, options.collections, update=update)
    if options.json:
        print_json(result)
        return 0
    return report(result, options)


COMMAND = Command(IndexOptions, index, HELP)
