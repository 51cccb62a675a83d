"""Store the fingerprints of models that servers run. A fingerprint is the vector of a fixed text; the key is the
model's address.

Fingerprints are kept after the vectors of the index are deleted, because memories may have vectors of the same model.
"""

from __future__ import annotations

import numpy as np

from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.vectors.vector_rows import DTYPE, Vectors


class StoredFingerprints:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, uri: str) -> Vectors | None:
        def work(connection: Connection) -> Vectors | None:
            stored = connection.execute("SELECT fingerprint FROM endpoints WHERE uri = ?", (uri,)).get
            return None if stored is None else np.frombuffer(stored, DTYPE)

        return await self._database.read(work)

    async def put(self, uri: str, fingerprint: Vectors) -> None:
        def work(connection: Connection) -> None:
            row = (uri, fingerprint.astype(DTYPE).tobytes())
            connection.execute("INSERT OR REPLACE INTO endpoints VALUES (?, ?)", row)

        await self._database.write(work)


def forget(connection: Connection, uri: str) -> None:
    connection.execute("DELETE FROM endpoints WHERE uri = ?", (uri,))
