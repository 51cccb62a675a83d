"""Measure the cost of the models of `query`: the reranker in the first query of a new daemon, and a cached expansion.

    .venv/bin/python -m benchmarks.model_stages [--rounds N] [--rerank MODEL] [--expand MODEL.gguf]

The reranker reads 20 documents of 160 words, including the query. MODEL.gguf, a generator such as SmolLM2-135M
(default: the generator of the tests), writes the expansion. Each round starts a daemon. The processor time includes all
processes of the daemon, and starts before the query.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import psutil

from benchmarks.throwaway import Throwaway, cached_model, throwaway

DOCUMENTS, TOKENS = 20, 160
QUERY = "how are the boats of the harbour counted"


class Stage(NamedTuple):
    """`stage_ms`: the stage alone; `query_ms`: the whole query; `processor_ms`: time of the daemon and its children."""

    stage_ms: float
    query_ms: float
    processor_ms: float
    details: dict[str, Any]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rerank", type=Path)
    parser.add_argument("--expand", type=Path, default=cached_model("smollm"))
    options = parser.parse_args(words)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    if options.rerank and options.rerank.exists():
        rounds = [_reranking(options.rerank.resolve(), _texts()) for _ in range(options.rounds)]
        _print("rerank, first query", [stage for stage, _ in rounds])
        _print("  the next query", [stage for _, stage in rounds])
    if options.expand and options.expand.exists():
        written, again, restarted = zip(
            *(_expansion(options.expand.resolve()) for _ in range(options.rounds)), strict=True
        )
        _print("expand, written by the model", written)
        _print("  the same query again", again)
        _print("  the same, first query of a fresh daemon", restarted)
    return 0


def _texts() -> list[str]:
    """Return documents that, together with the query, have about TOKENS words."""
    words = f"{QUERY} by the master before the tide turns and written in a long blue book".split()
    texts = []
    for number in range(DOCUMENTS):
        text = f"Note {number}"
        while len(f"{QUERY} {text}".split()) < TOKENS:
            text += " " + words[(number + len(text)) % len(words)]
        texts.append(text)
    return texts


def _reranking(model: Path, texts: Sequence[str]) -> tuple[Stage, Stage]:
    with throwaway() as daemon, TemporaryDirectory() as folder:
        for number, text in enumerate(texts):
            Path(folder, f"{number}.md").write_text(text)
        daemon.add(Path(folder), "docs")
        _configure(daemon, rerank=f"file:{model}")
        return _stage(daemon, "rerank"), _stage(daemon, "rerank")


def _expansion(model: Path) -> tuple[Stage, Stage, Stage]:
    with throwaway() as daemon, TemporaryDirectory() as folder:
        Path(folder, "note.md").write_text("The boats of the harbour are counted by the master.")
        daemon.add(Path(folder), "docs")
        _configure(daemon, expand=f"file:{model}")
        written, again = _stage(daemon, "expand"), _stage(daemon, "expand")
        _configure(daemon, expand=f"file:{model}")
        restarted = _stage(daemon, "expand")
        assert [stage.details["cached"] for stage in (written, again, restarted)] == [False, True, True]
        return written, again, restarted


def _configure(daemon: Throwaway, **models: str) -> None:
    """Start the daemon with only these models."""
    daemon.hang_up()
    daemon.gnoctl("daemon", "stop")
    roles = dict.fromkeys(("embed", "rerank", "expand", "answer"), "none") | models
    config = daemon.folder / "config" / "index.yml"
    kept = config.read_text().partition("models:")[0]
    config.write_text(kept + "models:\n" + "".join(f"  {role}: {uri}\n" for role, uri in roles.items()))
    daemon.gnoctl("daemon", "start")
    daemon.call("index.sync")


def _stage(daemon: Throwaway, name: str) -> Stage:
    before = _processor_s(daemon)
    started = time.monotonic()
    result = daemon.call("search.query", query=QUERY, limit=20, explain=True, budget_s=120)
    took_ms = (time.monotonic() - started) * 1000
    [stage] = [stage for stage in result["explain"]["stages"] if stage["stage"] == name]
    if not stage["ran"] or stage.get("why"):
        raise SystemExit(f"{name}: {stage['why']}")
    return Stage(stage["ms"], took_ms, (_processor_s(daemon) - before) * 1000, stage)


def _processor_s(daemon: Throwaway) -> float:
    process = psutil.Process(int(daemon.call("daemon.status")["pid"]))
    return sum(sum(each.cpu_times()[:2]) for each in (process, *process.children(recursive=True)))


def _print(what: str, stages: Sequence[Stage]) -> None:
    times = [stage.stage_ms for stage in stages]
    figures = (
        f"stage {min(times):7.1f} best, {median(times):7.1f} ms median; "
        f"query {median(stage.query_ms for stage in stages):7.0f}, "
        f"processor {median(stage.processor_ms for stage in stages):7.0f} ms"
    )
    known = {key: stages[0].details.get(key) for key in ("documents", "tokens")}
    details = ", ".join(f"{value:,} {key}" for key, value in known.items() if value is not None)
    print(f"{what:44} {figures}  {details}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
