"""`gnoctl daemon start`."""

from __future__ import annotations

from gnoctl.connection import connect
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnod.errors import DaemonNotRunning
from gnod.protocol.params import NoParams
from gnod.protocol.results import DaemonStatusResult

HELP = """Start the daemon and wait until it answers.

Every other command does this by itself. In the foreground: `gnod`.
"""


def start(options: JsonOptions) -> None:
    places = options.places
    try:
        connection = connect(places)
        verb = "is already running"
    except DaemonNotRunning:
        from gnoctl.autostart import start as start_daemon

        # It is asked for: --no-start means the others. And the sentence below says what the note would.
        connection = start_daemon(places, quiet=True)
        verb = "started"
    with connection as daemon:
        status = daemon.call("daemon.status", NoParams(), DaemonStatusResult)
    if options.json:
        print_json(status)
    else:
        print(f"gnod {verb} (pid {status.pid}) for index '{status.index}'")


COMMAND = Command(JsonOptions, start, HELP)
