"""Measure how soon vector search finds the documents of a folder by their beginnings and by their whole text.

    python -m benchmarks.first_vectors FOLDER [--model e5] [--minutes 30]

Needs a model in the cache of the tests. Also prints the processor time, because other work slows a shared machine down.
A fixed seed picks the documents of the known items; the query is the first heading after the beginning of the
document. Prints RR@10 of a vector search for them when all beginnings are embedded, and at the end.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from pathlib import Path

from benchmarks.throwaway import Throwaway, cached_model, throwaway

ITEMS = 100
_EVERY_S = 2.0
_HEADING = re.compile(r"^##+ +(.{8,80})$", re.M)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--model", default="e5", help="prefix of the model's file name in the cache of the tests")
    parser.add_argument("--minutes", type=float, default=30)
    options = parser.parse_args()
    items = _known_items(options.folder)
    model = cached_model(options.model)
    if model is None:
        sys.exit("this benchmark needs a model in the cache of the tests: run `make test` first")
    with throwaway(f'models:\n  embed: "file:{model}"\n') as daemon:
        daemon.add(options.folder, "notes")
        _follow(daemon, items, time.monotonic() + 60 * options.minutes)
    return 0


def _follow(daemon: Throwaway, items: list[tuple[str, str]], until: float) -> None:
    started = time.monotonic()
    has_all = False
    while time.monotonic() < until:
        status = daemon.call("index.status")
        (notes,) = status["collections"]
        is_done = notes["chunks"] == notes["wordless"] + notes["embedded"] + notes["unembeddable"]
        if is_done or (notes["in_brief"] >= status["documents"] and not has_all):
            has_all = True
            spent = sum(daemon.processor_s().values())
            print(
                f"{time.monotonic() - started:6.0f} s, processor {spent:6.0f} s: {notes['in_brief']:,} of"
                f" {status['documents']:,} documents by their beginning, {notes['in_full']:,} in full,"
                f" {notes['embedded']:,} of {notes['chunks']:,} chunks; RR@10 {_reciprocal_rank(daemon, items):.3f}",
                flush=True,
            )
        if is_done:
            return
        time.sleep(_EVERY_S)
    print("stopped before the end")


def _known_items(folder: Path) -> list[tuple[str, str]]:
    """Return headings that are unique to a document, with the path of the document."""
    owners: dict[str, set[str]] = {}
    for path in folder.rglob("*.md"):
        if headings := _HEADING.findall(path.read_text(errors="replace")):
            owners.setdefault(headings[0], set()).add(str(path.relative_to(folder)))
    unique = sorted((heading, min(paths)) for heading, paths in owners.items() if len(paths) == 1)
    return random.Random(7).sample(unique, min(ITEMS, len(unique)))


def _reciprocal_rank(daemon: Throwaway, items: list[tuple[str, str]]) -> float:
    total = 0.0
    for query, path in items:
        hits = daemon.call("search.vector", query=query, limit=10)["hits"]
        ranks = [rank for rank, hit in enumerate(hits, start=1) if hit["path"] == path]
        total += 1 / ranks[0] if ranks else 0.0
    return total / len(items)


if __name__ == "__main__":
    sys.exit(main())
