"""Measure search over long files: RR@10 and Success@1 of questions that one passage of one long file answers.

    .venv/bin/python -m benchmarks.long_files [--docs FOLDER] [--formats FOLDER] [--split dev|test|all]
        [--model mini|none] [--ranks] [--check-only]

`questions.tsv` has three sources: the standard library of this Python, a folder of documentation (--docs) and a folder
of PDF, EPUB, Word, HTML and long text (--formats). A source without its folder is left out. Half of the questions are
for tuning the ranking (dev), half for checking it (test). The model embeds ten texts per second; the three sources have
tens of thousands. --check-only reads the files and does not start a daemon.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import sysconfig
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.long_files.questions import SOURCES, SPLITS, Question, problem, read
from benchmarks.throwaway import Throwaway, cached_model, throwaway
from gnod.errors import EXIT_RUNTIME, EXIT_VALIDATION

LIMIT = 20
REPLY_S = 8 * 3600  # the longest wait for a reply; one request embeds all chunks

# The settings of each source. `formats` excludes an archive and a table that contain other files of the folder.
_COLLECTIONS: Mapping[str, Mapping[str, object]] = {
    "stdlib": {
        "pattern": "**/*.py",
        "exclude": ["site-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__"],
    },
    "docs": {},
    "formats": {"exclude": ["test_files.zip", "2-results.csv"]},
}

# The rank of the right file by question id, from 1; None if it is not among the first LIMIT.
Ranks = Mapping[str, int | None]


def main(words: Sequence[str]) -> int:
    """Print the figures. Return the exit status: 2 if a question was left out."""
    options = _parser().parse_args(words)
    folders = {"stdlib": Path(sysconfig.get_paths()["stdlib"]), "docs": options.docs, "formats": options.formats}
    roots: dict[str, Path] = {name: folder.resolve() for name, folder in folders.items() if folder}
    for name in SOURCES:
        if name not in roots:
            print(f"{name}: left out, because --{name} FOLDER is missing")
        elif not roots[name].is_dir():
            print(f"{name}: the folder {roots[name]} does not exist", file=sys.stderr)
            return EXIT_VALIDATION
    selected = [each for each in read() if each.source in roots and options.split in ("all", each.split)]
    asked = _checked(selected, roots)
    status = 0 if len(asked) == len(selected) else EXIT_RUNTIME
    if options.check_only:
        return status
    model = cached_model() if options.model == "mini" else None
    if options.model == "mini" and model is None:
        print("no model of the preset mini: run the tests with real models once, or set GNOD_TEST_MODELS to a folder")
        return EXIT_VALIDATION
    _measure(asked, roots, model, show_ranks=options.ranks)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, metavar="FOLDER")
    parser.add_argument("--formats", type=Path, metavar="FOLDER")
    parser.add_argument("--split", choices=(*SPLITS, "all"), default="dev")
    parser.add_argument("--model", choices=("mini", "none"), default="mini")
    parser.add_argument("--ranks", action="store_true", help="also print the rank of the right file for each question")
    parser.add_argument("--check-only", action="store_true", help="check files and passages; start no daemon")
    return parser


def _checked(questions: Iterable[Question], roots: Mapping[str, Path]) -> list[Question]:
    """Return the questions whose file contains the passage. Print the reason for leaving out others."""
    kept: list[Question] = []
    counts: dict[str, list[int]] = {}
    for question in questions:
        count = counts.setdefault(question.source, [0, 0])
        count[1] += 1
        if found := problem(question, roots[question.source]):
            print(f"{question.id}: left out, {question.file}: {found}")
            continue
        count[0] += 1
        kept.append(question)
    for source, (usable, every) in counts.items():
        print(f"{source}: {usable} of {every} questions have their file and passage in {roots[source]}")
    return kept


def _measure(questions: Sequence[Question], roots: Mapping[str, Path], model: Path | None, *, show_ranks: bool) -> None:
    socket.setdefaulttimeout(REPLY_S)  # for the connection that `throwaway` opens
    with throwaway() as daemon:
        _index(daemon, roots, model)
        if model:
            _embed(daemon)
        runs = {"keyword": _ranks(daemon, questions, "search.lexical")}
        if model:
            runs["hybrid"] = _ranks(daemon, questions, "search.query", expand=False, rerank=False)
    if show_ranks:
        for question in questions:
            ranks = "".join(f"{run[question.id] or '–':>6}" for run in runs.values())
            print(f"{question.id:<12}{ranks}  {question.text}")
    print(f"{'':<10}{'':>9}" + "".join(f"{name + ' RR@10':>16}{'Success@1':>11}" for name in runs))
    for source in (*roots, "all"):
        if chosen := [each for each in questions if source in (each.source, "all")]:
            print(f"{source:<10}{len(chosen):>9}" + "".join(_figures(run, chosen) for run in runs.values()))


def _index(daemon: Throwaway, roots: Mapping[str, Path], model: Path | None) -> None:
    """Add each source as a collection and wait until keyword search finds it. Print the seconds."""
    daemon.call("index.init")
    config = {
        "models": {"embed": f"file:{model}" if model else "none"},
        "collections": [{"name": name, "path": str(root), **_COLLECTIONS[name]} for name, root in roots.items()],
    }
    # JSON is YAML.
    (daemon.folder / "config" / "index.yml").write_text(json.dumps(config), encoding="utf-8")
    for name in roots:
        started = time.monotonic()
        daemon.call("index.sync", collections=[name])
        print(f"{name}: indexed in {time.monotonic() - started:.0f} s", flush=True)


def _embed(daemon: Throwaway) -> None:
    """Wait until all chunks have vectors. Print the seconds, or end the program if embedding is blocked."""
    started = time.monotonic()
    state = daemon.call("index.embed")
    if state["pending"]:
        sys.exit(f"{state['pending']:,} chunks have no vector ({state['state']}): {state['reason']}")
    print(f"embedded in {time.monotonic() - started:.0f} s; {state['failed']:,} chunks failed", flush=True)


def _ranks(daemon: Throwaway, questions: Iterable[Question], method: str, **params: object) -> Ranks:
    """Ask every question in the collection of its source."""
    ranks: dict[str, int | None] = {}
    for question in questions:
        result = daemon.call(method, query=question.text, limit=LIMIT, collections=[question.source], **params)
        if reason := result.get("lexical_only_reason"):
            print(f"{question.id}: {method} used keyword search alone: {reason}")
        ranks[question.id] = next((hit["rank"] for hit in result["hits"] if hit["path"] == question.file), None)
    return ranks


def _figures(ranks: Ranks, questions: Sequence[Question]) -> str:
    """Return RR@10 and Success@1. Each question has one right file, so RR is the reciprocal rank of this file."""
    found = [ranks[each.id] or LIMIT for each in questions]
    return f"{fmean(1 / rank if rank <= 10 else 0.0 for rank in found):16.4f}{fmean(r == 1 for r in found):11.4f}"


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
