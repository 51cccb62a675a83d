"""Measure searching, indexing and idling. Prints figures.

    .venv/bin/python -m benchmarks.latency [client] [indexing] [filters] [idle]

Shared machines are noisy, so each measurement is repeated and the median printed. Times of whole processes are printed
with the time of a bare Python start in the same run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import psutil

from benchmarks.throwaway import SHARED, Throwaway, percentile, require_shared, throwaway, write_documents

QUERIES = [
    "protein expression in cells",
    "how do I sort a list",
    "boundary layer",
    "time sharing system",
    "real-time",
    "read csv file",
    "shock wave",
    "machine learning model",
]
COMMON_WORDS = ["the", "and", "of", "in", "is", "data", "number", "with"]


def client() -> None:
    """Measure `gnoctl search` as a whole process, and the daemon's share of it, on 5,000 documents."""
    with throwaway() as daemon, tempfile.TemporaryDirectory() as folder:
        write_documents(Path(folder), 5000)
        daemon.add(Path(folder), "docs")
        whole, inside, bare, msgspec = [], [], [], []
        gnoctl = str(Path(sys.executable).with_name("gnoctl"))
        for _ in range(4):
            for query in QUERIES:
                whole.append(_process(daemon, gnoctl, "search", query))
                bare.append(_process(daemon, sys.executable, "-c", "pass"))
                msgspec.append(_process(daemon, sys.executable, "-c", "import msgspec"))
                inside.append(float(daemon.call("search.lexical", query=query, limit=5)["took_ms"]))
        _row("gnoctl search, whole process, 5,000 documents", f"median {median(whole):.0f} ms", "<= 100 ms")
        _row("  a bare Python start in the same run", f"median {median(bare):.0f} ms", "")
        _row("  Python with msgspec in the same run", f"median {median(msgspec):.0f} ms", "")
        _row("  the daemon's share", f"median {median(inside):.1f} ms, p95 {percentile(inside, 0.95):.1f}", "<= 10 ms")


def indexing() -> None:
    """Measure the first index of dev-docs, and syncs without changes."""
    first, again, opened = [], [], 0
    for _ in range(3):
        with throwaway() as daemon:
            first.append(daemon.add(SHARED / "corpora" / "dev-docs", "dev-docs"))
            for _ in range(5):
                started = time.monotonic()
                report = daemon.call("index.sync")["collections"][0]
                again.append(time.monotonic() - started)
                opened += report["added"] + report["updated"]
            files = report["seen"]
    figure = f"median {median(first):.1f} s, best {min(first):.1f}"
    _row(f"first index of dev-docs ({files:,} files)", figure, "<= 12 s")
    _row("sync without changes", f"median {median(again):.3f} s, {opened} files read", "<= 0.3 s, none")


def filters() -> None:
    """Measure a search for a common word in 20,000 documents with a collection filter."""
    with throwaway() as daemon, tempfile.TemporaryDirectory() as folder:
        write_documents(Path(folder), 20_000)
        for part in sorted(Path(folder).iterdir())[:100]:
            target = Path(folder, "first") / part.name
            target.parent.mkdir(exist_ok=True)
            part.rename(target)
        rest = Path(folder, "second")
        rest.mkdir()
        for part in sorted(Path(folder).glob("[0-9]*")):
            part.rename(rest / part.name)
        seconds = daemon.add(Path(folder, "first"), "first") + daemon.add(rest, "second")
        _row("indexing 20,000 documents", f"{seconds:.1f} s", "")
        took, whole = [], []
        for _ in range(5):
            for word in COMMON_WORDS:
                for collection in ("first", "second"):
                    started = time.monotonic()
                    result = daemon.call("search.lexical", query=word, collections=[collection], limit=10)
                    whole.append((time.monotonic() - started) * 1000)
                    took.append(float(result["took_ms"]))
        figure = f"p50 {median(took):.1f} ms, p95 {percentile(took, 0.95):.1f}"
        figure += f" (over the socket p95 {percentile(whole, 0.95):.1f})"
        _row("lexical, common word, 20,000 documents, collection filter", figure, "p95 <= 40 ms")
        _memory(daemon, "20,000")


def idle() -> None:
    """Measure memory and CPU time of an idle daemon with 5,000 documents."""
    with throwaway() as daemon, tempfile.TemporaryDirectory() as folder:
        write_documents(Path(folder), 5000)
        daemon.add(Path(folder), "docs")
        for query in QUERIES * 3:
            daemon.call("search.lexical", query=query)
        _memory(daemon, "5,000")


def _memory(daemon: Throwaway, documents: str) -> None:
    process = psutil.Process(daemon.call("daemon.status")["pid"])
    time.sleep(35)  # until idle workers have ended
    before, switches = process.cpu_times(), process.num_ctx_switches()
    time.sleep(10)
    after, later = process.cpu_times(), process.num_ctx_switches()
    used = (after.user + after.system - before.user - before.system) * 10
    wakes = (later.voluntary - switches.voluntary) / 10
    resident = process.memory_info().rss / 1e6
    workers = [child.memory_info().rss / 1e6 for child in process.children()]
    _row(f"daemon resident, {documents} documents, no models", f"{resident:.0f} MB", "<= 150 MB")
    _row("  workers kept warm", ", ".join(f"{mb:.0f} MB" for mb in workers) or "none", "")
    _row("  CPU when idle, over 10 s", f"{used:.1f} %, main thread woke {wakes:.1f} times a second", "0 %")


def _process(daemon: Throwaway, *command: str) -> float:
    started = time.perf_counter()
    subprocess.run(command, env=daemon.environment, capture_output=True, check=True)
    return (time.perf_counter() - started) * 1000


def _row(what: str, figure: str, target: str) -> None:
    print(f"{what:60}  {figure:45}  {target}", flush=True)


def main() -> None:
    require_shared()
    parts: dict[str, Callable[[], None]] = {
        "client": client,
        "indexing": indexing,
        "filters": filters,
        "idle": idle,
    }
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name in sys.argv[1:] or list(parts):
        parts[name]()


if __name__ == "__main__":
    main()
