"""`gnoctl memory lock`."""

from __future__ import annotations

from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnod.protocol.memory import MemoryStatusResult
from gnod.protocol.params import NoParams

HELP = """Lock the memories: the daemon forgets their key, and all that it had opened with it.

Nothing is stored or found until `gnoctl memory unlock`, or until the daemon starts again where the key is in the
system's keyring.
"""


def lock(options: JsonOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("memory.lock", NoParams(), MemoryStatusResult)
    if options.json:
        print_json(result)
    else:
        print("locked; `gnoctl memory unlock` opens them")


COMMAND = Command(JsonOptions, lock, HELP)
