"""`gnoctl mcp`: the bridge between AI agents and the daemon; `gnoctl mcp install` configures them."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

from msgspec import Meta

from gnoctl.arguments.options import option
from gnoctl.command import Options, command
from gnod.errors import Unavailable, UsageError
from gnod.paths import check_socket_path

# The port is fixed, because agents have it in their settings.
DEFAULT_PORT = 4664


class McpOptions(Options, frozen=True, kw_only=True):
    all_tools: Annotated[bool, option("--all", "Also offer the tools that few agents need")] = False
    http: Annotated[bool, option("--http", "Serve several agents at an address on this machine")] = False
    port: Annotated[
        Annotated[int, Meta(ge=1, le=65535)] | None,
        option("--port", f"With --http: listen on this port [default: {DEFAULT_PORT}]", "N"),
    ] = None


@command("mcp", McpOptions)
def mcp(options: McpOptions) -> None:
    """Serve AI agents: the Model Context Protocol on standard input and output, or at an address.

    Agents start this command themselves; `gnoctl mcp install` configures them. It starts the daemon, ends when the
    agent disconnects, and writes only the protocol to standard output.

    With --http, one process serves all agents (streamable HTTP) until Ctrl-C. It prints its address and the token that
    agents must show; `gnoctl mcp install --http` writes both into their settings. Only this machine can reach it.

    Six tools search, read and remember; `--all` adds `ask`, `status`, `recall_more` and `forget`.

    Examples:
      gnoctl mcp install --dry-run
      gnoctl mcp --all
      gnoctl mcp --http
    """
    if options.port is not None and not options.http:
        raise UsageError("--port needs --http")
    check_socket_path(options.places.socket)
    if options.http:
        _serve_http(options)
        return
    wire = take_output()  # do this before other imports, because they might print
    from gnoctl.mcp.bridge import serve
    from gnoctl.mcp.tools import CORE, MORE

    serve(options.places, start=options.may_start, wire=wire, tools=(*CORE, *MORE) if options.all_tools else CORE)


def _serve_http(options: McpOptions) -> None:
    from gnoctl.loopback.server import listen
    from gnoctl.mcp import http
    from gnoctl.mcp.token import address, token_of
    from gnoctl.mcp.tools import CORE, MORE

    port = options.port or DEFAULT_PORT
    try:
        sock = listen(port)
        sock.listen()
    except OSError as error:
        said = f"port {port} cannot be used ({error.strerror})"
        raise Unavailable(f"{said}: if no other bridge runs, name another one with --port") from None
    token = token_of(options.places)
    print(f"{address(port)}\nAuthorization: Bearer {token}", flush=True)
    options.note("`gnoctl mcp install --http` configures agents; Ctrl-C stops")
    tools = (*CORE, *MORE) if options.all_tools else CORE
    http.serve(options.places, token, sock, start=options.may_start, tools=tools)


def take_output() -> io.TextIOWrapper:
    """Return the original standard output; from now on, the descriptor and `print` write to standard error.

    This lasts until the process ends: libraries print when they are imported, in threads, and at exit.
    """
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return io.TextIOWrapper(os.fdopen(wire, "wb"), encoding="utf-8", newline="\n")
