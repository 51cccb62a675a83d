"""`gnoctl mcp`: the bridge that AI agents start; `gnoctl mcp install` configures them."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

from gnoctl.arguments.options import option
from gnoctl.command import Options, command
from gnod.paths import check_socket_path


class McpOptions(Options, frozen=True, kw_only=True):
    all_tools: Annotated[bool, option("--all", "Offer the tools that few agents need, too")] = False


@command("mcp", McpOptions)
def mcp(options: McpOptions) -> None:
    """Serve AI agents: the Model Context Protocol on standard input and output.

    Agents start this command themselves; `gnoctl mcp install` configures them. It starts the daemon, ends when the
    agent disconnects, and writes only the protocol to standard output.

    Six tools search, read and remember; `--all` adds `ask`, `status`, `recall_more` and `forget`.

    Examples:
      gnoctl mcp install --dry-run
      gnoctl mcp --all
    """
    places = options.places
    check_socket_path(places.socket)
    wire = take_output()  # do this before other imports, because they might print
    from gnoctl.mcp.bridge import serve
    from gnoctl.mcp.tools import CORE, MORE

    start = not (options.no_start or os.environ.get("GNO_NO_AUTOSTART"))
    serve(places, start=start, wire=wire, tools=(*CORE, *MORE) if options.all_tools else CORE)


def take_output() -> io.TextIOWrapper:
    """Return the original standard output; from now on, the descriptor and `print` write to standard error.

    This lasts until the process ends: libraries print when they are imported, in threads, and at exit.
    """
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return io.TextIOWrapper(os.fdopen(wire, "wb"), encoding="utf-8", newline="\n")
