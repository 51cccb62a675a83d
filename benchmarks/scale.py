"""Measure how times and sizes grow with the number of documents. Prints figures, and draws docs/scale.svg.

    .venv/bin/python -m benchmarks.scale [--sizes 1000 10000 100000] [--models FOLDER] [--draw]

Each size is one daemon with files of 1 kB. `--models`, a cache folder with the models of the preset `mini` (`gnoctl
models path`), gives each chunk a synthetic vector (benchmarks.synthetic_vectors) after the keyword figures, and
also measures hybrid search. An exponent near 0 means that a figure does not depend on the number of documents; near 1,
it is proportional to it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import nan
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks import recombined, scale_plot, synthetic_vectors
from benchmarks.throwaway import REPOSITORY, Throwaway, percentile, require_shared, throwaway

SIZES = (1_000, 10_000, 100_000)
QUERIES = 100
SAVES = 40
PLOT = REPOSITORY / "docs" / "scale.svg"

Figures = dict[str, float]


def main(sizes: Sequence[int], models: Path | None, *, is_drawn: bool) -> None:
    require_shared()
    measured = [measure(size, models) for size in sizes]
    for name in measured[0]:
        values = [each[name] for each in measured]
        print(f"{name:44} {'  '.join(f'{v:10.4g}' for v in values)}  ~ n^{scale_plot.exponent(sizes, values):.2f}")
    if is_drawn:
        PLOT.write_text(scale_plot.draw(sizes, measured))
        print(f"wrote {PLOT}")


def measure(size: int, models: Path | None) -> Figures:
    with throwaway() as daemon, tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        recombined.write(folder, size)
        figures = {"first indexing, s": daemon.add(folder, "notes")}
        figures["postings complete after, s"] = _seconds(lambda: daemon.wait_for_postings(merged=False))
        daemon.wait_for_postings()
        figures |= _searches(daemon)
        figures["status, ms"] = 1000 * median(_seconds(lambda: daemon.call("index.status")) for _ in range(5))
        figures["sync without changes, ms"] = 1000 * median(
            _seconds(lambda: daemon.call("index.sync")) for _ in range(3)
        )
        saves = [_save(daemon, folder, number) for number in range(SAVES)]
        figures["save to keyword hit, p50, ms"], figures["save to keyword hit, p95, ms"] = (
            median(saves),
            percentile(saves, 0.95),
        )
        figures["disk, B/document"] = _disk_bytes(daemon) / size
        figures["resident, MB"] = _resident(daemon)
        figures["at most resident, MB"] = _peak(daemon)
        if models:
            figures |= _with_vectors(daemon, models, size)
        figures |= _restart(daemon)
        figures["at most resident after a start, MB"] = _peak(daemon)
        print(f"{size:,}: " + ", ".join(f"{key} {value:.4g}" for key, value in figures.items()), flush=True)
        return figures


def _searches(daemon: Throwaway) -> Figures:
    kinds: dict[str, list[dict[str, Any]]] = {
        "question": [{"query": each} for each in recombined.questions(QUERIES)],
        "one to four words": [{"query": each} for each in recombined.few_words(QUERIES)],
        "keystroke": [{"query": each[:-2], "prefix_last_term": True} for each in recombined.few_words(QUERIES, seed=4)],
    }
    figures: Figures = {}
    for kind, queries in kinds.items():
        figures |= _timed(daemon, kind, "search.lexical", queries)
    return figures


def _with_vectors(daemon: Throwaway, models: Path, size: int) -> Figures:
    synthetic_vectors.configure(daemon, models)
    synthetic_vectors.embed(daemon, "notes")
    _wait_until_reconciled(daemon)
    queries = [{"query": each, "expand": False, "rerank": False} for each in recombined.questions(QUERIES)]
    figures = _timed(daemon, "hybrid search", "search.query", queries)
    return figures | {
        "disk with vectors, B/document": _disk_bytes(daemon) / size,
        "resident with vectors, MB": _resident(daemon),
        "at most resident with vectors, MB": _peak(daemon),
    }


def _timed(daemon: Throwaway, kind: str, method: str, queries: Sequence[Mapping[str, Any]]) -> Figures:
    for query in queries[:10]:
        daemon.call(method, **query)
    took = [1000 * _seconds(partial(daemon.call, method, **query)) for query in queries]
    return {f"{kind}, p50, ms": median(took), f"{kind}, p95, ms": percentile(took, 0.95)}


def _save(daemon: Throwaway, folder: Path, number: int) -> float:
    """Return the milliseconds from the write of a file to its keyword hit."""
    word = f"marker{number}{time.time_ns():x}"
    (folder / f"saved-{number}.md").write_text(f"# Saved\n\n{word}\n")
    started = time.perf_counter()
    while not daemon.call("search.lexical", query=word)["hits"]:
        if time.perf_counter() - started > 30:
            raise TimeoutError(f"{word} was not found within 30 s")
    return 1000 * (time.perf_counter() - started)


def _restart(daemon: Throwaway) -> Figures:
    """Measure a start with unchanged files."""
    daemon.hang_up()
    daemon.gnoctl("daemon", "stop")
    started = time.perf_counter()
    daemon.gnoctl("search", "boundary layer")
    answered = time.perf_counter()
    _wait_until_reconciled(daemon)
    return {
        "start to first answer, ms": 1000 * (answered - started),
        "start to reconciled, ms": 1000 * (time.perf_counter() - started),
    }


def _wait_until_reconciled(daemon: Throwaway) -> None:
    started = time.perf_counter()
    while daemon.call("search.lexical", query="boundary layer", limit=1)["freshness"]["pending"]:
        if time.perf_counter() - started > 300:
            raise TimeoutError("the folder was not compared with the index within 5 min")
        time.sleep(0.02)


def _disk_bytes(daemon: Throwaway) -> int:
    """Return the size of the index with its log and its postings."""
    postings = (daemon.folder / "data").glob("index-default.postings/*")
    return int(daemon.call("index.status")["database_bytes"]) + sum(path.stat().st_size for path in postings)


def _resident(daemon: Throwaway) -> float:
    return psutil.Process(_pid(daemon)).memory_info().rss / 1e6


def _peak(daemon: Throwaway) -> float:
    """Return the largest resident size so far; nan if the system does not report it."""
    status = Path(f"/proc/{_pid(daemon)}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM:")), nan)


def _pid(daemon: Throwaway) -> int:
    return int(daemon.call("daemon.status")["pid"])


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Measure how figures grow with the number of documents.")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--models", type=Path, metavar="FOLDER")
    parser.add_argument("--draw", action="store_true", help=f"write {PLOT.relative_to(REPOSITORY)}")
    arguments = parser.parse_args()
    main(arguments.sizes, arguments.models and arguments.models.resolve(), is_drawn=arguments.draw)
