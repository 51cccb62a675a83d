"""`gnoctl mcp`: the bridge that AI agents start; `gnoctl mcp install` configures them."""

from __future__ import annotations

import io
import os
import sys

from gnoctl.command import Options, command
from gnod.paths import check_socket_path


@command("mcp", Options)
def mcp(options: Options) -> None:
    """Serve AI agents: the Model Context Protocol on standard input and output.

    Agents start this command themselves; `gnoctl mcp install` configures them. It starts the daemon, ends when the
    agent disconnects, and writes only the protocol to standard output.

    Example:
      gnoctl mcp install --dry-run
    """
    places = options.places
    check_socket_path(places.socket)
    wire = take_output()  # do this before other imports, because they might print
    from gnoctl.mcp.bridge import serve

    serve(places, start=not (options.no_start or os.environ.get("GNO_NO_AUTOSTART")), wire=wire)


def take_output() -> io.TextIOWrapper:
    """Return the original standard output; from now on, the descriptor and `print` write to standard error.

    This lasts until the process ends: libraries print when they are imported, in threads, and at exit.
    """
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return io.TextIOWrapper(os.fdopen(wire, "wb"), encoding="utf-8", newline="\n")
