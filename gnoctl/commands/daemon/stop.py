"""`gnoctl daemon stop`."""

from __future__ import annotations

import time

from gnoctl.autostart import lock_is_held
from gnoctl.connection import connect
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
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
    pid = stop_daemon(options.places)
    if options.json:
        print_json({"stopped": True, "pid": pid})
    else:
        print(f"stopped gnod (pid {pid}) for index '{options.places.index}'")


def stop_daemon(places: Places) -> int:
    """Return the pid of the process that is gone. Raises DaemonNotRunning, or TimedOut when it stays."""
    with connect(places) as daemon:
        pid = daemon.call("daemon.status", NoParams(), DaemonStatusResult, timeout_s=STOP_TIMEOUT_S).pid
        try:
            daemon.call("daemon.shutdown", NoParams(), DaemonShutdownResult, timeout_s=STOP_TIMEOUT_S)
        except TimedOut:
            raise
        except Unavailable:
            pass  # somebody else was faster; what counts is that it goes
    _wait_until_gone(places, pid)
    return pid


def _wait_until_gone(places: Places, pid: int) -> None:
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while _listens(places) or lock_is_held(places):
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
