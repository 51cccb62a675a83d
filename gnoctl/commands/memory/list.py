"""`gnoctl memory list`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from gnoctl import text
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.memories import render_list
from gnoctl.options import Command, JsonOptions, option
from gnod.protocol.memory import MemoryListParams, MemoryListResult

HELP = """List memories, the latest first.

Examples:

  gnoctl memory list --type decision

  gnoctl memory list --topic postgres --namespace team
"""


class ListOptions(JsonOptions, frozen=True, kw_only=True):
    type: Annotated[
        list[str], option("-t", "--type", metavar="TYPE", help="Only of this type; repeat it for more.")
    ] = field(default_factory=list)
    topic: Annotated[list[str], option("--topic", metavar="NAME", help="Only with all these topics.")] = field(
        default_factory=list
    )
    namespace: Annotated[list[str], option("--namespace", metavar="NAME", help="Only there; repeat it for more.")] = (
        field(default_factory=list)
    )
    limit: Annotated[Annotated[int, Meta(ge=1, le=1000)], option("-n", "--limit", help="How many (default 100).")] = 100
    cursor: Annotated[str | None, option("--cursor", metavar="CURSOR", help="Go on there: the last list named it.")] = (
        None
    )


def list_memories(options: ListOptions) -> None:
    params = MemoryListParams(
        namespaces=options.namespace,
        types=options.type,
        topics=options.topic,
        limit=options.limit,
        cursor=options.cursor,
    )
    with options.connect() as daemon:
        result = daemon.call("memory.list", params, MemoryListResult)
    if options.json:
        print_json(result)
    elif not result.total:
        note("Nothing of the kind is remembered; `gnoctl remember TEXT` is how")
    else:
        for line in render_list(result, options.terminal):
            print(line)
        if result.cursor:
            note(text.line(f"The next: --cursor {result.cursor}"), quiet=options.quiet)


COMMAND = Command(ListOptions, list_memories, HELP)
