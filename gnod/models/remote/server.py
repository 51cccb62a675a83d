"""The state of one endpoint, shared by all its users: its connection, and the fingerprint of its model.

The fingerprint is the vector of a fixed text. Every request for vectors contains that text, so every answer shows
whether the model is still the same, whichever machine behind the endpoint sends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gnod.config.model_uris import Endpoint
from gnod.egress import Gate
from gnod.errors import EndpointChanged
from gnod.models.remote.addresses import Addresses, RequestLimits
from gnod.models.remote.connection import EndpointConnection

FIXED_TEXT = "The harbour master counts seven grey herons before the evening tide."
# Vectors of the same model have at least this cosine with other threads, cards and quantisations.
SAME = 0.98
# The number of simultaneous requests for documents: the server computes one while the other is in transit.
_AT_A_TIME = 2
# The number of texts in a request. A query may have to wait for one request. With fewer texts, the fixed text would
# cost more than a twentieth; TEI accepts 32 by default.
BATCH_TEXTS = 20

Vector = NDArray[np.float32]


class Fingerprints(Protocol):
    """Stores the fingerprints of endpoints, by address."""

    async def get(self, uri: str) -> Vector | None: ...

    async def put(self, uri: str, fingerprint: Vector) -> None: ...


class Server:
    """`asks_root`, `sends_texts`, `has_logits` and `unknown_fields` record how its reranking and chat interface
    works."""

    def __init__(
        self, endpoint: Endpoint, fingerprints: Fingerprints, gate: Gate, addresses: Addresses, limits: RequestLimits
    ) -> None:
        self.endpoint = endpoint
        self._at_a_time = asyncio.Semaphore(_AT_A_TIME)
        self._waited_for = 0
        self._nobody_waits = asyncio.Event()
        self._nobody_waits.set()
        self.asks_root = False
        self.sends_texts = False
        self.has_logits = False
        self.unknown_fields: set[str] = set()
        self._fingerprints = fingerprints
        self._fingerprint: Vector | None = None
        self._learning = asyncio.Lock()
        self.connection = EndpointConnection(endpoint, gate, addresses, limits)

    @asynccontextmanager
    async def turn(self, *, interactive: bool) -> AsyncIterator[None]:
        """Wait until a request may be sent. A server has no priorities: while a user waits for an answer, no request
        for documents starts."""
        if not interactive:
            async with self._at_a_time:
                await self._nobody_waits.wait()
                yield
            return
        self._waited_for += 1
        self._nobody_waits.clear()
        try:
            yield
        finally:
            self._waited_for -= 1
            if not self._waited_for:
                self._nobody_waits.set()

    async def verify(self, fingerprint: Vector) -> None:
        """Compare a fingerprint of length 1 with the stored one, or store it if it is the first. Raises
        EndpointChanged."""
        uri = str(self.endpoint)
        async with self._learning:
            if self._fingerprint is None:
                self._fingerprint = await self._fingerprints.get(uri)
            if self._fingerprint is None:
                await self._fingerprints.put(uri, fingerprint)
                self._fingerprint = fingerprint
        known = self._fingerprint
        remedy = (
            "the old vectors are kept, and no others are mixed with them: let the server run the old model, or"
            f" accept the new one with `gnoctl models pull --force {uri}`, which embeds everything again"
        )
        if len(known) != len(fingerprint):
            dimensions = f"{len(fingerprint)} dimensions, and sent {len(known)} before"
            raise EndpointChanged(
                f"the model server {self.endpoint.base} sends vectors of {dimensions}; {remedy}", {"uri": uri}
            )
        if (cosine := float(known @ fingerprint)) < SAME:
            changed = f"runs another model than before (cosine {cosine:.2f} for the same text)"
            raise EndpointChanged(f"the model server {self.endpoint.base} {changed}; {remedy}", {"uri": uri})

    def forget(self) -> None:
        """Read the fingerprint from `Fingerprints` again."""
        self._fingerprint = None
