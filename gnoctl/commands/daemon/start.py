"""`gnoctl daemon start`."""

from __future__ import annotations

from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnoctl.service import start_installed
from gnod.client.connection import connect
from gnod.client.starting import lock_is_held
from gnod.client.starting import start as start_daemon
from gnod.errors import DaemonNotRunning
from gnod.protocol.params import NoParams
from gnod.protocol.results import DaemonStatusResult

HELP = """Start the daemon and wait until it answers.

Every other command does this by itself. In the foreground: `gnod`.
"""


def start(options: JsonOptions) -> None:
    places = options.places
    # Asked before connecting: where the daemon is a service, to connect starts it.
    verb = "is already running" if lock_is_held(places) else "started"
    try:
        connection = connect(places)
    except DaemonNotRunning:
        # It is asked for: --no-start means the others. And the sentence below says what a note would.
        connection = start_installed(places) or start_daemon(places)
    with connection as daemon:
        status = daemon.call("daemon.status", NoParams(), DaemonStatusResult)
    if options.json:
        print_json(status)
    else:
        print(f"gnod {verb} (pid {status.pid}) for index '{status.index}'")


COMMAND = Command(JsonOptions, start, HELP)
