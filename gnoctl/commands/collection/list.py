"""`gnoctl collection list`."""

from __future__ import annotations

from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnoctl.table import columns
from gnod.protocol.params import NoParams
from gnod.protocol.results import CollectionListResult

HELP = """List the folders that are indexed."""


def list_collections(options: JsonOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("collection.list", NoParams(), CollectionListResult)
    if options.json:
        print_json(result)
    elif result.collections:
        rows = [[each.name, f"{each.documents:,}", each.pattern, each.path] for each in result.collections]
        for line in columns(["collection", "documents", "pattern", "path"], rows, options.terminal):
            print(line)
    else:
        note("No folders yet: `gnoctl collection add FOLDER`")


COMMAND = Command(JsonOptions, list_collections, HELP)
