"""`gnoctl service install`."""

from __future__ import annotations

from contextlib import suppress

from gnoctl import text
from gnoctl.commands.daemon.stop import stop_daemon
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions
from gnoctl.service import files, service_of
from gnod.errors import DaemonNotRunning
from gnod.paths import check_socket_path

HELP = """Make the daemon a service of yours: it starts when you log in.

With systemd (Linux) it starts as well when somebody connects, and is restarted when it crashes or hangs. With launchd
(macOS) it is an agent. Running this again takes over an upgrade, or a changed environment.
"""


def install(options: JsonOptions) -> None:
    places = options.places
    check_socket_path(places.socket)
    service = service_of(places)
    service.require_manager()
    for path in service.files:
        files.refuse_foreign(path)
    service.write()
    service.end()
    with suppress(DaemonNotRunning):  # one that gnoctl has started
        stop_daemon(places)
    service.enable()
    service.start()
    state = service.state()
    if options.json:
        print_json(state._asdict())
        return
    print(f"gnod is a service of {state.manager} now, for index '{places.index}' (pid {state.pid})")
    for name in state.files:
        print(f"  {text.line(name)}")
    if state.manager == "systemd":
        note("it runs while you are logged in; for longer: `loginctl enable-linger`", quiet=options.quiet)


COMMAND = Command(JsonOptions, install, HELP)
