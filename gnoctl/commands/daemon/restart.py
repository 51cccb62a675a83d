"""`gnoctl daemon restart`."""

from __future__ import annotations

from contextlib import suppress

from gnoctl.commands.daemon.start import start
from gnoctl.commands.daemon.stop import stop_daemon
from gnoctl.options import Command, JsonOptions
from gnod.errors import DaemonNotRunning

HELP = """Stop the daemon if it runs, and start it: after an upgrade, say."""


def restart(options: JsonOptions) -> None:
    with suppress(DaemonNotRunning):
        stop_daemon(options.places)
    start(options)


COMMAND = Command(JsonOptions, restart, HELP)
