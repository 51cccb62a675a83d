"""`gnoctl collection rename`."""

from __future__ import annotations

from typing import Annotated

from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument
from gnod.protocol.params import CollectionRenameParams
from gnod.protocol.results import CollectionRenameResult

HELP = """Give a collection another name.

Nothing is indexed again; its contexts move along.
"""


class RenameOptions(JsonOptions, frozen=True, kw_only=True):
    name: Annotated[str, argument("NAME", help="The collection.", complete="collections")]
    new_name: Annotated[str, argument("NEW_NAME", help="Its new name.")]


def rename(options: RenameOptions) -> None:
    params = CollectionRenameParams(name=options.name, new_name=options.new_name)
    with options.connect() as daemon:
        result = daemon.call("collection.rename", params, CollectionRenameResult)
    if options.json:
        print_json(result)
    else:
        print(f"renamed {result.name} to {result.new_name}")


COMMAND = Command(RenameOptions, rename, HELP)
