"""The fingerprints of models that servers run: the vector of a fixed text, by the model's address.

They outlive the vectors of the index, because memories may have vectors of the same model.
"""

from __future__ import annotations

import numpy as np

from gnod.store.database import Connection
from gnod.store.vectors.vector_rows import DTYPE, Vectors


def get(connection: Connection, uri: str) -> Vectors | None:
    stored = connection.execute("SELECT fingerprint FROM endpoints WHERE uri = ?", (uri,)).get
    return None if stored is None else np.frombuffer(stored, DTYPE)


def put(connection: Connection, uri: str, fingerprint: Vectors) -> None:
    connection.execute("INSERT OR REPLACE INTO endpoints VALUES (?, ?)", (uri, fingerprint.astype(DTYPE).tobytes()))


def forget(connection: Connection, uri: str) -> None:
    connection.execute("DELETE FROM endpoints WHERE uri = ?", (uri,))
