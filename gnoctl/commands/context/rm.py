"""`gnoctl context rm`."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument
from gnoctl.wording import count
from gnod.protocol.params import ContextRemoveParams
from gnod.protocol.results import ContextRemoveResult

HELP = """Remove the contexts of a scope, or the one with that text."""


class RmOptions(JsonOptions, frozen=True, kw_only=True):
    scope: Annotated[str, argument("SCOPE", help="As it was added.")]
    words: Annotated[list[str], argument("TEXT", help="Only the one that says this.")] = field(default_factory=list)


def rm(options: RmOptions) -> None:
    params = ContextRemoveParams(scope=options.scope, text=" ".join(options.words) or None)
    with options.connect() as daemon:
        result = daemon.call("context.remove", params, ContextRemoveResult)
    if options.json:
        print_json(result)
    else:
        print(f"removed {count(len(result.removed), 'context')}")


COMMAND = Command(RmOptions, rm, HELP)
