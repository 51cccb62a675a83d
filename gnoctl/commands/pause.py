"""`gnoctl pause`: stop embedding."""

from __future__ import annotations

from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnoctl.wording import count
from gnod.protocol.params import NoParams
from gnod.protocol.results import EmbeddingStatus

HELP = """Stop embedding until `gnoctl resume`.

Files are still taken in, and are found by keyword at once; searches by meaning go on with the vectors that are
there. A restart of the daemon does not end the pause.
"""


def pause(options: JsonOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("index.pause", NoParams(), EmbeddingStatus)
    if options.json:
        print_json(result)
    else:
        print(f"paused, {count(result.pending, 'chunk')} left to embed")


COMMAND = Command(JsonOptions, pause, HELP)
