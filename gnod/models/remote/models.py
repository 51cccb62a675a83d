"""All endpoints of this process: the state of each, its address, and the runners that use it.

The HTTP code is imported when the first endpoint is used, because most machines have none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING

from gnod.config.model_uris import Endpoint
from gnod.egress import Gate, Purpose
from gnod.errors import EndpointFailed
from gnod.models.remote import keys
from gnod.models.remote.addresses import Addresses, EndpointAddress, RequestLimits, forbidden

if TYPE_CHECKING:
    from gnod.models.remote.runner import RemoteRunner
    from gnod.models.remote.server import Fingerprints, Server, Vector


class FingerprintsInMemory:
    """Keeps fingerprints for a process that does not store vectors."""

    def __init__(self) -> None:
        self._known: dict[str, Vector] = {}

    async def get(self, uri: str) -> Vector | None:
        return self._known.get(uri)

    async def put(self, uri: str, fingerprint: Vector) -> None:
        self._known[uri] = fingerprint


class RemoteModels:
    def __init__(
        self,
        fingerprints: Fingerprints,
        gate: Gate,
        addresses: Addresses | None = None,
        limits: RequestLimits | None = None,
    ) -> None:
        self._fingerprints = fingerprints
        self._gate = gate
        self._addresses = addresses or Addresses()
        self._limits = limits or RequestLimits()
        self._servers: dict[str, Server] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def runner(self, endpoint: Endpoint, purpose: Purpose) -> RemoteRunner:
        """Return a runner for the model. It sends only what the gate allows, and raises EgressForbidden for the
        rest."""
        from gnod.models.remote.runner import RemoteRunner

        return RemoteRunner(self._server(endpoint), purpose)

    async def check(self, endpoint: Endpoint, purpose: Purpose) -> None:
        """Raise EgressForbidden if nothing may be sent for this purpose now, and EndpointFailed for an unknown name.
        Opens no connection, but may resolve a name."""
        place = await self.place(endpoint, purpose)
        egress = self._gate.within(str(endpoint), purpose)
        is_open = place.scope == "any" and not endpoint.is_encrypted
        if is_open or not egress.allows(place.scope):
            raise forbidden(endpoint, place, egress)

    async def place(self, endpoint: Endpoint, purpose: Purpose) -> EndpointAddress:
        """Return the address of an endpoint. Raises EgressForbidden, without resolving the name, if the config does not
        name the endpoint for this purpose. Raises EndpointFailed."""
        self._gate.within(str(endpoint), purpose)
        try:
            return await self._addresses.find(endpoint)
        except (OSError, TimeoutError):
            text = f"the name {endpoint.host} of the model server {endpoint.base} has no address: check it in index.yml"
            raise EndpointFailed(text, {"uri": str(endpoint)}) from None

    def key_source(self, endpoint: Endpoint) -> str | None:
        """Return where the key of a server comes from; None if no key is used, as far as this process knows."""
        if keys.from_environment(endpoint):
            return "environment"
        server = self._servers.get(str(endpoint))
        return server.connection.key.source if server and server.connection.key else None

    def forget(self, endpoint: Endpoint) -> None:
        """Read the fingerprint of an endpoint again."""
        if server := self._servers.get(str(endpoint)):
            server.forget()

    async def close(self) -> None:
        await asyncio.gather(*self._closing, *(server.connection.close() for server in self._servers.values()))

    def close_soon(self, kept: Collection[str]) -> None:
        """Close the connections to all servers except the ones in `kept`."""
        for uri, server in self._servers.items():
            if uri not in kept:
                self._closing.add(task := asyncio.create_task(server.connection.close()))
                task.add_done_callback(self._closing.discard)

    def _server(self, endpoint: Endpoint) -> Server:
        from gnod.models.remote.server import Server

        uri = str(endpoint)
        if uri not in self._servers:
            self._servers[uri] = Server(endpoint, self._fingerprints, self._gate, self._addresses, self._limits)
        return self._servers[uri]
