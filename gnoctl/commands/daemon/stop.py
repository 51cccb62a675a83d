"""`gnoctl daemon stop`."""

from __future__ import annotations

import time

from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnoctl.service import check_running
from gnod.client.connection import connect
from gnod.client.starting import lock_is_held
from gnod.errors import DaemonNotRunning, TimedOut, Unavailable
from gnod.paths import Places
from gnod.protocol.params import NoParams
from gnod.protocol.results import DaemonShutdownResult, DaemonStatusResult

STOP_TIMEOUT_S = 15.0
POLL_S = 0.03

HELP = """Stop the daemon and wait until it is gone.

Nothing is lost: what it was indexing is taken up again at the next start.
"""


def stop(options: JsonOptions) -> None:
    stopped = stop_daemon(options.places)
    if options.json:
        print_json({"stopped": True, "pid": stopped.pid})
    else:
        print(f"stopped gnod (pid {stopped.pid}) for index '{options.places.index}'")
    if stopped.manager == "systemd":
        note(
            "systemd starts it again when somebody connects: `gnoctl service uninstall` ends that", quiet=options.quiet
        )


def stop_daemon(places: Places) -> DaemonStatusResult:
    """Return the last status of the process that is gone. Raises DaemonNotRunning, or TimedOut when it stays."""
    check_running(places)
    with connect(places) as daemon:
        status = daemon.call("daemon.status", NoParams(), DaemonStatusResult, timeout_s=STOP_TIMEOUT_S)
        try:
            daemon.call("daemon.shutdown", NoParams(), DaemonShutdownResult, timeout_s=STOP_TIMEOUT_S)
        except TimedOut:
            raise
        except Unavailable:
            pass  # somebody else was faster; what counts is that it goes
    # A service manager goes on listening, and to connect would start the daemon again.
    _wait_until_gone(places, status.pid, closes_socket=status.manager is None)
    return status


def _wait_until_gone(places: Places, pid: int, *, closes_socket: bool) -> None:
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while lock_is_held(places) or (closes_socket and _listens(places)):
        if time.monotonic() > deadline:
            raise TimedOut(
                f"gnod (pid {pid}) has not ended within {STOP_TIMEOUT_S:g} s; `kill {pid}` ends it by force",
                {"pid": pid},
            )
        time.sleep(POLL_S)


def _listens(places: Places) -> bool:
    try:
        connect(places).close()
    except DaemonNotRunning:
        return False
    return True


COMMAND = Command(JsonOptions, stop, HELP)
