"""Keeps the fingerprints of model servers in the index, beside the vectors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gnod.store.database import Connection, Database
from gnod.store.vectors import fingerprints

if TYPE_CHECKING:
    from gnod.models.remote.server import Vector


class StoredFingerprints:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, uri: str) -> Vector | None:
        return await self._database.read(partial(fingerprints.get, uri=uri))

    async def put(self, uri: str, fingerprint: Vector) -> None:
        def work(connection: Connection) -> None:
            fingerprints.put(connection, uri, fingerprint)

        await self._database.write(work)
