"""Measure latency, recall and memory of the vector search. Prints figures.

    .venv/bin/python -m benchmarks.nearest [exact] [quantised] [related]

If GNOD_VECTORS names a file from `benchmarks.sentence_vectors`, `quantised` also mixes and perturbs its sentences up to
a million, and searches with its questions. The other vectors are synthetic. "like real ones": clusters with a common
mean and a decaying spectrum, like embeddings. "random": the hardest case, in which all distances are nearly equal.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np
import psutil

from benchmarks.throwaway import percentile
from gnod.daemon.process_settings import give_memory_back
from gnod.search.meaning import candidate_documents
from gnod.search.meaning import vector_search as vector
from gnod.search.meaning.vector_matrix import Floats
from gnod.search.meaning.vector_search import Nearest
from gnod.search.ranking.ranked import RankedDocument
from gnod.search.related import related_documents as pipeline
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters

DIMENSIONS = 384
LIMIT = 20
QUERIES = 60
BLOCK = 20_000
CHUNKS_PER_DOCUMENT = 5
URI = "file:/bench.gguf"

COLLECTIONS = ("large", "medium", "small", "tiny")
# The collection number of document x.
_COLLECTION = "CASE WHEN x <= 20 THEN 4 WHEN x % 100 = 0 THEN 3 WHEN x % 10 = 0 THEN 2 ELSE 1 END"
HUB = 77

Find = Callable[..., list[RankedDocument]]
Maker = Callable[[int], Floats]


def exact() -> None:
    """Measure 100,000 float32 vectors, with and without filters, and a scan on disk by sqlite-vec for comparison."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder, "i.sqlite"))
        _fill(database, 100_000, like_real(1))
        queries = like_real(2)(QUERIES)
        nearest = _loaded(database, "100,000 x 384")
        true = _true(like_real(1), 100_000, queries)
        _product_alone(queries)
        _measure(database, nearest, queries, "  exact, k 20", Filters(), true, "p95 <= 12 ms, recall 1.0")
        _measure(database, nearest, queries, "  collection with 9 of 10 documents", Filters(collections=("large",)))
        _measure(database, nearest, queries, "  collection with 1 of 100 documents", Filters(collections=("small",)))
        _measure(database, nearest, queries, "  collection with 20 documents", Filters(collections=("tiny",)))
        on_disk = Nearest(limit_bytes=0)
        _measure(database, on_disk, queries[:20], "  on disk", Filters(), true)
        for name in ("large", "small"):
            _measure(database, on_disk, queries[:20], f"  on disk, collection {name!r}", Filters(collections=(name,)))
        _changes(database, nearest)
        database.close()


def quantised() -> None:
    """Measure 1,000,000 vectors, stored as int8 with their signs."""
    makers = {"like real ones": like_real, "random": at_random}
    if "GNOD_VECTORS" in os.environ:
        makers["of sentences"] = of_sentences
    for kind, maker in makers.items():
        with tempfile.TemporaryDirectory() as folder:
            database = Database(Path(folder, "i.sqlite"), use_knn=False)
            _fill(database, 1_000_000, maker(1))
            queries = questions() if maker is of_sentences else maker(2)(QUERIES)
            nearest = _loaded(database, f"1,000,000 x 384, {kind}", "<= 700 MB")
            for collection, share in (("", "all"), ("large", "9 of 10"), ("medium", "1 of 10"), ("small", "1 of 100")):
                true = _true(maker(1), 1_000_000, queries, collection)
                filters = Filters(collections=(collection,) if collection else ())
                name = f"  {share} documents, k 20"
                _measure(database, nearest, queries, name, filters, true, "p95 <= 10 ms, recall >= .99")
            _measure(database, nearest, queries, "  collection with 20 documents", Filters(collections=("tiny",)))
            every = Nearest(compared_rows=1_000_000)
            _measure(database, every, queries[:20], "  all compared", Filters())
            database.close()


def related() -> None:
    """Measure related documents, and only similar ones: 20,000 documents with 100,000 vectors and 42,000 links."""
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder, "i.sqlite"))
        _fill(database, 100_000, like_real(1))
        database.submit_write(_link).result()
        nearest = _loaded(database, "100,000 x 384")
        chosen = np.random.default_rng(4).choice(20_000, QUERIES, replace=False).tolist()
        for name, find in (("similar", vector.similar), ("related", pipeline.related)):
            _find(database, nearest, f"  {name}, 10", find, chosen)
            _find(database, nearest, f"  {name}, 10, of a document with 2,000 backlinks", find, [HUB])
        database.close()


def _link(connection: Connection) -> None:
    """Give each document two links, and one document 2,000 backlinks."""
    chance = np.random.default_rng(3)
    connection.execute("INSERT INTO names SELECT collection_id, 'd' || id, 0, 0, id FROM documents")
    targets = chance.integers(1, 20_001, (20_000, 2)).tolist()
    links = [(source, seq, target) for source, pair in enumerate(targets, 1) for seq, target in enumerate(pair)]
    links += [(source, 2, HUB) for source in chance.choice(20_000, 2000, replace=False).tolist()]
    connection.executemany(
        "INSERT INTO links SELECT d.id, ?2, d.collection_id, 'wikilink', '', 'd' || ?3, 2, '', 1, 0, 0"
        " FROM documents d WHERE d.id = ?1",
        links,
    )


def _find(database: Database, nearest: Nearest, name: str, find: Find, ids: list[int]) -> None:
    took = []
    for id_ in [ids[0], *ids]:

        def work(connection: Connection, id_: int = id_) -> None:
            document = documents.by_ids(connection, [id_])[id_]
            find(connection, nearest, document, dict.fromkeys(COLLECTIONS, URI), Filters(), limit=10)

        started = time.perf_counter()
        database.submit_read(work).result()
        took.append((time.perf_counter() - started) * 1000)
    _row(name, f"p50 {median(took[1:]):.1f} ms, p95 {percentile(took[1:], 0.95):.1f}", "")


def like_real(seed: int) -> Maker:
    shape = np.random.default_rng(0)
    spectrum = np.arange(1, DIMENSIONS + 1) ** -0.6
    rotation = np.linalg.qr(shape.standard_normal((DIMENSIONS, DIMENSIONS)))[0].astype(np.float32)
    spread = np.asarray(spectrum / np.linalg.norm(spectrum), np.float32)
    centres = (shape.standard_normal((5000, DIMENSIONS), dtype=np.float32) * spread) @ rotation
    mean = shape.standard_normal(DIMENSIONS).astype(np.float32)
    mean *= 2 / np.linalg.norm(mean)
    chance = np.random.default_rng(seed)

    def make(count: int) -> Floats:
        noise = (chance.standard_normal((count, DIMENSIONS), dtype=np.float32) * (0.8 * spread)) @ rotation
        return _unit((centres[chance.integers(0, len(centres), count)] + noise + mean).astype(np.float32))

    return make


def of_sentences(seed: int) -> Maker:
    """Return a maker that mixes two sentences and adds the difference of two others, and noise."""
    sentences = _unit(np.load(os.environ["GNOD_VECTORS"])["sentences"])
    chance = np.random.default_rng(seed)

    def make(count: int) -> Floats:
        one, two, three, four = (sentences[chance.integers(0, len(sentences), count)] for _ in range(4))
        share, moved = chance.uniform(0, 0.5, (count, 1)), chance.uniform(0.1, 0.4, (count, 1))
        noise = chance.standard_normal((count, DIMENSIONS)) * 0.3 / DIMENSIONS**0.5
        return _unit(((1 - share) * one + share * two + moved * (three - four) + noise).astype(np.float32))

    return make


def questions() -> Floats:
    return _unit(np.load(os.environ["GNOD_VECTORS"])["questions"][:200])


def at_random(seed: int) -> Maker:
    chance = np.random.default_rng(seed)
    return lambda count: _unit(chance.standard_normal((count, DIMENSIONS), dtype=np.float32))


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _blocks(maker: Maker, count: int) -> Iterator[tuple[int, Floats]]:
    for low in range(0, count, BLOCK):
        yield low, maker(BLOCK)


def _fill(database: Database, count: int, maker: Maker) -> None:
    """Write documents without text, five chunks each, directly into the tables."""
    documents = count // CHUNKS_PER_DOCUMENT

    def prepare(connection: Connection) -> None:
        for name in COLLECTIONS:
            connection.execute("INSERT INTO collections (name, path) VALUES (?1, ?1)", (name,))
        connection.execute("INSERT INTO embedding_models (uri, dimensions) VALUES (?, ?)", (URI, DIMENSIONS))
        numbers = "WITH RECURSIVE n (x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM n WHERE x < ?)"
        connection.execute(
            f"{numbers} INSERT INTO mirrors (mirror_hash, markdown, title) SELECT 'm' || x, '', '' FROM n", (documents,)
        )
        connection.execute(
            f"{numbers} INSERT INTO documents (id, collection_id, path, docid, source_hash, size, mtime_ns, inode,"
            " mirror_hash, title, mime, converter, language, dated, metadata, line_map, active, indexed_at)"
            f" SELECT x, {_COLLECTION}, x,"
            " '#' || x, x, 1, 1, 1, 'm' || x, 'title', 'text/markdown', 'm', 'en', 0, '{}', '[]', 1, 0 FROM n",
            (documents,),
        )
        connection.execute(
            f"{numbers} INSERT INTO chunks SELECT 'm' || ((x - 1) / ?2 + 1), x % ?2, 0, 1, 1, 1, '', 'h' || x FROM n",
            (count, CHUNKS_PER_DOCUMENT),
        )

    database.submit_write(prepare).result()
    for low, vectors in _blocks(maker, count):
        rows = [(f"h{low + i + 1}", vector.tobytes()) for i, vector in enumerate(vectors)]
        database.submit_write(
            lambda c, rows=rows: c.executemany(  # type: ignore[misc]
                "INSERT INTO content_vectors (model_id, embed_hash, embedding) VALUES (1, ?, ?)", rows
            )
        ).result()


def _loaded(database: Database, name: str, target: str = "") -> Nearest:
    nearest = Nearest()
    process = psutil.Process()
    before = process.memory_info().rss
    peak_before = _peak()
    started = time.perf_counter()
    database.submit_read(lambda c: nearest.load(c, URI)).result()
    took = time.perf_counter() - started
    grown = (process.memory_info().rss - before) / 1e6
    peak = max(_peak() - max(peak_before, before), 0) / 1e6
    figure = (
        f"{took:.1f} s, {grown:.0f} MB more (peak {max(peak, grown):.0f}), rows {nearest.memory_bytes() / 1e6:.0f} MB"
    )
    _row(f"{name}: loading", figure, target)
    return nearest


def _peak() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _true(maker: Maker, count: int, queries: Floats, collection: str = "") -> list[set[int]]:
    """Return the exact best LIMIT documents for each query by brute force, in one collection or in all."""
    x = np.arange(count // CHUNKS_PER_DOCUMENT) + 1
    number = np.where(x <= 20, 4, np.where(x % 100 == 0, 3, np.where(x % 10 == 0, 2, 1)))
    best = np.full((len(queries), len(x)), -np.inf, np.float32)
    for low, vectors in _blocks(maker, count):
        cosines = (queries @ vectors.T).reshape(len(queries), -1, CHUNKS_PER_DOCUMENT).max(axis=2)
        first = low // CHUNKS_PER_DOCUMENT
        best[:, first : first + cosines.shape[1]] = cosines
    if collection:
        best[:, number != COLLECTIONS.index(collection) + 1] = -np.inf
    return [set((np.argpartition(row, -LIMIT)[-LIMIT:] + 1).tolist()) for row in best]


def _measure(
    database: Database,
    nearest: Nearest,
    queries: Floats,
    name: str,
    filters: Filters,
    true: list[set[int]] | None = None,
    target: str = "",
) -> None:
    took, spent, right = [], [], 0
    for number, query in enumerate([queries[0], *queries]):
        started, before = time.perf_counter(), time.process_time()
        found = database.submit_read(
            lambda c, query=query: candidate_documents.placed(  # type: ignore[misc]
                c, nearest.survey(c, URI, query, filters, limit=LIMIT, also=()).ranked
            )
        ).result()
        if number == 0:
            continue  # the first search warms the caches
        took.append((time.perf_counter() - started) * 1000)
        spent.append((time.process_time() - before) * 1000)
        if true is not None:
            right += len({near.id for near in found} & true[number - 1])
    figure = f"p50 {median(took):.1f} ms, p95 {percentile(took, 0.95):.1f}"
    figure += f"; processor {median(spent):.1f}, {percentile(spent, 0.95):.1f}"
    if true is not None:
        figure += f", recall {right / LIMIT / len(queries):.4f}"
    _row(name, figure, target)


def _product_alone(queries: Floats) -> None:
    """Measure a bare matrix product, which is the lower bound on this machine."""
    rows = at_random(3)(100_000)
    took = []
    for query in queries:
        started = time.perf_counter()
        rows @ query
        took.append((time.perf_counter() - started) * 1000)
    _row(
        "  one matrix product alone, in the same run",
        f"p50 {median(took):.1f} ms, p95 {percentile(took, 0.95):.1f}",
        "",
    )


def _changes(database: Database, nearest: Nearest) -> None:
    """Measure an edit of ten chunks, and the next update of the vectors in memory."""
    took, search = [], []
    for round_ in range(20):
        vectors = at_random(round_)(10)

        def edit(connection: Connection, low: int = round_ * 10 + 1, vectors: Floats = vectors) -> None:
            connection.execute("DELETE FROM content_vectors WHERE id BETWEEN ? AND ?", (low, low + 9))
            connection.executemany(
                "INSERT INTO content_vectors (model_id, embed_hash, embedding) VALUES (1, ?, ?)",
                [(f"h{low + i}", vector.tobytes()) for i, vector in enumerate(vectors)],
            )

        started = time.perf_counter()
        database.submit_write(edit).result()
        took.append((time.perf_counter() - started) * 1000)
        started = time.perf_counter()
        database.submit_read(lambda c: nearest.load(c, URI)).result()
        search.append((time.perf_counter() - started) * 1000)
    _row("  ten vectors changed: storing", f"median {median(took):.1f} ms", "")
    _row("  ten vectors changed: update in memory", f"median {median(search):.2f} ms", "")


def _row(what: str, figure: str, target: str) -> None:
    print(f"{what:55}  {figure:60}  {target}", flush=True)


def main() -> None:
    parts: dict[str, Callable[[], None]] = {"exact": exact, "quantised": quantised, "related": related}
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    give_memory_back()  # like the daemon
    for name in sys.argv[1:] or list(parts):
        parts[name]()


if __name__ == "__main__":
    main()
