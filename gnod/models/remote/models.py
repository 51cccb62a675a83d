"""All endpoints of this process: what is known of each, where it is, and the runners that use it.

Loads what speaks HTTP when the first endpoint is used: most machines have none."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from gnod.config.model_uris import Endpoint
from gnod.egress import Egress
from gnod.errors import EndpointFailed
from gnod.models.remote import keys
from gnod.models.remote.addresses import Addresses, Place, forbidden
from gnod.models.remote.limits import Limits

if TYPE_CHECKING:
    from gnod.models.remote.runner import RemoteRunner
    from gnod.models.remote.server import Fingerprints, Server, Vector


class FingerprintsInMemory:
    """For a process that keeps no vectors."""

    def __init__(self) -> None:
        self._known: dict[str, Vector] = {}

    async def get(self, uri: str) -> Vector | None:
        return self._known.get(uri)

    async def put(self, uri: str, fingerprint: Vector) -> None:
        self._known[uri] = fingerprint


class RemoteModels:
    def __init__(
        self, fingerprints: Fingerprints, addresses: Addresses | None = None, limits: Limits | None = None
    ) -> None:
        self._fingerprints = fingerprints
        self._addresses = addresses or Addresses()
        self._limits = limits or Limits()
        self._servers: dict[str, Server] = {}

    def runner(self, endpoint: Endpoint, egress: Egress) -> RemoteRunner:
        """Return what runs the model. It sends nothing beyond the scope, and raises EgressForbidden instead."""
        from gnod.models.remote.runner import RemoteRunner

        return RemoteRunner(self._server(endpoint), egress)

    async def check(self, endpoint: Endpoint, egress: Egress) -> None:
        """Raise EgressForbidden for an endpoint that is not within the scope, and EndpointFailed for an unknown
        name. Connects to nothing; may ask for the address of a name."""
        place = await self.place(endpoint)
        is_open = place.scope == "any" and not endpoint.is_encrypted
        if is_open or not egress.allows(place.scope):
            raise forbidden(endpoint, place, egress)

    async def place(self, endpoint: Endpoint) -> Place:
        """Return where an endpoint is. Raises EndpointFailed."""
        try:
            return await self._addresses.find(endpoint)
        except (OSError, TimeoutError):
            text = f"the name {endpoint.host} of the model server {endpoint.base} has no address: check it in index.yml"
            raise EndpointFailed(text, {"uri": str(endpoint)}) from None

    def key_source(self, endpoint: Endpoint) -> str | None:
        """Return where the key of a server comes from; None: no key is used, as far as is known."""
        if keys.from_environment(endpoint):
            return "environment"
        server = self._servers.get(str(endpoint))
        return server.key_source if server else None

    def forget(self, endpoint: Endpoint) -> None:
        """Read the fingerprint of an endpoint again."""
        if server := self._servers.get(str(endpoint)):
            server.forget()

    async def close(self) -> None:
        await asyncio.gather(*(server.close() for server in self._servers.values()))

    def _server(self, endpoint: Endpoint) -> Server:
        from gnod.models.remote.server import Server

        uri = str(endpoint)
        if uri not in self._servers:
            self._servers[uri] = Server(endpoint, self._fingerprints, self._addresses, self._limits)
        return self._servers[uri]
