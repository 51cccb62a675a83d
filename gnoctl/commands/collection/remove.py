"""`gnoctl collection remove`."""

from __future__ import annotations

from typing import Annotated

from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument
from gnoctl.wording import count
from gnod.protocol.params import CollectionRemoveParams
from gnod.protocol.results import CollectionRemoveResult

HELP = """Forget a folder.

Its documents leave the index; the files stay as they are.
"""


class RemoveOptions(JsonOptions, frozen=True, kw_only=True):
    name: Annotated[str, argument("NAME", help="The collection.", complete="collections")]


def remove(options: RemoveOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("collection.remove", CollectionRemoveParams(name=options.name), CollectionRemoveResult)
    if options.json:
        print_json(result)
    else:
        print(f"removed {result.name}: {count(result.removed_documents, 'document')} left the index")


COMMAND = Command(RemoveOptions, remove, HELP)
