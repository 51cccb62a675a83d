"""Measure questions about changing facts, as of a time. Prints figures.

    .venv/bin/python -m benchmarks.as_of MODEL [--without-as-of] [--wrong]

`benchmarks/memory_pairs/as_of.txt` has the facts and describes its format. A real daemon stores all facts in one
namespace with their times of storage; MODEL is its embedding model, without a reranker. An answer is right if the fact
is the first result. `--without-as-of` sends no times. nDCG@10 is measured for the questions about now: only current
facts are relevant.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from math import log2
from pathlib import Path
from typing import NamedTuple

from benchmarks.throwaway import Throwaway, throwaway

_FACTS = Path(__file__).with_name("memory_pairs") / "as_of.txt"
_KINDS = {"now": "now", "-": "the question names the time"}


class Fact(NamedTuple):
    record: dict[str, str]
    supersedes_last: bool


class Question(NamedTuple):
    """`as_of`: a time, `now`, or `-`. `fact`: the index of the right fact."""

    as_of: str
    query: str
    fact: int


def read(lines: Sequence[str]) -> tuple[list[Fact], list[Question]]:
    facts: list[Fact] = []
    questions: list[Question] = []
    before = 0
    for line in lines:
        if line.startswith("#"):
            before = len(facts)
        elif line.startswith("?"):
            as_of, query, number = (part.strip() for part in line[1:].split("|"))
            questions.append(Question(as_of, query, before + int(number) - 1))
        elif line.strip():
            stored, _, text = line[2:].partition(" ")
            stated, text = re.fullmatch(r"(?:\{(.*)\} )?(.*)", text).groups("")  # type: ignore[union-attr]
            times = dict(part.split("=") for part in stated.split(", ")) if stated else {}
            facts.append(Fact({"text": text, "created": stored, **times}, supersedes_last=line[0] == ">"))
    return facts, questions


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--without-as-of", action="store_true")
    parser.add_argument("--wrong", action="store_true", help="print the questions that are answered wrong")
    options = parser.parse_args(words)
    facts, questions = read(_FACTS.read_text().splitlines())
    with throwaway(config=f"models: {{embed: 'file:{options.model.resolve()}', rerank: none}}\n") as daemon:
        daemon.call("memory.unlock", passphrase="for measuring only")
        ids = _store(daemon, facts)
        ranks = [_rank(daemon, ids, each, with_as_of=not options.without_as_of) for each in questions]
    for kind, of_kind in _by_kind(questions, ranks):
        print(f"{kind:30}  right {sum(rank == 1 for rank in of_kind)} of {len(of_kind)}", flush=True)
    now = [rank for question, rank in zip(questions, ranks, strict=True) if question.as_of == "now"]
    print(f"nDCG@10 of the questions about now: {sum(1 / log2(rank + 1) for rank in now if rank) / len(now):.3f}")
    for question, rank in zip(questions, ranks, strict=True):
        if options.wrong and rank != 1:
            print(f"  {question.as_of:10}  {question.query}: {facts[question.fact].record['text']!r} is at {rank}")
    return 0


def _store(daemon: Throwaway, facts: Sequence[Fact]) -> list[str]:
    ids: list[str] = []
    for fact in facts:
        ids.append(daemon.call("memory.import", records=[fact.record])["memories"][0]["id"])
        if fact.supersedes_last:
            daemon.call("memory.update", id=ids[-1], supersedes=[ids[-2]])
    return ids


def _rank(daemon: Throwaway, ids: Sequence[str], question: Question, *, with_as_of: bool) -> int:
    """Return the rank of the right fact; 0 if it was not found."""
    times = {"as_of": question.as_of} if with_as_of and question.as_of not in _KINDS else {}
    found = [hit["id"] for hit in daemon.call("memory.search", query=question.query, limit=10, **times)["results"]]
    return found.index(ids[question.fact]) + 1 if ids[question.fact] in found else 0


def _by_kind(questions: Sequence[Question], ranks: Sequence[int]) -> Iterator[tuple[str, list[int]]]:
    kinds = [_KINDS.get(question.as_of, "as of a time") for question in questions]
    for kind in ("as of a time", *_KINDS.values()):
        yield kind, [rank for rank, its in zip(ranks, kinds, strict=True) if its == kind]
    yield "all", list(ranks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
