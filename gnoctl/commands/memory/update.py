"""`gnoctl memory update`."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from gnoctl.json_output import print_json
from gnoctl.memories import render_whole
from gnoctl.options import Command, JsonOptions, argument, option
from gnoctl.standard_input import given_text
from gnod.errors import UsageError
from gnod.protocol.memory import MemoryRecord, MemoryUpdateParams

HELP = """Change what a memory says, its type or its topics.

What is not named stays as it is.

Examples:

  gnoctl memory update m4x0q2v7ke 'The staging database is restored every Tuesday'

  gnoctl memory update m4x0q2v7ke --type decision_done

  gnoctl memory update m4x0q2v7ke - < note.txt
"""


class UpdateOptions(JsonOptions, frozen=True, kw_only=True):
    id: Annotated[str, argument("ID", help="The memory.")]
    words: Annotated[list[str], argument("TEXT", help="What it is to say; -: what standard input has.")] = field(
        default_factory=list
    )
    type: Annotated[str | None, option("-t", "--type", metavar="TYPE", help="What it is.")] = None
    topic: Annotated[
        list[str], option("--topic", metavar="NAME", help="Its topics instead of those it has; '' for none.")
    ] = field(default_factory=list)


def update(options: UpdateOptions) -> None:
    if not (options.words or options.type or options.topic):
        raise UsageError("say what to change: a text, --type or --topic")
    params = MemoryUpdateParams(
        id=options.id,
        text=given_text(options.words, missing="standard input is empty") if options.words else None,
        type=options.type,
        topics=options.topic or None,
    )
    with options.connect() as daemon:
        result = daemon.call("memory.update", params, MemoryRecord)
    if options.json:
        print_json(result)
    else:
        for line in render_whole(result, options.terminal):
            print(line)


COMMAND = Command(UpdateOptions, update, HELP)
