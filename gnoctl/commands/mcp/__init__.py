"""`gnoctl mcp`: the bridge that AI agents start; `gnoctl mcp install` tells them to."""

from __future__ import annotations

import os
from pathlib import Path

from gnoctl.options import Command, Options
from gnod.paths import check_socket_path

HELP = """Serve AI agents: the Model Context Protocol on standard input and output.

Agents start this themselves; `gnoctl mcp install` tells them to. It starts the daemon, ends when the agent hangs up,
and writes nothing but the protocol to standard output.

Example:

  gnoctl mcp install --dry-run
"""


def mcp(options: Options) -> None:
    from gnoctl.mcp.stdio import take_output

    _find_runtime_folder()
    places = options.places
    check_socket_path(places.socket)
    wire = take_output()  # before anything else is imported: it might print
    from gnoctl.mcp.bridge import serve

    serve(places, start=not (options.no_start or os.environ.get("GNO_NO_AUTOSTART")), wire=wire)


def _find_runtime_folder() -> None:
    """Agents hand on little of the environment, and the daemon's socket must be found all the same."""
    usual = Path(f"/run/user/{os.getuid()}")
    if "XDG_RUNTIME_DIR" not in os.environ and usual.is_dir():
        os.environ["XDG_RUNTIME_DIR"] = str(usual)


COMMAND = Command(Options, mcp, HELP)
