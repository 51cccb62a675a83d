"""Resolves the host of an endpoint to the addresses that gnod may connect to; limits of a request. Imports no HTTP
library.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from gnod.config.model_uris import Endpoint
from gnod.egress import SCOPES, Egress, Scope, scope_of
from gnod.errors import EgressForbidden

_RESOLVE_S = 5.0

# Returns the IP addresses of a name and a port. Raises OSError.
Resolve = Callable[[str, int], Awaitable[list[str]]]


class EndpointAddress(NamedTuple):
    """The addresses of an endpoint.

    `addresses`: in order of preference, each with its scope; a Unix socket has none. `scope`: the narrowest scope in
    which the endpoint can be reached.
    """

    addresses: list[tuple[str, Scope]]
    scope: Scope


async def resolve(host: str, port: int) -> list[str]:
    """Resolve the name with the system's resolver. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class RequestLimits(NamedTuple):
    """How long a server may take, in seconds, and how much it may send. `connect_s`: to connect. `interactive_s` and
    `background_s`: for the whole answer if a user waits for it, or does not. `silent_s`: between two parts of a
    streamed answer. `wait_s`: before the second attempt. `patience_s`: after this time, the server counts as not
    answering. `answer_bytes`: the size of one answer."""

    connect_s: float = 5.0
    interactive_s: float = 30.0
    background_s: float = 180.0
    silent_s: float = 120.0
    wait_s: float = 0.25
    patience_s: float = 1.0
    answer_bytes: int = 64 * 1024 * 1024


class Addresses:
    """Tests pass `resolve` and `scope_of` to simulate other machines on loopback."""

    def __init__(self, resolve: Resolve = resolve, scope_of: Callable[[str], Scope] = scope_of) -> None:
        self._resolve = resolve
        self._scope_of = scope_of

    async def find(self, endpoint: Endpoint) -> EndpointAddress:
        """Return the address of an endpoint. Raises OSError if the name has no address, and TimeoutError."""
        return EndpointAddress([], "local") if endpoint.socket else await self.locate(endpoint.host, endpoint.port)

    async def locate(self, host: str, port: int) -> EndpointAddress:
        """Return the address of a host name or an IP address. Raises as `find`."""
        try:
            ipaddress.ip_address(host.partition("%")[0])
            found = [host]
        except ValueError:
            async with asyncio.timeout(_RESOLVE_S):
                found = await self._resolve(host, port)
        if not found:
            raise OSError("the name has no address")
        addresses = [(address, self._scope_of(address)) for address in found]
        return EndpointAddress(addresses, min((scope for _, scope in addresses), key=SCOPES.index))


def forbidden(endpoint: Endpoint, place: EndpointAddress, egress: Egress) -> EgressForbidden:
    """Return the error for an endpoint that is outside the scope, or unencrypted where it must be encrypted."""
    details: dict[str, object] = {"uri": str(endpoint), "egress": egress.scope, "needs": place.scope}
    if egress.allows(place.scope):
        return EgressForbidden(
            f"the model server {endpoint.base} is outside the local network, and http: is not encrypted, so nothing"
            " was sent: use https: in index.yml",
            details,
        )
    where = {"lan": "in the local network", "any": "outside the local network"}[place.scope]
    return EgressForbidden(
        f"`egress: {egress.scope}` of {egress.owner} keeps texts from {endpoint.base}, which is {where}: nothing was"
        f" sent; allow it with `egress: {place.scope}` in index.yml, or choose another model",
        details,
    )
