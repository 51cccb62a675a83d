"""Measure proposals to supersede memories, and the effect of superseding. Prints figures.

    .venv/bin/python -m benchmarks.superseding MODEL.gguf [--half development|figure]

Reads the pairs in `benchmarks/memory_pairs`: updates and unrelated pairs. Odd lines are for development, even lines for
the figure. A real daemon stores them; MODEL.gguf is its embedding model, without a reranker. The updates of a language
are in one namespace and its unrelated pairs in another, so that any of them can be proposed. Languages have separate
namespaces because some of their pairs are translations of each other.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.throwaway import Throwaway, throwaway

_PAIRS = Path(__file__).with_name("memory_pairs")
_HALVES = ("development", "figure")


class Pair(NamedTuple):
    language: str
    kind: str
    older: str
    newer: str


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--half", choices=_HALVES, default="figure")
    options = parser.parse_args(words)
    with throwaway(config=f"models: {{embed: 'file:{options.model.resolve()}', rerank: none}}\n") as daemon:
        daemon.call("memory.unlock", passphrase="for measuring only")
        _updates(daemon, pairs("updates", options.half))
        _unrelated(daemon, pairs("unrelated", options.half), options.half)
    return 0


def pairs(name: str, half: str) -> list[Pair]:
    lines = (_PAIRS / f"{name}.tsv").read_text().splitlines()
    return [Pair(*line.split("\t")) for line in lines[_HALVES.index(half) :: 2]]


def _updates(daemon: Throwaway, chosen: Sequence[Pair]) -> None:
    older = [_store(daemon, each.older, f"updates {each.language}")["id"] for each in chosen]
    proposed = others = marked = before = first = searches = 0
    missed: dict[str, int] = {}
    for each, old in zip(chosen, older, strict=True):
        stored = _store(daemon, each.newer, f"updates {each.language}")
        found = [proposal["id"] for proposal in stored["proposals"]]
        proposed += old in found
        others += bool(set(found) - {old})
        if old not in found:
            missed[f"{each.language} {each.kind}"] = missed.get(f"{each.language} {each.kind}", 0) + 1
        new = _store(daemon, each.newer, f"updates {each.language}", supersedes=[old])["id"]
        (record,) = daemon.call("memory.retrieve", ids=[old])["memories"]
        marked += record["type"] == "fact_done" and record["superseded_by"] == new
        # The older text is the hardest query, because it has all words of the older memory.
        for query in (each.older, _shared(each)):
            results = [hit["id"] for hit in daemon.call("memory.search", query=query)["results"]]
            searches += 1
            first += results[:1] == [new]
            before += new in results and (old not in results or results.index(new) < results.index(old))
    count = len(chosen)
    _row("updates: the older memory is proposed", proposed, count)
    _row("updates: another one is proposed", others, count)
    _row("superseding: the older memory is marked", marked, count, "1.00")
    _row("search: current before superseded", before, searches, ">= .98")
    _row("search: current is the first of all", first, searches)
    if missed:
        print("not proposed: " + ", ".join(f"{name} {number}" for name, number in sorted(missed.items())))


def _unrelated(daemon: Throwaway, chosen: Sequence[Pair], half: str) -> None:
    for each in chosen:
        _store(daemon, each.older, f"unrelated {each.language}")
    false = [
        (each, found)
        for each in chosen
        if (found := _store(daemon, each.newer, f"unrelated {each.language}")["proposals"])
    ]
    _row("unrelated pairs: something is proposed", len(false), len(chosen), "<= .02")
    if half == "development":
        for each, found in false:
            print(f"{each.newer}: {found[0]['text']} ({found[0]['reason']})")


def _store(daemon: Throwaway, text: str, namespace: str, **more: object) -> Any:
    return daemon.call("memory.store", text=text, namespace=namespace, **more)


def _shared(pair: Pair) -> str:
    """Return the words that both texts have, as a query of somebody who does not know the value."""
    newer = set(pair.newer.split())
    return " ".join(word for word in pair.older.split() if word in newer) or pair.older


def _row(what: str, number: int, total: int, target: str = "") -> None:
    print(f"{what:42}  {number / total:.3f} ({number} of {total})  {target}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
