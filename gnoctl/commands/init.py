"""`gnoctl init`: the first command."""

from __future__ import annotations

from typing import Annotated

from gnoctl import text
from gnoctl.commands.collection.add import FolderOptions, add_and_index
from gnoctl.json_output import print_json
from gnoctl.options import Command, argument
from gnod.protocol.params import NoParams
from gnod.protocol.results import IndexInitResult

HELP = """Make the config file, and index a first folder.

Examples:

  gnoctl init ~/notes

  gnoctl init ~/work/docs --name work --exclude drafts
"""


class InitOptions(FolderOptions, frozen=True, kw_only=True):
    path: Annotated[str | None, argument("PATH", help="The folder to index.")] = None


def init(options: InitOptions) -> int:
    with options.connect() as daemon:
        places = daemon.call("index.init", NoParams(), IndexInitResult)
        if not options.json:
            made = "made" if places.config_created else "kept"
            print(f"{made} {text.line(places.config_file)}")
        if options.path is not None:
            return add_and_index(daemon, options, options.path)
    if options.json:
        print_json(places)
    else:
        print("next: `gnoctl collection add FOLDER`")
    return 0


COMMAND = Command(InitOptions, init, HELP)
