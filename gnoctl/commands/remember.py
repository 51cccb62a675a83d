"""`gnoctl remember`: a text to be kept, and found again."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument, option
from gnoctl.standard_input import given_text
from gnod.protocol.memory import MemoryStoreParams, MemoryStoreResult

HELP = """Remember a text.

One thing at a time is found best. It is kept encrypted, and printed is the id by which it is known. Without a text it
is read from standard input.

Examples:

  gnoctl remember 'The staging database is restored from production every Monday' --topic staging --topic postgres

  gnoctl remember 'Prefers tabs to spaces in Makefiles only' -t preference

  git log -1 --format=%B | gnoctl remember -t result
"""


class RememberOptions(JsonOptions, frozen=True, kw_only=True):
    words: Annotated[list[str], argument("TEXT", help="What to remember; -: what standard input has.")] = field(
        default_factory=list
    )
    type: Annotated[
        str,
        option(
            "-t",
            "--type",
            metavar="TYPE",
            help="What it is (default fact); another word may be made up.",
            complete="fact|preference|summary|result|decision|task",
        ),
    ] = "fact"
    topic: Annotated[list[str], option("--topic", metavar="NAME", help="A name to find it by; repeat it for more.")] = (
        field(default_factory=list)
    )
    namespace: Annotated[
        str, option("--namespace", metavar="NAME", help="Where to keep it (default: the personal one).")
    ] = "personal"


def remember(options: RememberOptions) -> None:
    words = given_text(options.words, missing="say what to remember: `gnoctl remember TEXT`, or pipe it in")
    params = MemoryStoreParams(text=words, type=options.type, topics=options.topic, namespace=options.namespace)
    with options.connect() as daemon:
        result = daemon.call("memory.store", params, MemoryStoreResult)
    if options.json:
        print_json(result)
        return
    print(result.id)
    if result.existed:
        note(f"{result.id} says that already: its topics were added, and its type set", quiet=options.quiet)


COMMAND = Command(RememberOptions, remember, HELP)
