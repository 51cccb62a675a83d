"""The pieces of one document with their vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gnod.store.connection import Connection, from_any
from gnod.store.vectors.vector_rows import DTYPE, Vectors


class EmbeddedPiece(NamedTuple):
    """`start` to `end` in the canonical text, and the headings above. A chunk without vectors is one piece."""

    start: int
    end: int
    heading: str
    vector: Vectors | None


@from_any
def of_document(connection: Connection, mirror_hash: str, uri: str | None) -> list[EmbeddedPiece]:
    """Return all pieces in order, with their vectors of that model, if any."""
    rows = connection.execute(
        "SELECT k.start, k.end, k.heading, v.start, v.end, v.embedding FROM chunks k"
        " LEFT JOIN content_vectors v ON v.embed_hash = k.embed_hash"
        " AND v.model_id = (SELECT id FROM embedding_models WHERE uri = ?)"
        " WHERE k.mirror_hash = ? ORDER BY k.seq, v.start",
        (uri, mirror_hash),
    )
    return [
        EmbeddedPiece(
            start + (first or 0),
            end if last is None else min(start + last, end),
            heading,
            None if embedding is None else np.frombuffer(embedding, DTYPE),
        )
        for start, end, heading, first, last, embedding in rows
    ]
