"""Store what gnod/tuning learned about each collection: a factor for the odds of vectors against keywords."""

from __future__ import annotations

from typing import NamedTuple

from gnod.store.connection import Connection


class Prior(NamedTuple):
    """`vector_odds`: 1 is the default. `model`: the embedding model that served the collection when it had `documents`.
    The measures are nDCG@10 over the `questions`: `keyword` and `vector` alone, fused without the prior (`before`) and
    with it (`after`). `measured_at` is in seconds since 1970."""

    collection: str
    vector_odds: float
    model: str
    documents: int
    questions: int
    keyword: float
    vector: float
    before: float
    after: float
    measured_at: float

    @classmethod
    def neutral(cls, collection: str, model: str, documents: int) -> Prior:
        """Return a prior that changes nothing, without a measurement."""
        return cls(collection, 1.0, model, documents, 0, *(0.0,) * 5)


_COLUMNS = ", ".join(f"p.{name}" for name in Prior._fields[1:])
_FROM = "FROM collection_priors p JOIN collections c ON c.id = p.collection_id"


def put(connection: Connection, prior: Prior) -> None:
    """Store a prior. Does nothing if its collection was removed."""
    connection.execute(
        f"INSERT OR REPLACE INTO collection_priors (collection_id, {', '.join(Prior._fields[1:])})"
        f" SELECT id, {', '.join('?' * (len(Prior._fields) - 1))} FROM collections WHERE name = ?",
        (*prior[1:], prior.collection),
    )


def reset(connection: Connection, collection: str) -> bool:
    """Delete the prior of a collection. Returns whether it had one."""
    connection.execute(
        "DELETE FROM collection_priors WHERE collection_id = (SELECT id FROM collections WHERE name = ?)", (collection,)
    )
    return bool(connection.changes())


def all_priors(connection: Connection) -> list[Prior]:
    """Return the priors in order of the collection's name."""
    return [Prior(*row) for row in connection.execute(f"SELECT c.name, {_COLUMNS} {_FROM} ORDER BY c.name")]


def odds(connection: Connection) -> dict[str, float]:
    """Return the factors that were learned with the model that now serves the collection. Others do not apply."""
    rows = connection.execute(
        f"SELECT c.name, p.vector_odds {_FROM} JOIN embedding_models m ON m.id = c.served_by AND m.uri = p.model"
    )
    return {str(name): float(factor) for name, factor in rows}
