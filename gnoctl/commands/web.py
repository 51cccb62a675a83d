"""`gnoctl web`: the page in a browser."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from gnoctl.arguments.options import option
from gnoctl.command import Options, command
from gnod.errors import Unavailable
from gnod.paths import IndexPaths, check_socket_path

if TYPE_CHECKING:
    from gnoctl.web.session import WebSession

DEFAULT_PORT = 4663


class WebOptions(Options, frozen=True, kw_only=True):
    port: Annotated[
        Annotated[int, Meta(ge=0, le=65535)] | None,
        option("--port", f"Listen on this port [default: {DEFAULT_PORT}, or any free one]", "N"),
    ] = None
    no_open: Annotated[bool, option("--no-open", "Do not open a browser")] = False
    print_only: Annotated[bool, option("--print", "Only print the address of the page that is served now")] = False


@command("web", WebOptions)
def web(options: WebOptions) -> None:
    """Serve a page to search and read your documents, and open it in the browser.

    It prints the address, which contains a secret that signs the browser in, and runs until Ctrl-C. Only this machine
    can reach it, and it loads nothing from elsewhere. If the page is already served, the command opens it again.

    Examples:
      gnoctl web
      gnoctl web --no-open --port 8080
      gnoctl web --print
    """
    from gnoctl.web import session as sessions

    places = options.places
    check_socket_path(places.socket)
    with sessions.lock(places) as is_first:
        if is_first and options.print_only:
            raise Unavailable("the page is not being served: run `gnoctl web`")
        if is_first:
            return _serve(places, options)
        running = sessions.running(places)
    if running is None:
        raise Unavailable("the page is being started: try again in a moment")
    return _show(running, options)


def _serve(places: IndexPaths, options: WebOptions) -> None:
    from gnoctl.commands.models import network
    from gnoctl.web import server
    from gnoctl.web import session as sessions

    sock = _listen(options.port)
    session = sessions.write(places, sock.getsockname()[1])
    sock.listen()  # listen before the browser connects
    _show(session, options)
    options.note("Ctrl-C stops")
    server.serve(places, session, sock, network(), start=options.may_start)


def _listen(port: int | None) -> socket.socket:
    from gnoctl.loopback.server import listen

    try:
        return listen(DEFAULT_PORT if port is None else port)
    except OSError as error:
        if port is None:
            return listen(0)
        raise Unavailable(f"port {port} cannot be used ({error.strerror}): name another one with --port") from None


def _show(session: WebSession, options: WebOptions) -> None:
    print(session.address)
    sys.stdout.flush()
    if options.no_open or options.print_only:
        return
    from gnoctl.opening.starting import this_system

    if this_system().has_display:
        import webbrowser

        webbrowser.open(session.brief_address())
