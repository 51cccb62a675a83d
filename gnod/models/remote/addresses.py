"""From the host of an endpoint to the addresses that may be connected to."""

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
    """Where an endpoint is.

    `addresses`: in order of preference, each with its scope; a Unix socket has none. `scope`: the narrowest one in
    which it can be reached.
    """

    addresses: list[tuple[str, Scope]]
    scope: Scope


async def resolve(host: str, port: int) -> list[str]:
    """Ask the system. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Addresses:
    """`resolve` and `scope_of` are arguments for tests, which play other machines on loopback."""

    def __init__(self, resolve: Resolve = resolve, scope_of: Callable[[str], Scope] = scope_of) -> None:
        self._resolve = resolve
        self._scope_of = scope_of

    async def find(self, endpoint: Endpoint) -> EndpointAddress:
        """Find the endpoint. Raises OSError if the name has no address, and TimeoutError."""
        return EndpointAddress([], "local") if endpoint.socket else await self.locate(endpoint.host, endpoint.port)

    async def locate(self, host: str, port: int) -> EndpointAddress:
        """Return where a name or an address is. Raises as `find`."""
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
    """Return the error for an endpoint that is not within the scope, or not encrypted where it must be."""
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
