"""`gnoctl collection add`: a folder to index."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from gnoctl import text
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument, option
from gnoctl.references import folder
from gnoctl.searching import split_commas
from gnoctl.syncing import report, sync
from gnod.client.connection import Connection
from gnod.protocol.params import CollectionAddParams
from gnod.protocol.results import CollectionAddResult

HELP = """Add a folder and index it.

From then on changes in it are found by themselves. The folder is only read, never written to.

Examples:

  gnoctl collection add ~/notes

  gnoctl collection add ~/src/handbook --name handbook --include md,rst --update 'git pull --quiet'
"""


class FolderOptions(JsonOptions, frozen=True, kw_only=True):
    """What can be said of a folder."""

    name: Annotated[
        str | None, option("--name", metavar="NAME", help="Its name (default: the folder's own, made valid).")
    ] = None
    pattern: Annotated[str, option("--pattern", metavar="GLOB", help="Which files (default **/*).")] = "**/*"
    include: Annotated[
        list[str], option("--include", metavar="EXT", help="Only these extensions: md,txt. Repeatable.")
    ] = field(default_factory=list)
    exclude: Annotated[
        list[str],
        option("--exclude", metavar="GLOB", help="Leave these out, instead of the usual .git, node_modules, …"),
    ] = field(default_factory=list)
    language: Annotated[str | None, option("--language", metavar="CODE", help="The language of all its documents.")] = (
        None
    )
    update: Annotated[
        str | None, option("--update", metavar="COMMAND", help="What `gnoctl update` runs in it first.")
    ] = None
    no_gitignore: Annotated[bool, option("--no-gitignore", help="Index what .gitignore leaves out, too.")] = False
    no_index: Annotated[bool, option("--no-index", help="Do not wait until it is indexed.")] = False


class AddOptions(FolderOptions, frozen=True, kw_only=True):
    path: Annotated[str, argument("PATH", help="The folder.")]


def add(options: AddOptions) -> int:
    with options.connect() as daemon:
        return add_and_index(daemon, options, options.path)


def add_and_index(daemon: Connection, options: FolderOptions, path: str) -> int:
    """Add the folder, index it unless that is not wanted, and return the exit status."""
    params = CollectionAddParams(
        path=folder(path),
        name=options.name,
        pattern=options.pattern,
        include=split_commas(options.include),
        exclude=split_commas(options.exclude) or None,
        language=options.language,
        update_command=options.update,
        gitignore=not options.no_gitignore,
    )
    result = daemon.call("collection.add", params, CollectionAddResult)
    if not options.json:
        print(text.line(f"added {result.collection.name}: {result.collection.path}"))
    status = 0
    if not options.no_index:
        synced = sync(daemon, options, [result.collection.name])
        if not options.json:
            status = report(synced, options)
    if options.json:
        print_json(result)
    return status


COMMAND = Command(AddOptions, add, HELP)
