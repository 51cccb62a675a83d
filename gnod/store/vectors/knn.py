"""Nearest neighbours by SQLite, for vectors that do not fit in memory: sqlite-vec's distance function reads the stored
vectors for each query.
"""

from __future__ import annotations

from typing import NamedTuple

import apsw

from gnod.store.tables.filters import Condition


class Neighbour(NamedTuple):
    """`cosine` in [-1, 1]."""

    vector_id: int
    cosine: float


def load(connection: apsw.Connection) -> str | None:
    """Load sqlite-vec into a connection. Returns the reason if that fails."""
    try:
        import sqlite_vec

        connection.enable_load_extension(True)
        try:
            connection.load_extension(sqlite_vec.loadable_path())
        finally:
            connection.enable_load_extension(False)
    except ImportError:
        return "the package sqlite-vec is not installed"
    except (apsw.Error, AttributeError, OSError) as error:
        return f"sqlite-vec does not load: {error}"
    return None


def is_loaded(connection: apsw.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'vec0'").get)


def nearest(connection: apsw.Connection, model_id: int, query: bytes, limit: int) -> list[Neighbour]:
    """Return the nearest vectors of a model, best first."""
    rows = connection.execute(
        # Reading the table itself is faster than following an index into it.
        "SELECT id, 1 - vec_distance_cosine(embedding, ?) AS cosine FROM content_vectors NOT INDEXED"
        " WHERE model_id = ? ORDER BY cosine DESC LIMIT ?",
        (query, model_id, limit),
    )
    return [Neighbour(*row) for row in rows]


def of_documents(connection: apsw.Connection, model_id: int, query: bytes, condition: Condition) -> list[Neighbour]:
    """Return all vectors of the documents that pass, by their ids."""
    rows = connection.execute(
        "SELECT id, 1 - vec_distance_cosine(embedding, ?) FROM content_vectors WHERE id IN ("
        "SELECT v.id FROM documents d CROSS JOIN chunks k ON k.mirror_hash = d.mirror_hash"
        f" CROSS JOIN content_vectors v ON v.embed_hash = k.embed_hash AND v.model_id = ? WHERE {condition.where}"
        ") ORDER BY id",
        (query, model_id, *condition.values),
    )
    return [Neighbour(*row) for row in rows]
