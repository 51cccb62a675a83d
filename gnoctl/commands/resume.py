"""`gnoctl resume`: go on embedding."""

from __future__ import annotations

from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnod.protocol.params import NoParams
from gnod.protocol.results import EmbeddingStatus

HELP = """Go on embedding after `gnoctl pause`.

`gnoctl embed` follows it.
"""


def resume(options: JsonOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("index.resume", NoParams(), EmbeddingStatus)
    if options.json:
        print_json(result)
    else:
        print("embedding goes on; `gnoctl embed` follows it")


COMMAND = Command(JsonOptions, resume, HELP)
