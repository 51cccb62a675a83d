"""Read vectors in bulk (for copies in memory) or by document. If the vectors do not fit in memory, the distance
function of sqlite-vec finds the nearest ones on disk.

`seq` numbers the changes of all models together. Only the most recent changes are kept (see index_schema).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from gnod.store.connection import Connection, from_any, json_list
from gnod.store.tables.filters import Condition

# Vectors are stored as this type.
DTYPE = np.dtype("<f4")
# Estimate the mean of all vectors from about this many.
_AVERAGED = 4096
Ids = NDArray[np.int64]
Vectors = NDArray[np.float32]
Places = tuple[Ids, Ids, NDArray[np.int32]]


class VectorModel(NamedTuple):
    """`dimensions` is None until the first vector of the model is stored."""

    id: int
    uri: str
    dimensions: int | None


class EmbeddedPiece(NamedTuple):
    """A piece of a document: its span `start` to `end` in the canonical text, and the headings above it. A chunk
    without vectors is one piece."""

    start: int
    end: int
    heading: str
    vector: Vectors | None


def models(connection: Connection) -> list[VectorModel]:
    return [
        VectorModel(*row) for row in connection.execute("SELECT id, uri, dimensions FROM embedding_models ORDER BY id")
    ]


def model(connection: Connection, uri: str) -> VectorModel | None:
    row = connection.execute("SELECT id, uri, dimensions FROM embedding_models WHERE uri = ?", (uri,)).fetchone()
    return VectorModel(*row) if row else None


def count(connection: Connection, model_id: int) -> int:
    return int(connection.execute("SELECT count(*) FROM content_vectors WHERE model_id = ?", (model_id,)).get)


def blocks(connection: Connection, model_id: int, rows: int) -> Iterator[tuple[Ids, Vectors]]:
    """Yield (ids, vectors) of all vectors of a model by id, in blocks of at most `rows`."""
    cursor = connection.execute("SELECT id, embedding FROM content_vectors WHERE model_id = ? ORDER BY id", (model_id,))
    while block := list(islice(cursor, rows)):
        yield _as_arrays(block)


def mean(connection: Connection, model_id: int) -> Vectors:
    """Return the approximate mean of the vectors of a model. The model must have vectors."""
    step = count(connection, model_id) // _AVERAGED + 1
    rows = connection.execute(
        # The index by model contains the ids, so SQLite reads only the chosen vectors.
        "SELECT embedding FROM content_vectors WHERE model_id = ?1 AND id IN"
        " (SELECT id FROM content_vectors WHERE model_id = ?1 AND id % ?2 = (SELECT max(id) % ?2 FROM content_vectors"
        " WHERE model_id = ?1))",
        (model_id, step),
    )
    found = [np.frombuffer(embedding, DTYPE) for (embedding,) in rows]
    return np.asarray(np.mean(found, axis=0), np.float32)


def by_ids(connection: Connection, model_id: int, ids: Collection[int]) -> tuple[Ids, Vectors]:
    """Return the ids that exist, ascending, with their vectors."""
    rows = connection.execute(
        "SELECT v.id, v.embedding FROM json_each(?) wanted CROSS JOIN content_vectors v ON v.id = wanted.value"
        " WHERE v.model_id = ?",
        (json_list(sorted(ids)), model_id),
    )
    return _as_arrays(list(rows))


def places(connection: Connection, model_id: int, ids: Collection[int] | None = None) -> Places:
    """Return three arrays of ids: vectors, the active documents that contain them, and the collections of these.
    `ids` restricts the vectors of the model."""
    wanted, bound = "content_vectors v", list[int | str]([model_id])
    if ids is not None:
        wanted = "json_each(?2) wanted CROSS JOIN content_vectors v ON v.id = wanted.value"
        bound.append(json_list(sorted(ids)))
    return _as_places(
        connection.execute(
            f"SELECT v.id, d.id, d.collection_id FROM {wanted} CROSS JOIN chunks k ON k.embed_hash = v.embed_hash"
            " CROSS JOIN documents d ON d.mirror_hash = k.mirror_hash AND d.active WHERE v.model_id = ?1",
            bound,
        )
    )


def places_of(connection: Connection, model_id: int, document_ids: Collection[int]) -> Places:
    """Return the vectors of active documents, in the form of `places`."""
    return _as_places(
        connection.execute(
            "SELECT v.id, d.id, d.collection_id FROM json_each(?2) wanted"
            " CROSS JOIN documents d ON d.id = wanted.value AND d.active"
            " CROSS JOIN chunks k ON k.mirror_hash = d.mirror_hash"
            " CROSS JOIN content_vectors v ON v.embed_hash = k.embed_hash AND v.model_id = ?1",
            (model_id, json_list(sorted(document_ids))),
        )
    )


def existing(connection: Connection, ids: Collection[int]) -> Ids:
    """Return the ids that exist, ascending."""
    rows = connection.execute(
        "SELECT id FROM content_vectors WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
        (json_list(sorted(ids)),),
    )
    return np.asarray([vector_id for (vector_id,) in rows], np.int64)


def last_change(connection: Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(seq), 0) FROM vector_changes").get)


def changes_since(connection: Connection, model_id: int, seq: int) -> tuple[int, list[int] | None]:
    """Return the number of the last change of all models, and the ids of the vectors of this model that were added,
    deleted, or came to or left a document after `seq`. The ids are None if there were too many changes, and empty if
    the snapshot is older than `seq`."""
    last = last_change(connection)
    if last <= seq:
        return seq, []
    if int(connection.execute("SELECT min(seq) FROM vector_changes").get) > seq + 1:
        return last, None
    rows = connection.execute(
        "SELECT DISTINCT vector_id FROM vector_changes WHERE seq > ? AND model_id = ?", (seq, model_id)
    )
    return last, [vector_id for (vector_id,) in rows]


@from_any
def pieces_of(connection: Connection, mirror_hash: str, uri: str | None) -> list[EmbeddedPiece]:
    """Return all pieces in order, with their vectors by the model `uri`, if any."""
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


def load_extension(connection: Connection) -> str | None:
    """Load sqlite-vec into a connection. Returns the reason of a failure."""
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


def has_extension(connection: Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM pragma_module_list WHERE name = 'vec0'").get)


def nearest(connection: Connection, model_id: int, query: bytes, limit: int) -> list[tuple[int, float]]:
    """Return the ids and cosines of the nearest vectors of a model, best first."""
    rows = connection.execute(
        # Reading the table itself is faster than following an index into it.
        "SELECT id, 1 - vec_distance_cosine(embedding, ?) AS cosine FROM content_vectors NOT INDEXED"
        " WHERE model_id = ? ORDER BY cosine DESC LIMIT ?",
        (query, model_id, limit),
    )
    return list(rows)


def cosines_of_documents(
    connection: Connection, model_id: int, query: bytes, condition: Condition
) -> list[tuple[int, float]]:
    """Return the ids and cosines of all vectors of the documents that meet the condition, in order of id."""
    rows = connection.execute(
        "SELECT id, 1 - vec_distance_cosine(embedding, ?) FROM content_vectors WHERE id IN ("
        "SELECT v.id FROM documents d CROSS JOIN chunks k ON k.mirror_hash = d.mirror_hash"
        f" CROSS JOIN content_vectors v ON v.embed_hash = k.embed_hash AND v.model_id = ? WHERE {condition.where}"
        ") ORDER BY id",
        (query, model_id, *condition.values),
    )
    return list(rows)


def _as_places(rows: Iterable[tuple[int, ...]]) -> Places:
    """Return the columns of rows. Rows are not kept as objects: a million of them would take 140 MB."""
    columns = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, 3)
    return columns[:, 0].copy(), columns[:, 1].copy(), columns[:, 2].astype(np.int32)


def _as_arrays(rows: Sequence[tuple[int, bytes]]) -> tuple[Ids, Vectors]:
    if not rows:
        return np.empty(0, np.int64), np.empty((0, 0), np.float32)
    ids = np.fromiter((row[0] for row in rows), np.int64, len(rows))
    return ids, np.frombuffer(b"".join(row[1] for row in rows), DTYPE).reshape(len(rows), -1)
