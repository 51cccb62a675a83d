"""`gnoctl context add`."""

from __future__ import annotations

from typing import Annotated

from gnoctl import text
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument
from gnod.protocol.params import ContextAddParams
from gnod.protocol.results import ContextAddResult

HELP = """Say what a folder is about; every result from it carries the words.

Examples:

  gnoctl context add / 'My notes since 2019'

  gnoctl context add work: 'Documentation of the payment team'

  gnoctl context add gno://work/adr 'Decisions; newer ones replace older ones'
"""


class AddOptions(JsonOptions, frozen=True, kw_only=True):
    scope: Annotated[str, argument("SCOPE", help="/ for everything, collection:, or gno://collection/prefix.")]
    words: Annotated[list[str], argument("TEXT", help="What it is about.")]


def add(options: AddOptions) -> None:
    params = ContextAddParams(scope=options.scope, text=" ".join(options.words))
    with options.connect() as daemon:
        result = daemon.call("context.add", params, ContextAddResult)
    if options.json:
        print_json(result)
    else:
        print(text.line(f"{result.context.scope}  {result.context.text}"))


COMMAND = Command(AddOptions, add, HELP)
