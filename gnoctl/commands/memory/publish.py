"""`gnoctl memory publish`."""

from __future__ import annotations

from typing import Annotated

from gnoctl import text
from gnoctl.json_output import print_json
from gnoctl.memories import memories
from gnoctl.options import Command, JsonOptions, argument, option
from gnod.errors import UsageError
from gnod.protocol.memory import MemoryManyResult, MemoryPublishParams

HELP = """Copy memories into a shared namespace.

It comes into being with the first. Where they are, they stay.
"""


class PublishOptions(JsonOptions, frozen=True, kw_only=True):
    ids: Annotated[list[str], argument("ID", help="The memory.")]
    to: Annotated[str | None, option("--to", metavar="NAME", help="The namespace.")] = None


def publish(options: PublishOptions) -> None:
    if not options.to:
        raise UsageError("say where to: --to NAME")
    params = MemoryPublishParams(ids=options.ids, namespace=options.to)
    with options.connect() as daemon:
        result = daemon.call("memory.publish", params, MemoryManyResult)
    if options.json:
        print_json(result)
        return
    existed = sum(each.existed for each in result.memories)
    there = f"; {existed:,} of them were there" if existed else ""
    print(text.line(f"published {memories(len(result.memories))} to {options.to}{there}"))


COMMAND = Command(PublishOptions, publish, HELP)
