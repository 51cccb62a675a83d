"""`gnoctl daemon status`."""

from __future__ import annotations

from collections.abc import Iterator

from gnoctl import text
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnoctl.service import check_running
from gnoctl.table import columns
from gnoctl.terminal import Terminal
from gnoctl.wording import count, duration, size
from gnod import __version__
from gnod.client.connection import connect
from gnod.protocol.params import NoParams
from gnod.protocol.results import DaemonStatusResult

HELP = """Say whether the daemon runs, and how it fares.

Never starts it; the exit status is 3 when it does not run.
"""


def status(options: JsonOptions) -> None:
    check_running(options.places)
    with connect(options.places) as daemon:
        result = daemon.call("daemon.status", NoParams(), DaemonStatusResult)
    if options.json:
        print_json(result)
        return
    for line in render(result, options.terminal):
        print(line)
    if result.version != __version__:
        note(f"gnod is version {result.version} and gnoctl {__version__}: `gnoctl daemon restart`")


def render(result: DaemonStatusResult, terminal: Terminal) -> Iterator[str]:
    yield f"gnod {text.line(result.version)} is running for index '{text.line(result.index)}'"
    facts = {
        "pid": str(result.pid) + (f", a service of {result.manager}" if result.manager else ""),
        "up": duration(result.uptime_s),
        "memory": size(result.resident_bytes),
        "served": f"{count(result.requests, 'request')}, {count(result.connections, 'open connection')}",
        "socket": result.socket,
        "log": result.log_file,
        "SQLite": result.sqlite_version,
    }
    for name, value in facts.items():
        yield f"  {name:<7} {text.line(value)}"
    if result.workers:
        yield ""
        rows = [[str(each.pid), each.state, size(each.resident_bytes), str(each.jobs)] for each in result.workers]
        yield from columns(["worker", "state", "memory", "jobs"], rows, terminal)


COMMAND = Command(JsonOptions, status, HELP)
