"""Measure hybrid search during embedding, compared with the same searches while embedding is paused. Prints figures.

    python -m benchmarks.while_embedding [--gap SECONDS] [--rounds N]

Needs MiniLM in the cache of the tests. The rounds alternate, because other work slows a shared machine down: compare
only their ratio. Also prints how many texts are embedded per second with and without searches.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks.hybrid import queries_of_texts
from benchmarks.throwaway import Throwaway, cached_model, percentile, require_shared, throwaway, write_documents

DOCUMENTS = 6_000
QUERIES = 80
_ALONE_S = 8.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gap", type=float, default=0.1, help="seconds between an answer and the next query")
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    require_shared()
    model = cached_model()
    if model is None:
        sys.exit("this benchmark needs a model in the cache of the tests: run `make test` first")
    config = f'models:\n  preset: none\n  embed: "file:{model}"\n'
    with throwaway(config) as daemon, tempfile.TemporaryDirectory() as folder:
        write_documents(Path(folder), DOCUMENTS)
        daemon.add(Path(folder), "docs")
        daemon.wait_for_postings()
        print(f"without searches {_embedded_per_s(daemon, lambda: time.sleep(_ALONE_S)):.1f} texts/s", flush=True)
        queries = queries_of_texts(QUERIES)
        paused, embedding = [], []
        for _ in range(options.rounds):
            daemon.call("index.pause")
            paused += _latencies_ms(daemon, queries, options.gap)
            daemon.call("index.resume")
            speed = _embedded_per_s(daemon, lambda: embedding.extend(_latencies_ms(daemon, queries, options.gap)))
            print(f"paused {_figures(paused)}; embedding {_figures(embedding)}; {speed:.1f} texts/s", flush=True)
        print(f"p95 embedding over paused: {percentile(embedding, 0.95) / percentile(paused, 0.95):.2f}")
    return 0


def _latencies_ms(daemon: Throwaway, queries: list[str], gap_s: float) -> list[float]:
    found = []
    for query in queries:
        time.sleep(gap_s)
        started = time.monotonic()
        daemon.call("search.query", query=query, limit=10)
        found.append((time.monotonic() - started) * 1000)
    return found


def _embedded_per_s(daemon: Throwaway, meanwhile: Callable[[], object]) -> float:
    before, started = _embedded(daemon), time.monotonic()
    meanwhile()
    return (_embedded(daemon) - before) / (time.monotonic() - started)


def _embedded(daemon: Throwaway) -> int:
    """Return the number of texts with a vector: chunks and beginnings of documents."""
    (docs,) = daemon.call("index.status")["collections"]
    return int(docs["embedded"] + docs["in_brief"])


def _figures(latencies_ms: list[float]) -> str:
    return f"p50 {median(latencies_ms):.1f}, p95 {percentile(latencies_ms, 0.95):.1f} ms"


if __name__ == "__main__":
    sys.exit(main())
