"""`gnoctl context list`."""

from __future__ import annotations

from gnoctl import text
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnod.protocol.params import NoParams
from gnod.protocol.results import ContextListResult

HELP = """List the contexts."""


def list_contexts(options: JsonOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("context.list", NoParams(), ContextListResult)
    if options.json:
        print_json(result)
    elif not result.contexts:
        note("No contexts yet: `gnoctl context add SCOPE TEXT`")
    else:
        width = max(text.cells(each.scope) for each in result.contexts)
        for each in result.contexts:
            print(f"{text.pad(text.line(each.scope), width)}  {text.line(each.text)}")


COMMAND = Command(JsonOptions, list_contexts, HELP)
