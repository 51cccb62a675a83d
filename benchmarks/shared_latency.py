"""Measure searches of the daemon over its own and a shared collection, and with an unreachable engine. Prints figures.

    .venv/bin/python -m benchmarks.shared_latency [--documents N] [--queries N]

Both collections have the same real texts with synthetic vectors, because embedding would take an hour. Queries are
embedded with MiniLM from the cache of the tests. The engine is milvus-lite, a separate process on loopback.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

from benchmarks.hybrid import queries_of_texts
from benchmarks.milvus_lite import MilvusLite, milvus_lite
from benchmarks.nearest import like_real
from benchmarks.throwaway import Throwaway, cached_model, percentile, require_shared, throwaway, write_documents
from gnod.search.meaning.vector_matrix import Floats
from gnod.shared.ledger import Ledger
from gnod.shared.models import Model
from gnod.shared.publishing import Publisher
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import StoredPiece

_BLOCK = 500


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=150)
    options = parser.parse_args(words)
    require_shared()
    model = cached_model()
    if model is None:
        sys.exit("this benchmark needs MiniLM of the tests: run `make test-slow` once")
    config = f"models:\n  preset: none\n  embed: file:{model}\n"
    with throwaway(config) as daemon, tempfile.TemporaryDirectory() as folder:
        daemon.gnoctl("pause")
        write_documents(Path(folder) / "docs", options.documents)
        daemon.add(Path(folder) / "docs", "docs")
        with milvus_lite(Path(folder) / "milvus") as server:
            published = Model(f"file:{model}", f"file:{model.name}", sha256(model.read_bytes()).hexdigest())
            _prepare(daemon, server, published, Path(folder))
            _measure_all(daemon, server, queries_of_texts(options.queries))
    return 0


def _prepare(daemon: Throwaway, server: MilvusLite, model: Model, folder: Path) -> None:
    """Store a vector for every chunk and publish the collection while the daemon is stopped; then attach it."""
    daemon.hang_up()
    daemon.gnoctl("daemon", "stop")
    database = Database(daemon.folder / "data" / "index-default.sqlite")
    find = "SELECT DISTINCT embed_hash FROM chunks"
    hashes = [row[0] for row in database.submit_read(lambda c: list(c.execute(find))).result()]
    make = like_real(1)
    for low in range(0, len(hashes), _BLOCK):
        database.submit_write(partial(_put, model.uri, hashes[low : low + _BLOCK], make(_BLOCK))).result()
    database.submit_write(lambda c: vectors.serve(c, "docs", model.uri)).result()
    started, engine, ledger = time.monotonic(), server.engine("shared"), Ledger(folder / "ledger.sqlite")
    publisher = Publisher(ledger, engine, "docs", model, "a benchmark")
    connection = database.open_reader()
    publisher.begin(connection)
    publisher.follow(connection)
    while publisher.step(connection):
        pass
    print(f"published in {time.monotonic() - started:.0f} s, {len(hashes):,} chunks", flush=True)
    ledger.close()
    engine.close()
    database.close()
    server.flush("shared")
    daemon.gnoctl("daemon", "start")
    daemon.gnoctl("pause")
    daemon.gnoctl("collection", "attach", str(server.address("shared")), "--yes")
    time.sleep(20)  # until the sample is complete


def _put(uri: str, hashes: Sequence[str], rows: Floats, connection: Connection) -> None:
    pieces = {each: [StoredPiece(np.asarray(row), 0, None, 0, None)] for each, row in zip(hashes, rows, strict=False)}
    vectors.put(connection, uri, pieces)


def _measure_all(daemon: Throwaway, server: MilvusLite, queries: Sequence[str]) -> None:
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {len(queries)} queries; the first round is cold")
    for name in ("cold", "warm"):
        for method in ("search.lexical", "search.query"):
            _measure(daemon, queries, f"{name} {method} own", method, ["docs"])
            _measure(daemon, queries, f"{name} {method} shared", method, ["shared"])
            _measure(daemon, queries, f"{name} {method} both", method, [])
    usual = _measure(daemon, queries, "own, the engine works", "search.query", ["docs"])
    server.kill()
    _measure(daemon, queries[:20], "both, just after the engine was killed", "search.query", [])
    time.sleep(6)
    away = _measure(daemon, queries, "both, the engine is away", "search.query", [])
    print(f"difference of the medians with the engine away: {away - usual:.0f} ms (target <= 100)")


def _measure(daemon: Throwaway, queries: Sequence[str], what: str, method: str, collections: Sequence[str]) -> float:
    took, noted = [], 0
    extra: dict[str, object] = {"expand": False, "rerank": False} if method == "search.query" else {}
    for query in queries:
        started = time.perf_counter()
        result = daemon.call(method, query=query, limit=10, collections=list(collections), **extra)
        took.append(1000 * (time.perf_counter() - started))
        noted += bool(result.get("notes"))
    median = percentile(took, 0.5)
    print(f"{what:<42} p50 {median:7.1f} ms  p95 {percentile(took, 0.95):7.1f} ms  notes {noted}", flush=True)
    return median


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
