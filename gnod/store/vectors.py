"""The vectors of chunks, by what was embedded and which model did it: an unchanged text keeps its vector wherever its
document goes. The rows of `content_vectors` are the truth; triggers of the schema delete them with the last chunk that
has their hash, and write down each change for those who keep copies (vector_rows.py).

Knows no models but by their URI.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.errors import InferenceFailed, ModelRejected
from gnod.store import knn
from gnod.store.database import Connection
from gnod.store.vector_rows import DTYPE, Vectors, model, models


class PendingChunk(NamedTuple):
    """A text to embed. `title` is what the document's text says of itself, `heading` the path of headings."""

    embed_hash: str
    title: str
    heading: str
    text: str


class Piece(NamedTuple):
    """A vector, and the part of its chunk's text that it stands for: `text[start:end]`, from `line` to `last_line`
    counted from the chunk's first. None: to the chunk's end."""

    vector: Vectors
    start: int = 0
    end: int | None = None
    line: int = 0
    last_line: int | None = None


class FailedChunk(NamedTuple):
    """A chunk that a model could not embed, and one document that has it."""

    embed_hash: str
    message: str
    collection: str
    path: str
    start_line: int


class Coverage(NamedTuple):
    """How far a collection is embedded by `model`, in different texts."""

    collection: str
    model: str | None
    chunks: int
    embedded: int
    failed: int


# A model that has no vector yet is not known: what it has not embedded is everything.
_EVERYTHING = "(SELECT DISTINCT embed_hash, 0 AS id FROM chunks)"
_UNEMBEDDED = "(SELECT embed_hash, id FROM unembedded WHERE model_id = ?)"
_IN_USE = (
    " JOIN documents d ON d.mirror_hash = k.mirror_hash"
    " WHERE k.embed_hash = u.embed_hash AND d.active"
    " AND d.collection_id IN (SELECT id FROM collections WHERE name IN ({marks}))"
    # Content of an older version is embedded when it has been made anew: its title is not known.
    " AND NOT EXISTS (SELECT 1 FROM content c WHERE c.mirror_hash = d.mirror_hash AND c.title IS NULL)"
)


def pending(
    connection: Connection, uri: str, collections: Sequence[str], limit: int, *, oldest_first: bool = False
) -> list[PendingChunk]:
    """Return texts of active documents of these collections that the model has neither embedded nor failed at, each
    once: those that came last first, since somebody may be about to look for them, or the other way round."""
    source, values = _source(connection, uri)
    rows = connection.execute(
        f"SELECT u.embed_hash, k.mirror_hash, k.start, k.end, k.heading FROM {source} u CROSS JOIN chunks k"
        f"{_in_use(collections)} ORDER BY u.id {'ASC' if oldest_first else 'DESC'}",
        (*values, *collections),
    )
    found: dict[str, tuple[str, int, int, str]] = {}
    for embed_hash, mirror, start, end, heading in rows:
        found.setdefault(embed_hash, (mirror, start, end, heading))
        if len(found) >= limit:
            break
    contents: dict[str, tuple[str, str]] = {}
    for mirror, _, _, _ in found.values():
        if mirror not in contents:
            title, markdown = connection.execute(
                "SELECT title, markdown FROM content WHERE mirror_hash = ?", (mirror,)
            ).get
            contents[mirror] = (title, markdown)
    return [
        PendingChunk(embed_hash, contents[mirror][0], heading, contents[mirror][1][start:end])
        for embed_hash, (mirror, start, end, heading) in found.items()
    ]


def last_arrival(connection: Connection) -> int:
    """Return the number of the text that came last of those that wait for any model; 0 when none does. They ascend."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM unembedded").get)


def first_arrival(connection: Connection, uri: str, collections: Sequence[str]) -> int | None:
    """Return the number of the text that has waited longest for this model; None when none does."""
    source, values = _source(connection, uri)
    found: int | None = connection.execute(
        f"SELECT u.id FROM {source} u WHERE EXISTS (SELECT 1 FROM chunks k{_in_use(collections)})"
        " ORDER BY u.id LIMIT 1",
        (*values, *collections),
    ).get
    return found


def count_pending(connection: Connection, uri: str, collections: Sequence[str]) -> int:
    """Return how many texts are pending, in a time that goes with their number."""
    source, values = _source(connection, uri)
    return int(
        connection.execute(
            f"SELECT count(*) FROM {source} u WHERE EXISTS (SELECT 1 FROM chunks k{_in_use(collections)})",
            (*values, *collections),
        ).get
    )


def put(connection: Connection, uri: str, chunks: Mapping[str, Sequence[Piece]]) -> int:
    """Store the vectors of the chunks that still exist, by embed hash: all pieces of each. Returns how many chunks had
    none before.

    Raises ModelRejected where the model gave vectors of another length before, InferenceFailed for what is no vector.
    """
    if not chunks:
        return 0
    model_id = _register(connection, uri, {len(piece.vector) for pieces in chunks.values() for piece in pieces})
    stored = 0
    for embed_hash, pieces in chunks.items():
        wanted = connection.execute(
            "SELECT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = ?1)"
            " AND NOT EXISTS (SELECT 1 FROM content_vectors WHERE embed_hash = ?1 AND model_id = ?2)",
            (embed_hash, model_id),
        ).get
        if wanted:
            connection.executemany(
                "INSERT INTO content_vectors (model_id, embed_hash, start, end, line, last_line, embedding)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(model_id, embed_hash, *piece[1:], _normalised(piece.vector)) for piece in pieces],
            )
            stored += 1
        connection.execute("DELETE FROM embedding_errors WHERE embed_hash = ? AND model_id = ?", (embed_hash, model_id))
    return stored


def note_failed(connection: Connection, uri: str, embed_hash: str, message: str) -> None:
    """Record that the model cannot embed a text: it is not tried again until `forget_failed`."""
    connection.execute(
        "INSERT OR REPLACE INTO embedding_errors (model_id, embed_hash, message) SELECT ?1, ?2, ?3"
        " WHERE EXISTS (SELECT 1 FROM chunks WHERE embed_hash = ?2)",
        (_model_id(connection, uri), embed_hash, message),
    )


def failed(connection: Connection, uri: str) -> list[FailedChunk]:
    rows = connection.execute(
        "SELECT e.embed_hash, e.message, c.name, d.path, k.start_line FROM embedding_errors e"
        " JOIN chunks k ON k.embed_hash = e.embed_hash"
        " JOIN documents d ON d.mirror_hash = k.mirror_hash AND d.active JOIN collections c ON c.id = d.collection_id"
        " WHERE e.model_id = (SELECT id FROM embedding_models WHERE uri = ?) ORDER BY c.name, d.path, k.seq",
        (uri,),
    )
    first: dict[str, FailedChunk] = {}
    for row in rows:
        first.setdefault(row[0], FailedChunk(*row))
    return list(first.values())


def forget_failed(connection: Connection, uri: str) -> None:
    connection.execute(
        "DELETE FROM embedding_errors WHERE model_id = (SELECT id FROM embedding_models WHERE uri = ?)", (uri,)
    )


def coverage(connection: Connection, wanted: Mapping[str, str | None]) -> list[Coverage]:
    """Return how far each collection is, given the URI of the model wanted for it, in the order given."""
    return [Coverage(name, uri, *_count(connection, name, uri)) for name, uri in wanted.items()]


def serving(connection: Connection) -> dict[str, str]:
    """Return, for each collection that has one, the URI of the model whose vectors answer for it now."""
    rows = connection.execute(
        "SELECT c.name, m.uri FROM collections c JOIN embedding_models m ON m.id = c.served_by ORDER BY c.name"
    )
    return {str(name): str(uri) for name, uri in rows}


def serve(connection: Connection, collection: str, uri: str) -> None:
    """Let the vectors of this model answer for a collection from now on."""
    connection.execute("UPDATE collections SET served_by = ? WHERE name = ?", (_model_id(connection, uri), collection))


def drop_unserved(connection: Connection, wanted: Collection[str]) -> int:
    """Delete the models that no collection serves or wants, with their vectors. Returns how many."""
    used = {*wanted, *serving(connection).values()}
    unused = [known for known in models(connection) if known.uri not in used]
    for known in unused:
        knn.drop_model(connection, known.id, known.uri)
        connection.execute("DELETE FROM embedding_models WHERE id = ?", (known.id,))
    return len(unused)


def document_vector(connection: Connection, mirror_hash: str, uri: str) -> Vectors | None:
    """Return the normalised mean of the vectors of a document's chunks; None where there is none."""
    rows = connection.execute(
        "SELECT v.embedding FROM chunks k JOIN content_vectors v ON v.embed_hash = k.embed_hash"
        " WHERE k.mirror_hash = ? AND v.model_id = (SELECT id FROM embedding_models WHERE uri = ?) ORDER BY k.seq",
        (mirror_hash, uri),
    )
    found = [np.frombuffer(embedding, DTYPE) for (embedding,) in rows]
    if not found:
        return None
    mean: NDArray[np.float64] = np.mean(found, axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    return np.asarray(mean / length, np.float32) if length else None


def _source(connection: Connection, uri: str) -> tuple[str, tuple[object, ...]]:
    known = model(connection, uri)
    return (_UNEMBEDDED, (known.id,)) if known else (_EVERYTHING, ())


def _in_use(collections: Sequence[str]) -> str:
    return _IN_USE.format(marks=",".join("?" * len(collections)))


def _count(connection: Connection, collection: str, uri: str | None) -> tuple[int, int, int]:
    known = model(connection, uri) if uri else None
    model_id = known.id if known else None
    row = connection.execute(
        "WITH used AS (SELECT DISTINCT k.embed_hash FROM documents d JOIN chunks k ON k.mirror_hash = d.mirror_hash"
        " WHERE d.active AND d.collection_id = (SELECT id FROM collections WHERE name = ?))"
        " SELECT count(*), count(v.id), count(e.embed_hash) FROM used"
        " LEFT JOIN content_vectors v ON v.embed_hash = used.embed_hash AND v.model_id = ? AND v.start = 0"
        " LEFT JOIN embedding_errors e ON e.embed_hash = used.embed_hash AND e.model_id = ?",
        (collection, model_id, model_id),
    ).fetchone()
    assert row is not None
    chunks, embedded, failures = row
    return int(chunks), int(embedded), int(failures)


def _model_id(connection: Connection, uri: str) -> int:
    connection.execute("INSERT INTO embedding_models (uri) VALUES (?) ON CONFLICT DO NOTHING", (uri,))
    return int(connection.execute("SELECT id FROM embedding_models WHERE uri = ?", (uri,)).get)


def _register(connection: Connection, uri: str, lengths: set[int]) -> int:
    model_id = _model_id(connection, uri)
    known = connection.execute("SELECT dimensions FROM embedding_models WHERE id = ?", (model_id,)).get
    dimensions = int(known or next(iter(lengths)))
    if lengths != {dimensions}:
        raise ModelRejected(f"the model {uri} gives vectors of different lengths; pull it again", {"uri": uri})
    if known is None:
        connection.execute("UPDATE embedding_models SET dimensions = ? WHERE id = ?", (dimensions, model_id))
        knn.add_model(connection, model_id, uri, dimensions)
    return model_id


def _normalised(vector: Vectors) -> bytes:
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(length) or length == 0.0:
        raise InferenceFailed("the model gave a vector without a direction")
    return (vector / length).astype(DTYPE).tobytes()
