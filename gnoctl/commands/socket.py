"""`gnoctl socket`: where editors and agents connect."""

from __future__ import annotations

from gnoctl.options import Command, Options
from gnod.paths import check_socket_path

HELP = """Print the path of the socket, for editors and agents.

The daemon speaks JSON-RPC 2.0 there, one message a line or with Content-Length headers.

Example:

  echo '{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}' | nc -U "$(gnoctl socket)"
"""


def socket(options: Options) -> None:
    path = options.places.socket
    check_socket_path(path)
    print(path)


COMMAND = Command(Options, socket, HELP)
