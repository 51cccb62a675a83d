"""Measure fields, order and facets over 20,000 documents with frontmatter. Prints figures.

    .venv/bin/python -m benchmarks.fields [DOCUMENTS]

Each query runs with and without its fields in turn, so that both run under the same load of the machine.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.throwaway import Throwaway, percentile, throwaway

ROUNDS = 15
WORDS = [
    f"{start}{end}" for start in ("ab", "bel", "cor", "dun", "fer", "gol") for end in ("a", "en", "is", "or", "um")
]
# Pairs of a measured query and the query for comparison.
PAIRS: list[tuple[dict[str, object], dict[str, object]]] = [
    ({"query": "abor belum tag:t1"}, {"query": "abor belum"}),
    ({"query": "abor belum status:open"}, {"query": "abor belum"}),
    ({"query": "abor belum year:2005..2010"}, {"query": "abor belum"}),
    ({"query": "abor belum title:note"}, {"query": "abor belum note"}),
    ({"query": "status:open"}, {"query": "abor belum"}),
    ({"query": "abor belum", "sort": "-year"}, {"query": "abor belum"}),
    ({"query": "abor belum", "facets": ["tag", "status"]}, {"query": "abor belum"}),
]


def main(count: int) -> None:
    with throwaway() as daemon, tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), count)
        print(f"indexing {count:,} documents: {daemon.add(Path(folder), 'notes'):.0f} s")
        for measured, compared in PAIRS:
            took = [(_took(daemon, measured), _took(daemon, compared)) for _ in range(ROUNDS)]
            mine, other = [each[0] for each in took], [each[1] for each in took]
            shown = " ".join(f"{value}" if name == "query" else f"{name}={value}" for name, value in measured.items())
            print(
                f"{shown:45} p50 {median(mine):.0f} ms, p95 {percentile(mine, 0.95):.0f}"
                f"; {compared['query']}: p50 {median(other):.0f}, p95 {percentile(other, 0.95):.0f}"
            )


def _took(daemon: Throwaway, params: dict[str, object]) -> float:
    return float(daemon.call("search.lexical", **params)["took_ms"])


def _write(folder: Path, count: int) -> None:
    chosen = random.Random(1)
    for number in range(count):
        path = folder / f"{number // 100:03d}" / f"{number:05d}.md"
        path.parent.mkdir(exist_ok=True)
        status = chosen.choice(["open", "done", "in progress"])
        head = f"tags: [t{number % 50}, x{number % 7}]\nstatus: {status}\nyear: {2000 + number % 25}"
        path.write_text(f"---\n{head}\n---\n# Note {number}\n\n{' '.join(chosen.choices(WORDS, k=12))}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
