"""`gnoctl cleanup`: drop what nothing refers to."""

from __future__ import annotations

from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnoctl.wording import count, size
from gnod.protocol.params import NoParams
from gnod.protocol.results import IndexCleanupResult

HELP = """Drop what nothing refers to any more, and give the space back to the disk.

What was left of a damaged index goes too, with the message about it in `gnoctl status`.
"""


def cleanup(options: JsonOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("index.cleanup", NoParams(), IndexCleanupResult)
    if options.json:
        print_json(result)
        return
    removed = f"{count(result.removed_documents, 'document')} and {count(result.removed_contents, 'text')}"
    print(f"removed {removed}, freed {size(result.freed_bytes)}; the database has {size(result.database_bytes)}")


COMMAND = Command(JsonOptions, cleanup, HELP)
