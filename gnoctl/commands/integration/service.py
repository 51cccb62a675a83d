"""`gnoctl service …`: the daemon as a service of systemd or launchd."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from gnoctl.command import JsonOptions, command
from gnoctl.commands.daemon import stop_daemon
from gnoctl.printing import text
from gnoctl.service import ServiceState, refuse_foreign, service_of
from gnod.errors import EXIT_NOT_RUNNING, DaemonNotRunning, Unavailable
from gnod.paths import check_socket_path


@command("service install", JsonOptions)
def install(options: JsonOptions) -> None:
    """Install the daemon as a user service that starts at login.

    On Linux, systemd also starts it when a client connects, and restarts it when it crashes or hangs. On macOS it is a
    launchd agent. Run this command again after an upgrade, or when the environment has changed.
    """
    places = options.places
    check_socket_path(places.socket)
    service = service_of(places)
    if missing := service.missing():
        raise Unavailable(missing)
    for path in service.files:
        refuse_foreign(path)
    service.write()
    service.end()
    with suppress(DaemonNotRunning):  # this stops a daemon that gnoctl has started
        stop_daemon(places)
    service.enable()
    service.start()
    state = service.state()
    options.show(state._asdict(), _installed(state, options))


def _installed(state: ServiceState, options: JsonOptions) -> Iterator[str]:
    yield f"gnod is now a service of {state.manager} for index '{options.places.index}' (pid {state.pid})"
    yield from (text.line(f"  {name}") for name in state.files)
    if state.manager == "systemd":
        options.note("it runs while you are logged in; to keep it running: `loginctl enable-linger`")


@command("service uninstall", JsonOptions)
def uninstall(options: JsonOptions) -> None:
    """Stop the daemon and remove the service.

    Index, config and models stay. gnoctl starts the daemon again when it is needed.
    """
    service = service_of(options.places)
    removed = [str(path) for path in service.files if path.exists()]
    for path in service.files:
        refuse_foreign(path)
    if removed or service.is_installed():
        service.end()
        service.remove()
        line = f"removed the {service.manager} service for index '{options.places.index}'"
    else:
        line = f"gnod is not a service for index '{options.places.index}': nothing to remove"
    options.show({"removed": removed}, line)


@command("service status", JsonOptions)
def status(options: JsonOptions) -> int:
    """Show whether the daemon is a service, and whether it is running.

    Starts nothing. The exit status is 3 if only gnoctl would start the daemon.
    """
    state = service_of(options.places).state()
    options.show(state._asdict(), _describe(state, options.places.index))
    return 0 if state.starts else EXIT_NOT_RUNNING


def _describe(state: ServiceState, index: str) -> Iterator[str]:
    of_index = f"for index '{index}'"
    if state.unavailable:
        yield text.line(state.unavailable)
    elif not state.installed:
        yield f"gnod is not a service {of_index}: `gnoctl service install` makes it one"
    elif state.running:
        yield f"gnod is running as a service of {state.manager} {of_index} (pid {state.pid})"
    elif state.starts:
        yield f"gnod is a service of {state.manager} {of_index}; it starts when it is needed"
    else:
        yield f"gnod is a service of {state.manager} {of_index}, but disabled: run `gnoctl service install`"
    yield from (text.line(f"  {name}") for name in state.files)
