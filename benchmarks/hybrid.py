"""Measure the latency of hybrid search in the daemon, on 20,000 chunks of real text. Prints figures.

    .venv/bin/python -m benchmarks.hybrid MODELS [--expand URI] [--rerank URI] [--documents N]

MODELS is a cache folder with the models of the preset `mini` (`gnoctl models path`). The documents are real; their
vectors are synthetic, of the same number and shape, because embedding would take an hour. With --expand or --rerank,
the benchmark measures whether queries keep the time budget.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import synthetic_vectors
from benchmarks.latency import QUERIES
from benchmarks.throwaway import Throwaway, percentile, real_texts, require_shared, throwaway, write_documents

BUDGET_S = 2.0


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("--expand", metavar="URI")
    parser.add_argument("--rerank", metavar="URI")
    parser.add_argument("--documents", type=int, default=17_000)
    options = parser.parse_args(words)
    require_shared()
    with throwaway() as daemon, tempfile.TemporaryDirectory() as folder:
        roles = {role: uri for role, uri in (("expand", options.expand), ("rerank", options.rerank)) if uri}
        synthetic_vectors.configure(daemon, options.models.resolve(), **roles)
        write_documents(Path(folder), options.documents)
        daemon.add(Path(folder), "docs")
        daemon.wait_for_postings()
        chunks = synthetic_vectors.embed(daemon, "docs")
        print(
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {options.documents:,} documents, {chunks:,} chunks"
        )
        queries = queries_of_texts(150)
        _measure(daemon, queries, "query --no-expand --no-rerank", "p95 <= 60 ms", expand=False, rerank=False)
        _measure(daemon, queries, "  beside it: search", "", method="search.lexical")
        _measure(daemon, queries, "  beside it: vsearch", "", method="search.vector")
        if options.expand or options.rerank:
            limit = f"p95 <= {BUDGET_S * 1.1:g} s"
            _measure(daemon, queries[:40], "query with all models", limit, budget_s=BUDGET_S)
            _measure(daemon, queries[:40], "  the same queries again", limit, budget_s=BUDGET_S)
    return 0


def queries_of_texts(count: int) -> list[str]:
    """Return short queries and sentences from the documents."""
    chance = random.Random(1)
    sentences = [text.split(". ")[0][:120].replace('"', " ") for _, text in real_texts(3000)]
    chosen = [each for each in sentences if 4 <= len(each.split()) <= 14]
    return QUERIES + chance.sample(chosen, count - len(QUERIES))


def _measure(
    daemon: Throwaway, queries: Sequence[str], what: str, target: str, *, method: str = "search.query", **params: object
) -> None:
    for query in queries[:5]:
        daemon.call(method, query=query, limit=10, **params)  # warm
    inside, whole = [], []
    before = daemon.processor_s()
    for query in queries:
        started = time.monotonic()
        result = daemon.call(method, query=query, limit=10, **params)
        whole.append((time.monotonic() - started) * 1000)
        inside.append(float(result["took_ms"]))
    figure = f"p50 {median(inside):.1f} ms, p95 {percentile(inside, 0.95):.1f}"
    figure += f" (over the socket p95 {percentile(whole, 0.95):.1f})"
    print(f"{what:34}  {figure:58}  {target}", flush=True)
    spent = {name: after - before.get(name, 0.0) for name, after in daemon.processor_s().items()}
    each = ", ".join(f"{name} {1000 * seconds / len(queries):.1f}" for name, seconds in spent.items())
    print(f"{'  processor time of a query, ms':34}  {each}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
