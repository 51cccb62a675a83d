"""Remote models for tests. Addresses on loopback simulate other machines: `lan.test` is 127.0.0.2, `world.test`
127.0.0.3.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from gnod.config.model_uris import endpoint_of
from gnod.egress import Purpose, Scope
from gnod.models.files import ModelFiles
from gnod.models.remote.addresses import Addresses, RequestLimits
from gnod.models.remote.models import FingerprintsInMemory, RemoteModels
from gnod.models.run.roles import Embedder
from tests.gates import OpenGate

LAN, WORLD = "127.0.0.2", "127.0.0.3"
_SCOPES: dict[str, Scope] = {LAN: "lan", WORLD: "any"}
_NAMES = {"lan.test": [LAN], "world.test": [WORLD], "both.test": [WORLD, LAN]}
# Timeouts for a busy machine that still give up soon on a hanging request.
CALM = RequestLimits(interactive_s=20, background_s=20, silent_s=20, wait_s=0.02, answer_bytes=2**20)
SOON = CALM._replace(interactive_s=1.0, background_s=1.0, silent_s=1.0)

M = TypeVar("M")


# The names that were resolved.
resolved: list[str] = []


async def _resolve(name: str, port: int) -> list[str]:
    resolved.append(name)
    if name not in _NAMES:
        raise OSError("unknown name")
    return _NAMES[name]


ADDRESSES = Addresses(_resolve, lambda address: _SCOPES.get(address, "local"))


class Remote:
    def __init__(self, limits: RequestLimits, fingerprints: FingerprintsInMemory | None = None) -> None:
        self.fingerprints = fingerprints or FingerprintsInMemory()
        self.gate = OpenGate()
        self.models = RemoteModels(self.fingerprints, self.gate, ADDRESSES, limits)

    def embedder(self, uri: str, scope: Scope = "local") -> Embedder:
        return self.make(Embedder, uri, scope)

    def make(self, kind: Callable[..., M], uri: str, scope: Scope = "local") -> M:
        endpoint = endpoint_of(uri)
        assert endpoint
        self.gate.scope = scope
        runner = self.models.runner(endpoint, Purpose("embed", collections=("notes",), users=("notes",)))
        return kind(uri, files=ModelFiles(Path("/nowhere")), inference=runner, gpu=False, threads=1)


@asynccontextmanager
async def remote(
    limits: RequestLimits = CALM, fingerprints: FingerprintsInMemory | None = None
) -> AsyncIterator[Remote]:
    made = Remote(limits, fingerprints)
    try:
        yield made
    finally:
        await made.models.close()
