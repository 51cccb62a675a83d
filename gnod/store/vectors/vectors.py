"""Store the vectors of chunks by embedded text and model. An unchanged text keeps its vector when its document moves.

The rows of `content_vectors` are authoritative. Triggers delete them with the last chunk that has their hash, and
record each change for copies in memory (vector_rows.py). Callers name a model by its URI.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gnod.errors import InferenceFailed, ModelRejected
from gnod.store import packing
from gnod.store.connection import Connection, json_list
from gnod.store.tables import counts
from gnod.store.vectors.vector_rows import DTYPE, Vectors, model, models

# The most characters of a document that its first vector needs.
_DOCUMENT_CHARACTERS = 100_000
# A document is compared with others by this many of its first chunks.
_BEGINNING = 32
# Spend at most this share of the time on counting.
SHARE = 0.02
_PAUSED = "embedding_paused"


class PendingChunk(NamedTuple):
    """A text to embed. `title` is the title inside the document's text, `heading` the path of headings. `brief_due`:
    the text begins a document without vectors, so its beginning is embedded first; `document` is then that document."""

    embed_hash: str
    title: str
    heading: str
    text: str
    brief_due: bool = False
    document: str = ""


class StoredPiece(NamedTuple):
    """A vector and the part of the chunk that it covers: `text[start:end]`. `line` and `last_line` count from the first
    line of the chunk. None means the end of the chunk."""

    vector: Vectors
    start: int = 0
    end: int | None = None
    line: int = 0
    last_line: int | None = None


class Coverage(NamedTuple):
    """How far `model` has embedded a collection, in chunks. A chunk that several documents share counts once for each.
    `wordless`: chunks that are never embedded. `in_brief`: documents with a vector of their beginning. `in_full`:
    documents with all their vectors."""

    collection: str
    model: str | None
    chunks: int
    wordless: int
    embedded: int
    failed: int
    in_brief: int
    in_full: int


_VECTOR_COLUMNS = "(model_id, embed_hash, start, end, line, last_line, embedding, is_brief)"
# Look up the collections of this many pending texts for the coverage: about 30 ms.
_SAMPLED = 5000
# A model without vectors is not in the database, so all chunks are pending.
_EVERYTHING = (
    "(SELECT embed_hash, 0 AS id, max(seq = 0) AS brief_due, 0 AS changed_ns FROM chunks WHERE embed_hash <> ''"
    " GROUP BY embed_hash)"
)
_UNEMBEDDED = "(SELECT embed_hash, id, brief_due, changed_ns FROM unembedded WHERE model_id = ?)"
# The plus sign makes SQLite read the table in the order of its ids instead of sorting all rows.
_BY_ARRIVAL = _UNEMBEDDED.replace("WHERE model_id", "WHERE +model_id")
_ITS_CHUNKS = "CROSS JOIN chunks k ON k.embed_hash = u.embed_hash"
_IN_USE = (
    " JOIN documents d ON d.mirror_hash = k.mirror_hash"
    " WHERE k.embed_hash = u.embed_hash AND d.active"
    " AND d.collection_id IN (SELECT id FROM collections WHERE name IN ({marks}))"
)


def pending(
    connection: Connection, uri: str, collections: Sequence[str], limit: int, *, oldest_first: bool = False
) -> list[PendingChunk]:
    """Return texts of active documents of these collections that the model has neither embedded in full nor failed at.
    Each text appears once. Texts that begin a document without vectors come first; newer documents come before older
    ones. `oldest_first`: the texts are in order of arrival, to be embedded in full."""
    source, values = _source(connection, uri, by_arrival=oldest_first)
    rows = connection.execute(
        "SELECT u.embed_hash, k.mirror_hash, k.start, k.end, k.heading, u.brief_due"
        f" FROM {source} u CROSS JOIN chunks k{_in_use(collections)}"
        f" ORDER BY {'u.id' if oldest_first else 'u.brief_due DESC, u.changed_ns DESC, u.id DESC'}",
        (*values, *collections),
    )
    found: dict[str, tuple[str, int, int, str, bool]] = {}
    for embed_hash, mirror, start, end, heading, brief_due in rows:
        found.setdefault(embed_hash, (mirror, start, end, heading, bool(brief_due) and not oldest_first))
        if len(found) >= limit:
            break
    contents: dict[str, tuple[str, str]] = {}
    for mirror, *_ in found.values():
        if mirror not in contents:
            title, markdown = connection.execute(
                "SELECT title, markdown FROM content WHERE mirror_hash = ?", (mirror,)
            ).get
            contents[mirror] = (title, markdown)
    pending = []
    for embed_hash, (mirror, start, end, heading, brief_due) in found.items():
        title, markdown = contents[mirror]
        document = markdown[:_DOCUMENT_CHARACTERS] if brief_due else ""
        pending.append(PendingChunk(embed_hash, title, heading, markdown[start:end], brief_due, document))
    return pending


def last_arrival(connection: Connection) -> int:
    """Return the number of the newest pending text of any model, or 0 if no text is pending. Numbers ascend."""
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM unembedded").get)


def first_arrival(connection: Connection, uri: str, collections: Sequence[str]) -> int | None:
    """Return the number of the oldest pending text of this model, or None if no text is pending."""
    source, values = _source(connection, uri, by_arrival=True)
    found: int | None = connection.execute(
        f"SELECT u.id FROM {source} u WHERE EXISTS (SELECT 1 FROM chunks k{_in_use(collections)})"
        " ORDER BY u.id LIMIT 1",
        (*values, *collections),
    ).get
    return found


def count_pending(connection: Connection, uri: str, collections: Sequence[str]) -> int:
    """Return how many texts are pending, in time proportional to their number."""
    source, values = _source(connection, uri)
    return int(
        connection.execute(
            f"SELECT count(*) FROM {source} u WHERE EXISTS (SELECT 1 FROM chunks k{_in_use(collections)})",
            (*values, *collections),
        ).get
    )


class PendingCounts:
    """Count the pending texts for each search. Counting very many takes longer than the search, so a count is kept for
    a while. The first pending text is noticed at once. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # The count, `last_arrival` at that time, and when the count expires.
        self._known: dict[tuple[str, tuple[str, ...]], tuple[int, int, float]] = {}

    def of(self, connection: Connection, uri: str, collections: Sequence[str]) -> int:
        """Return how many texts of these collections the model has not embedded. If counting takes long, the number
        may be some seconds old."""
        key, arrived = (uri, tuple(collections)), last_arrival(connection)
        number, arrived_before, until = self._known.get(key, (0, -1, 0.0))
        if not (number or arrived_before == arrived) or self._clock() >= until:
            started = self._clock()
            number = count_pending(connection, uri, collections)
            now = self._clock()
            self._known[key] = number, arrived, now + (now - started) / SHARE
        return number


def put(
    connection: Connection,
    uri: str,
    chunks: Mapping[str, Sequence[StoredPiece]],
    briefs: Mapping[str, StoredPiece] = MappingProxyType({}),
) -> int:
    """Store all pieces of each chunk that still exists, by embed hash or its key. Returns how many chunks are new.
    `briefs`: vectors of the beginnings of chunks that are not embedded in full yet.

    Raises ModelRejected for vectors of another length than before, InferenceFailed for invalid vectors.
    """
    every = [*(piece for pieces in chunks.values() for piece in pieces), *briefs.values()]
    if not every:
        return 0
    model_id = _register(connection, uri, {len(piece.vector) for piece in every})
    for embed_hash, piece in briefs.items():
        connection.execute(
            f"INSERT INTO content_vectors {_VECTOR_COLUMNS} SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, 1"
            " WHERE EXISTS (SELECT 1 FROM unembedded WHERE embed_hash = ?2 AND model_id = ?1 AND brief_due)",
            (model_id, packing.short_key(embed_hash), *piece[1:], _normalised(piece.vector)),
        )
    stored = 0
    for embed_hash, pieces in ((packing.short_key(embed_hash), pieces) for embed_hash, pieces in chunks.items()):
        wanted = connection.execute(
            "SELECT EXISTS (SELECT 1 FROM chunks WHERE embed_hash = ?1)"
            " AND NOT EXISTS (SELECT 1 FROM content_vectors WHERE embed_hash = ?1 AND model_id = ?2 AND NOT is_brief)",
            (embed_hash, model_id),
        ).get
        if wanted:
            connection.execute(
                "DELETE FROM content_vectors WHERE embed_hash = ? AND model_id = ? AND is_brief", (embed_hash, model_id)
            )
            connection.executemany(
                f"INSERT INTO content_vectors {_VECTOR_COLUMNS} VALUES (?, ?, ?, ?, ?, ?, ?, 0)",
                [(model_id, embed_hash, *piece[1:], _normalised(piece.vector)) for piece in pieces],
            )
            stored += 1
        connection.execute("DELETE FROM embedding_errors WHERE embed_hash = ? AND model_id = ?", (embed_hash, model_id))
    return stored


def note_failed(connection: Connection, uri: str, embed_hash: str, message: str) -> None:
    """Record that the model cannot embed a text. The text is skipped until `forget_failed`."""
    connection.execute(
        "INSERT OR REPLACE INTO embedding_errors (model_id, embed_hash, message) SELECT ?1, ?2, ?3"
        " WHERE EXISTS (SELECT 1 FROM chunks WHERE embed_hash = ?2)",
        (_model_id(connection, uri), packing.short_key(embed_hash), message),
    )


def count_failed(connection: Connection, uri: str) -> int:
    """Return how many texts of active documents the model could not embed."""
    return int(
        connection.execute(
            "SELECT count(DISTINCT e.embed_hash) FROM embedding_errors e JOIN chunks k ON k.embed_hash = e.embed_hash"
            " JOIN documents d ON d.mirror_hash = k.mirror_hash AND d.active"
            " WHERE e.model_id = (SELECT id FROM embedding_models WHERE uri = ?)",
            (uri,),
        ).get
    )


def forget_failed(connection: Connection, uri: str) -> None:
    connection.execute(
        "DELETE FROM embedding_errors WHERE model_id = (SELECT id FROM embedding_models WHERE uri = ?)", (uri,)
    )


def is_embedding_paused(connection: Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM schema_meta WHERE key = ?", (_PAUSED,)).get)


def pause_embedding(connection: Connection) -> None:
    connection.execute("INSERT OR REPLACE INTO schema_meta VALUES (?, '1')", (_PAUSED,))


def resume_embedding(connection: Connection) -> None:
    connection.execute("DELETE FROM schema_meta WHERE key = ?", (_PAUSED,))


def coverage(connection: Connection, wanted: Mapping[str, str | None]) -> list[Coverage]:
    """Return the coverage of each collection by its wanted model, in the order given. If very many chunks are pending,
    the numbers are estimated from a sample."""
    counted = counts.of_collections(connection)
    wordless = _shares(connection, "chunks k WHERE k.embed_hash = ''")
    step = sum(each.documents for each in counted.values()) // _SAMPLED + 1
    left = {
        uri: (*_chunks_left(connection, known.id), *_documents_left(connection, known.id, step))
        for uri in set(wanted.values())
        if uri and (known := model(connection, uri))
    }
    found = []
    for name, uri in wanted.items():
        documents, _, chunks = counted.get(name, counts.CollectionCounts())
        without_words = wordless.get(name, 0)
        if uri in left:
            pending, failed, unfinished, without = (shares.get(name, 0) for shares in left[uri])
            embedded = max(chunks - without_words - pending - failed, 0)
            done = embedded, failed, max(documents - without, 0), max(documents - unfinished, 0)
        else:
            done = 0, 0, 0, 0
        found.append(Coverage(name, uri, chunks, without_words, *done))
    return found


def serving(connection: Connection) -> dict[str, str]:
    """Return the URIs of serving models by collection. A collection without a serving model is left out."""
    rows = connection.execute(
        "SELECT c.name, m.uri FROM collections c JOIN embedding_models m ON m.id = c.served_by ORDER BY c.name"
    )
    return {str(name): str(uri) for name, uri in rows}


def serve(connection: Connection, collection: str, uri: str) -> None:
    """Make this model the serving model of a collection."""
    connection.execute("UPDATE collections SET served_by = ? WHERE name = ?", (_model_id(connection, uri), collection))


def drop_unserved(connection: Connection, wanted: Collection[str]) -> int:
    """Delete the models that neither serve a collection nor are wanted, and their vectors. Returns how many."""
    used = {*wanted, *serving(connection).values()}
    unused = [known for known in models(connection) if known.uri not in used]
    for known in unused:
        connection.execute("DELETE FROM embedding_models WHERE id = ?", (known.id,))
    return len(unused)


def drop(connection: Connection, uri: str) -> None:
    """Delete a model and its vectors. All chunks are pending again."""
    if known := model(connection, uri):
        connection.execute("DELETE FROM embedding_models WHERE id = ?", (known.id,))


def document_vector(connection: Connection, mirror_hash: str, uri: str) -> Vectors | None:
    """Return the normalised mean of the vectors of a document, or None if it has none."""
    rows = connection.execute(
        # CROSS is needed: without statistics, SQLite would read all vectors of the model.
        "SELECT v.embedding FROM chunks k CROSS JOIN content_vectors v ON v.embed_hash = k.embed_hash"
        " WHERE k.mirror_hash = ? AND v.model_id = (SELECT id FROM embedding_models WHERE uri = ?) ORDER BY k.seq",
        (mirror_hash, uri),
    )
    found = [np.frombuffer(embedding, DTYPE) for (embedding,) in rows]
    return _mean(found) if found else None


def document_vectors(connection: Connection, ids: Collection[int], uri: str) -> dict[int, Vectors]:
    """Return the normalised mean of the vectors of each document, or of its beginning if it is long. Documents without
    vectors are left out."""
    rows = connection.execute(
        "SELECT d.id, v.embedding FROM json_each(?) w CROSS JOIN documents d ON d.id = w.value"
        " CROSS JOIN chunks k ON k.mirror_hash = d.mirror_hash AND k.seq < ?"
        " CROSS JOIN content_vectors v ON v.embed_hash = k.embed_hash"
        " WHERE v.model_id = (SELECT id FROM embedding_models WHERE uri = ?)",
        (json_list(sorted(ids)), _BEGINNING, uri),
    )
    found: dict[int, list[Vectors]] = {}
    for id_, embedding in rows:
        found.setdefault(id_, []).append(np.frombuffer(embedding, DTYPE))
    means = {id_: _mean(each) for id_, each in found.items()}
    return {id_: mean for id_, mean in means.items() if mean is not None}


def _mean(rows: Sequence[Vectors]) -> Vectors | None:
    mean: NDArray[np.float64] = np.mean(rows, axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    return np.asarray(mean / length, np.float32) if length else None


def _source(connection: Connection, uri: str, *, by_arrival: bool = False) -> tuple[str, tuple[object, ...]]:
    known = model(connection, uri)
    return (_BY_ARRIVAL if by_arrival else _UNEMBEDDED, (known.id,)) if known else (_EVERYTHING, ())


def _in_use(collections: Sequence[str]) -> str:
    return _IN_USE.format(marks=",".join("?" * len(collections)))


def _documents_left(connection: Connection, model_id: int, step: int) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many documents of each collection have pending chunks, and how many have no vector. One document in
    `step` is counted."""
    rows = connection.execute(
        "SELECT c.name, count(*), total(rest.beginning) FROM ("
        " SELECT d.collection_id, max(u.brief_due AND k.seq = 0) AS beginning FROM documents d"
        " CROSS JOIN chunks k ON k.mirror_hash = d.mirror_hash"
        " CROSS JOIN unembedded u ON u.embed_hash = k.embed_hash AND u.model_id = ?1"
        " WHERE d.active AND d.id % ?2 = 0 GROUP BY d.id) rest JOIN collections c ON c.id = rest.collection_id"
        " GROUP BY c.id",
        (model_id, step),
    ).fetchall()
    found = [(str(name), int(cast(int, rest)) * step, int(cast(float, due)) * step) for name, rest, due in rows]
    return {name: rest for name, rest, _ in found}, {name: due for name, _, due in found}


def _chunks_left(connection: Connection, model_id: int) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many chunks of each collection are pending, and how many the model failed to embed."""
    total = int(connection.execute("SELECT count(*) FROM unembedded WHERE model_id = ?", (model_id,)).get)
    step = total // _SAMPLED + 1
    pending = _shares(connection, f"unembedded u {_ITS_CHUNKS} WHERE u.id % {step} = 0 AND u.model_id = ?", model_id)
    failed = _shares(connection, f"embedding_errors u {_ITS_CHUNKS} WHERE u.model_id = ?", model_id)
    return {name: n * step for name, n in pending.items()}, failed


def _shares(connection: Connection, source: str, *values: int) -> dict[str, int]:
    """Count the chunks `k` of `source` in each collection."""
    rows = connection.execute(
        f"SELECT c.name, count(*) FROM (SELECT k.mirror_hash FROM {source}) k"
        " CROSS JOIN documents d ON d.mirror_hash = k.mirror_hash AND d.active"
        " CROSS JOIN collections c ON c.id = d.collection_id GROUP BY c.id",
        values,
    )
    return {str(name): int(n) for name, n in rows}


def _model_id(connection: Connection, uri: str) -> int:
    connection.execute("INSERT INTO embedding_models (uri) VALUES (?) ON CONFLICT DO NOTHING", (uri,))
    return int(connection.execute("SELECT id FROM embedding_models WHERE uri = ?", (uri,)).get)


def _register(connection: Connection, uri: str, lengths: set[int]) -> int:
    model_id = _model_id(connection, uri)
    known = connection.execute("SELECT dimensions FROM embedding_models WHERE id = ?", (model_id,)).get
    dimensions = int(known or next(iter(lengths)))
    if lengths != {dimensions}:
        raise ModelRejected(f"the model {uri} returns vectors of different lengths: pull it again", {"uri": uri})
    if known is None:
        connection.execute("UPDATE embedding_models SET dimensions = ? WHERE id = ?", (dimensions, model_id))
    return model_id


def _normalised(vector: Vectors) -> bytes:
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(length) or length == 0.0:
        raise InferenceFailed("the model returned an invalid vector (zero or not finite)")
    return (vector / length).astype(DTYPE).tobytes()
