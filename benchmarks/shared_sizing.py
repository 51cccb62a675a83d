"""Measure the size of a shared collection in Milvus, and compute the size of larger ones. Prints figures.

    .venv/bin/python -m benchmarks.shared_sizing [--sizes 1000 5000 20000]

The documents have about 1 kB of real sentences, one chunk, and two or three pieces with synthetic vectors of 384
dimensions. The publishing code stores them in `milvus-lite`. This shows the size of rows and the cost of an update, but
not the speed of a cluster: the sparse index of `milvus-lite` is a loop in Python, and its segments are small. The
memory of a cluster is computed with the formulas in Milvus' documentation (docs/shared.md).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

import numpy as np
import psutil

from benchmarks import recombined
from benchmarks.milvus_lite import connect_to
from benchmarks.nearest import DIMENSIONS, like_real
from benchmarks.throwaway import percentile, require_shared
from gnod.analysis.terms import VERSION
from gnod.bm25 import idf
from gnod.config.shared_addresses import parse
from gnod.ingest.text.document_terms import terms_of
from gnod.models.embedding_profiles import cut
from gnod.shared.engine import (
    FORMAT,
    CollectionHeader,
    PublishedPiece,
    Restriction,
    ScoredDocument,
    SharedDocument,
    key_of,
)
from gnod.shared.milvus.engine import MilvusEngine
from gnod.shared.payload import NO_TERMS, Payload, encode
from gnod.shared.weights import counts_of, weights_of
from gnod.store.tables.records import Chunk, FileStat, PreparedDocument

BY_WORDS, NEAREST, READ = 200, 100, 50
QUERIES = 20
UPDATES = 20
_BLOCK = 500
_SAMPLE = 500
_AVERAGE = 170.0
_CHARACTERS_OF_A_PIECE = 600
_NEGLIGIBLE = 0.15
_EVERYTHING = Restriction()
_FILTERED = Restriction(languages=("en",), since=1.7e9)

_FLOAT = 4
_POSTING = 8  # bytes: a number and a float, as sent and stored in sparse vectors
_LINKS = 64  # links of a vector in HNSW with M 32
_DISKANN = 0.25  # share of the raw vectors: codes, and the cache of the graph
_OF_A_ROW = 16  # bytes that Milvus adds: a timestamp and a number


class Shape(NamedTuple):
    """The average document."""

    characters: float
    terms: float
    pieces: float


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 5000, 20_000])
    sizes = sorted(parser.parse_args(words).sizes)
    require_shared()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder)) as server:
        source = Source(sizes[-1])
        server.engine.create(_header(sizes[-1]))
        server.engine.set_frequencies(source.frequencies)
        costs = [_grown(server, source, size) for size in sizes]
        loaded = {kind: server.row(kind) for kind in server.kinds}
    print(f"per document: {source.shape}")
    for kind, row in loaded.items():
        _line(f"{kind} on disk, for each document", sizes, [cost[kind] for cost in costs])
        print(f"  fields of a row, loaded: {', '.join(f'{name} {size:.0f}' for name, size in row.items())}")
    _fit("memory of the server", "bytes", sizes, [cost["memory"] for cost in costs])
    for name in _searches(server, source):
        _fit(f"search: {name.strip()}", "ms", sizes, [cost[name] for cost in costs])
    _fit("an update", "ms", sizes, [cost["update"] for cost in costs])
    _cluster(source.shape, loaded)
    return 0


def _header(documents: int) -> CollectionHeader:
    return CollectionHeader(
        format=FORMAT,
        analysis=VERSION,
        model="file:/bench.gguf",
        model_hash=None,
        dimensions=DIMENSIONS,
        languages=("en",),
        documents=documents,
        pieces=0,
        tokens=0,
        average=_AVERAGE,
        publisher="",
        publisher_label="",
        behind=0,
        published_at=0.0,
        change=0,
    )


class Source:
    """Makes documents like a publisher."""

    def __init__(self, count: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        recombined.write(Path(self._folder.name), count)
        self._files = sorted(Path(self._folder.name).rglob("*.md"))
        self._vectors = like_real(1)
        sample = [self.document(number) for number in range(min(count, _SAMPLE))]
        self._known = len(sample)
        self.frequencies = Counter(term for document in sample for term in document.weights)
        self.shape = Shape(
            mean(len(file.read_text()) for file in self._files[: self._known]),
            mean(len(document.weights) for document in sample),
            mean(len(document.pieces) for document in sample),
        )

    def query(self, question: str) -> dict[int, float]:
        """Return the weights of the words of a question. Words with a very small weight are left out, as in keyword
        search."""
        ids = counts_of(terms_of("en", "", "", question, "text/markdown")).ids.tolist()
        weights = {id_: idf(self._known, min(self.frequencies[id_], self._known)) for id_ in ids}
        return {id_: weight for id_, weight in weights.items() if weight >= _NEGLIGIBLE * max(weights.values())}

    def document(self, number: int, edit: str = "") -> SharedDocument:
        text = self._files[number].read_text() + edit
        title = text.partition("\n")[0].removeprefix("# ")
        path = str(self._files[number].relative_to(self._folder.name))
        spans = cut(text, _CHARACTERS_OF_A_PIECE)
        vectors = self._vectors(len(spans))
        return SharedDocument(
            key=key_of(path),
            version=_sha(text)[:16],
            path=path,
            title=title,
            language="en",
            doc_type="note",
            author=None,
            tags=("benchmark",),
            dated=1.7e9 + number,
            weights=weights_of(counts_of(terms_of("en", path, title, text, "text/markdown")), _AVERAGE),
            payload=encode(Payload(path=path, prepared=_prepared(text, title))),
            pieces=tuple(
                PublishedPiece(0, span.start, span.end, 0, None, vector.tobytes())
                for span, vector in zip(spans, vectors, strict=True)
            ),
        )


def _prepared(text: str, title: str) -> PreparedDocument:
    lines = text.count("\n") + 1
    return PreparedDocument(
        source_hash=_sha(text),
        stat=FileStat(len(text), 1_700_000_000_000_000_000, 0),
        mime="text/markdown",
        converter="markdown",
        title=title,
        own_title=title,
        language="en",
        metadata={},
        tags=["benchmark"],
        line_map=[],
        markdown=text,
        mirror_hash=_sha(text),
        chunks=[Chunk(0, len(text), 1, lines, title, _sha(title + text))],
        terms=NO_TERMS,
    )


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Server:
    """A `milvus-lite` in a separate process, with a shared collection."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes], port: int) -> None:
        from pymilvus import MilvusClient

        self._folder = folder
        self._process = psutil.Process(process.pid)
        self.engine = MilvusEngine(connect_to(parse(f"milvus://127.0.0.1:{port}/bench/sizing"), timeout_s=120))
        # milvus-lite closes the connection of a client that sends keep-alive pings every 10 s, the default.
        self._open = partial(
            MilvusClient, f"http://127.0.0.1:{port}", db_name="bench", grpc_options={"grpc.keepalive_time_ms": 600_000}
        )
        self._client: Any = None
        self.stored = 0

    @property
    def kinds(self) -> list[str]:
        return sorted(name for name in self._opened().list_collections() if name.endswith("_sizing"))

    def settle(self) -> None:
        """Write everything to disk, with its indexes."""
        client = self._opened()
        for kind in self.kinds:
            client.flush(kind)
            client.load_collection(kind)

    def row(self, kind: str) -> dict[str, float]:
        """Return the average bytes of the fields of a row that Milvus loads: all fields except vectors."""
        rows = self._opened().query(kind, filter="", output_fields=["*"], limit=_SAMPLE)
        names = [name for name in rows[0] if name not in ("terms", "vector")]
        return {name: mean(_bytes(row[name]) for row in rows) for name in names} | {"own": _OF_A_ROW}

    def disk(self, kind: str) -> int:
        """Return the bytes of a Milvus collection: rows and indexes, without the log."""
        folders = [path for path in self._folder.rglob(kind) if path.is_dir()]
        files = (file for folder in folders for file in folder.rglob("*") if file.is_file())
        return sum(file.stat().st_size for file in files if "wal" not in file.parts)

    def memory(self) -> int:
        return int(self._process.memory_info().rss)

    def cpu(self) -> float:
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def _opened(self) -> Any:
        """Open the database, which exists only after something was published."""
        if self._client is None:
            self._client = self._open()
        return self._client


def _bytes(value: object) -> int:
    if isinstance(value, str):
        return len(value.encode())
    return sum(map(_bytes, value)) if isinstance(value, (list, tuple)) else 8


@contextmanager
def _server(folder: Path) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = str(Path(sys.executable).with_name("milvus-lite"))
    process = subprocess.Popen(
        [program, "server", "--data-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await(port)
        yield Server(folder, process, port)
    finally:
        process.terminate()
        process.wait(30)


def _await(port: int) -> None:
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("milvus-lite does not answer")


def _grown(server: Server, source: Source, size: int) -> dict[str, float]:
    """Store documents up to `size`. Return the bytes on disk per document, the total memory, and the processor time of
    searches."""
    worked, first, took = server.cpu(), server.stored, 0.0
    for low in range(first, size, _BLOCK):
        block = [source.document(number) for number in range(low, min(low + _BLOCK, size))]
        started = time.monotonic()
        server.engine.put(block, former="nothing")
        took += time.monotonic() - started
    server.settle()
    server.stored = size
    stored = size - first
    print(f"\n{size:,} documents: stored {stored / took:.0f}/s, {(server.cpu() - worked) * 1000 / stored:.2f} ms each")
    figures = {kind: server.disk(kind) / size for kind in server.kinds} | {"memory": float(server.memory())}
    figures |= {name: _searched(server, name, find) for name, find in _searches(server, source).items()}
    return figures | {"update": _updates(server, source)}


def _searched(server: Server, name: str, find: Callable[[int], object]) -> float:
    """Search with each query and print the times. Return the processor time of one search in ms."""
    find(0)
    worked = server.cpu()
    took = [_timed(find, number) * 1000 for number in range(QUERIES)]
    cost = (server.cpu() - worked) * 1000 / QUERIES
    print(
        f"  {name:28} p50 {median(took):6.1f} ms, p95 {percentile(took, 0.95):6.1f}, processor {cost:.1f}", flush=True
    )
    return cost


def _searches(server: Server, source: Source) -> dict[str, Callable[[int], object]]:
    weights = [source.query(question) for question in recombined.questions(QUERIES)]
    vectors = like_real(2)(QUERIES)
    engine = server.engine
    found: list[ScoredDocument] = []

    def by_words(number: int) -> None:
        found[:] = engine.by_words(weights[number], _EVERYTHING, BY_WORDS)

    return {
        f"words, best {BY_WORDS}": by_words,
        "  with a filter": lambda n: engine.by_words(weights[n], _FILTERED, BY_WORDS),
        f"vector, best {NEAREST}": lambda n: engine.nearest(vectors[n], _EVERYTHING, NEAREST),
        f"reading {READ} documents": lambda n: engine.documents([each.key for each in found[n : n + READ]]),
    }


def _timed(work: Callable[[int], object], number: int) -> float:
    started = time.monotonic()
    work(number)
    return time.monotonic() - started


def _updates(server: Server, source: Source) -> float:
    """Store changed documents one by one. Return the processor time per document in ms."""
    worked, took = server.cpu(), []
    for number in range(UPDATES):
        document = source.document(number, edit=f"\n\nEdited with {server.stored} documents.\n")
        started = time.monotonic()
        server.engine.put([document])
        took.append((time.monotonic() - started) * 1000)
    cost = (server.cpu() - worked) * 1000 / UPDATES
    _row("an update of one document", took, cost)
    return cost


def _row(name: str, took: list[float], cost: float) -> None:
    print(
        f"  {name:28} p50 {median(took):6.1f} ms, p95 {percentile(took, 0.95):6.1f}, processor {cost:.1f}", flush=True
    )


def _fit(what: str, unit: str, sizes: Sequence[int], values: Sequence[float]) -> None:
    """Fit a straight line to the values and print it."""
    slope, start = np.polyfit(sizes, values, 1) if len(sizes) > 1 else (np.nan, np.nan)
    print(f"{what:46} {start:,.1f} {unit} + {slope:,.4f} for each document")


def _line(what: str, sizes: Sequence[int], values: Sequence[float]) -> None:
    print(f"{what:46} " + ", ".join(f"{size:,}: {value:,.0f}" for size, value in zip(sizes, values, strict=True)))


def _cluster(shape: Shape, loaded: dict[str, dict[str, float]]) -> None:
    """Print the sizes of one replica from Milvus' formulas, in GB, with one chunk of this shape for each document."""
    raw = DIMENSIONS * _FLOAT
    of_vector = {
        "HNSW": raw + _LINKS * _FLOAT,
        "HNSW_SQ8": DIMENSIONS + _LINKS * _FLOAT,
        "IVF_SQ8": DIMENSIONS + 2,
        "DISKANN": _DISKANN * raw,
    }
    fields = {kind: sum(row.values()) for kind, row in loaded.items() if "terms" not in kind}
    of_kind = {kind.split("_")[1]: size * (shape.pieces if "pieces" in kind else 1) for kind, size in fields.items()}
    parts = {f"{kind}' fields": size for kind, size in of_kind.items()}
    parts |= {"terms": shape.terms * _POSTING, "vectors on disk": shape.pieces * raw}
    parts |= {name: shape.pieces * size for name, size in of_vector.items()}
    print(f"\n{'one replica, GB':18}" + "".join(f"{name:>18}" for name in parts))
    for chunks in (10**6, 10**7, 10**8):
        print(f"{chunks:<18,}" + "".join(f"{chunks * size / 1e9:18.1f}" for size in parts.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
