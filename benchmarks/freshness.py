"""Measure the delay between a change on disk and the index, and the cost of watching. Prints figures.

    .venv/bin/python -m benchmarks.freshness [keyword] [vector] [burst] [stopped] [start] [idle] [--scale 0.1]

`--scale` reduces all counts for a trial run. The time of a save starts when the write ends, and stops when a reply over
the socket contains the change (polled every 5 ms).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks.throwaway import Throwaway, cached_model, percentile, require_shared, throwaway, write_documents

POLL_S = 0.005
SAVES = 60
VECTOR_SAVES = 20
BURSTS = 3
STARTS = 3
IDLE_S = 20.0


class Bench:
    """`scale` reduces the counts."""

    def __init__(self, scale: float, model: Path | None) -> None:
        self._scale = scale
        self._model = model

    def keyword(self) -> None:
        """Measure from a save to a keyword hit, with 10,000 watched files."""
        files = self._count(10_000)
        with _collection(files) as (daemon, folder):
            took: dict[str, list[float]] = {}
            existing = sorted(folder.rglob("*.md"))
            for number in range(self._count(SAVES, at_least=4)):
                kind = ["in place", "atomic", "new file", "new folder"][number % 4]
                path = {
                    "in place": existing[number * 7 % files],
                    "atomic": existing[number * 11 % files],
                    "new file": folder / f"new-{number}.md",
                    "new folder": folder / f"new-{number}" / "sub" / "a.md",
                }[kind]
                word = f"savedword{number}"
                _save(path, f"# Saved\n\nThe word is {word}.\n", atomically=kind == "atomic")
                took.setdefault(kind, []).append(_until(lambda w=word: _paths(daemon, w)) * 1000)  # type: ignore[misc]
                time.sleep(0.3)
            every = [ms for kind in took.values() for ms in kind]
            _row(
                f"save to keyword hit, {files:,} files watched, {len(every)} saves",
                f"p50 {median(every):.0f} ms, p95 {percentile(every, 0.95):.0f}, max {max(every):.0f}",
                "p50 <= 300 ms, p95 <= 1000",
            )
            for kind, values in took.items():
                _row(f"  {kind}", f"p50 {median(values):.0f} ms, max {max(values):.0f}", "")

    def vector(self) -> None:
        """Measure from a save to a vector hit, with the embedding model of the preset `mini`."""
        if self._model is None:
            print("save to vector hit: skipped, no model found (run a test with `minilm_onnx` once, or pass --model)")
            return
        files = self._count(300)
        with _collection(files, self._model) as (daemon, folder):
            daemon.call("index.embed")
            took: list[float] = []
            cold: list[float] = []
            for number in range(self._count(VECTOR_SAVES, at_least=3)):
                path = folder / f"meaning-{number}.md"
                started = time.monotonic()
                _save(path, f"# Report {number}\n\nThe quartermaster of ship {number} counts the barrels of rum.\n")
                query = f"Report {number}: the quartermaster of ship {number} counts the barrels of rum."
                _until(lambda q=query, p=path.name: p in _paths(daemon, q, "search.vector"), every_s=0.05)  # type: ignore[misc]
                (cold if number == 0 else took).append(time.monotonic() - started)
                time.sleep(0.5)
            figure = f"p50 {median(took):.2f} s, p95 {percentile(took, 0.95):.2f}, first {cold[0]:.2f}"
            _row(f"save to vector hit, mini, {files:,} files, {len(took) + 1} saves", figure, "p95 <= 3 s")

    def burst(self) -> None:
        """Measure 200 simultaneous edits."""
        edits, files = self._count(200), self._count(10_000)
        with _collection(files) as (daemon, folder):
            took = []
            existing = sorted(folder.rglob("*.md"))
            for number in range(BURSTS):
                word = f"burstword{number}"
                for path in existing[number * edits : (number + 1) * edits]:
                    _save(path, f"# Edit of {path.name}\n\nThe word is {word}.\n")
                took.append(_until(lambda w=word: _total(daemon, w) == edits))  # type: ignore[misc]
                time.sleep(1)
            _row(f"burst of {edits} edits, all found", f"{_seconds(took)}", "<= 5 s")

    def stopped(self) -> None:
        """Measure changes to 50,000 files while the daemon is stopped with SIGSTOP."""
        files = self._count(50_000)
        left = _change_while_stopped(files, keep=20)
        _row(f"SIGSTOP; {files:,} created, 1/3 renamed, 19/20 deleted", f"{left:.1f} s", "<= 60 s")
        left = _change_while_stopped(files, keep=1)
        _row(f"SIGSTOP; {files:,} small files created, 1/3 renamed, all stay", f"{left:.1f} s", "<= 60 s")

    def start(self) -> None:
        """Measure from the start of the process until an unchanged collection is reconciled."""
        files = self._count(20_000)
        with _collection(files) as (daemon, _):
            took, serving, synced = [], [], []
            for _ in range(STARTS):
                daemon.hang_up()
                daemon.gnoctl("daemon", "stop")
                began, wall = time.monotonic(), datetime.now(UTC)
                daemon.gnoctl("daemon", "start")
                serving.append(time.monotonic() - began)
                took.append(serving[-1] + _until(lambda w=wall: _is_reconciled(daemon, w), every_s=0.02))  # type: ignore[misc]
                synced.append(_last_sync_s(daemon))
            _row(f"start with {files:,} unchanged files, reconciled", _seconds(took), "<= 2 s")
            _row("  until gnoctl daemon start returns", _seconds(serving), "")
            _row("  the sync alone, from the log", _seconds(synced), "")

    def idle(self) -> None:
        """Measure wake-ups and CPU time of an idle daemon and its children."""
        files = self._count(10_000)
        with _collection(files) as (daemon, _):
            _paths(daemon, "protein")
            pid = int(daemon.call("daemon.status")["pid"])
            daemon.hang_up()
            time.sleep(IDLE_S + 15)  # until idle workers have ended
            before, cpu = _switches(pid), _cpu_s(pid)
            time.sleep(IDLE_S)
            after, used = _switches(pid), _cpu_s(pid) - cpu
            woken = {task: after[task] - before.get(task, 0) for task in after}
            total = sum(woken.values()) / IDLE_S
            _row(
                f"idle, {files:,} files, {len(after)} threads, over {IDLE_S:.0f} s", f"{total:.2f} wake-ups/s", "< 1/s"
            )
            for task, times in sorted(woken.items(), key=lambda each: -each[1])[:5]:
                _row(f"  {task}", f"{times / IDLE_S:.2f}/s", "")
            _row("  processor", f"{used / IDLE_S * 100:.2f} %", "0 %")

    def _count(self, full: int, at_least: int = 1) -> int:
        return max(int(full * self._scale), at_least)


@contextmanager
def _collection(files: int, model: Path | None = None) -> Iterator[tuple[Throwaway, Path]]:
    """Yield a daemon that watches a folder with this many real, indexed documents."""
    with throwaway() as daemon, tempfile.TemporaryDirectory(prefix="gnod-bench-", dir="/tmp") as name:
        folder = Path(name)
        if files:
            write_documents(folder, files)
        daemon.call("index.init")
        config = daemon.folder / "config" / "index.yml"
        embed = f"file:{model}" if model else "none"
        config.write_text(f"models: {{embed: '{embed}'}}\ncollections:\n  - {{name: docs, path: {folder}}}\n")
        daemon.call("index.sync")
        _until(lambda: _is_quiet(daemon))
        yield daemon, folder


def _change_while_stopped(files: int, keep: int) -> float:
    """Create `files` files in 500 folders while the daemon is stopped; rename every third and keep one in `keep`.

    Return the seconds from SIGCONT until status reports that the index equals the disk.
    """
    with _collection(0) as (daemon, folder):
        pid = int(daemon.call("daemon.status")["pid"])
        os.kill(pid, signal.SIGSTOP)
        try:
            stays = 0
            for number in range(files):
                path = folder / f"{number % 500:03d}" / f"{number}.md"
                path.parent.mkdir(exist_ok=True)
                path.write_text(f"# Note {number}\n\nA few words, and number n{number}.\n")
                if number % 3 == 0:
                    path = path.rename(path.with_name(f"renamed-{number}.md"))
                if number % keep:
                    path.unlink()
                else:
                    stays += 1
        finally:
            os.kill(pid, signal.SIGCONT)
        # Poll rarely, because each status request makes the daemon walk the folder.
        return _until(lambda: _is_quiet(daemon) and _documents(daemon) == stays, every_s=0.5, timeout_s=600)


def _save(path: Path, text: str, *, atomically: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if atomically:
        path.with_name(f".{path.name}.tmp").write_text(text)
        path.with_name(f".{path.name}.tmp").replace(path)
    else:
        path.write_text(text)


def _paths(daemon: Throwaway, query: str, method: str = "search.lexical") -> list[str]:
    return [hit["path"] for hit in daemon.call(method, query=query, limit=10)["hits"]]


def _total(daemon: Throwaway, query: str) -> int:
    return int(daemon.call("search.lexical", query=query, limit=1)["total"])


def _documents(daemon: Throwaway) -> int:
    return int(daemon.call("index.status")["documents"])


def _is_quiet(daemon: Throwaway) -> bool:
    status = daemon.call("index.status")
    (docs,) = status["collections"]
    return not (status["syncing"] or docs["pending"]) and docs["watch"] != "off"


def _is_reconciled(daemon: Throwaway, since: datetime) -> bool:
    (docs,) = daemon.call("index.status")["collections"]
    at = docs.get("last_reconcile") or docs["last_sync"]
    return bool(at and datetime.fromisoformat(at) >= since.replace(microsecond=0) and not docs["pending"])


def _last_sync_s(daemon: Throwaway) -> float:
    """Return the duration of the last sync from the daemon's log."""
    log = Path(daemon.call("daemon.status")["log_file"])
    events = [json.loads(line) for line in log.read_text().splitlines()]
    return float([event["took_s"] for event in events if event["event"] == "sync.done"][-1])


def _until(condition: Callable[[], Any], *, every_s: float = POLL_S, timeout_s: float = 120) -> float:
    """Return the seconds until the condition is true."""
    started = time.monotonic()
    while not condition():
        if time.monotonic() - started > timeout_s:
            print(f"stopped waiting after {timeout_s:.0f} s")
            return float("inf")
        time.sleep(every_s)
    return time.monotonic() - started


def _processes(pid: int) -> list[psutil.Process]:
    daemon = psutil.Process(pid)
    return [daemon, *daemon.children(recursive=True)]


def _switches(pid: int) -> dict[str, int]:
    """Return the voluntary context switches of each thread."""
    found = {}
    for process in _processes(pid):
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            lines = (task / "status").read_text().splitlines()
            fields = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
            found[f"{process.pid}/{task.name} {fields['Name']}"] = int(fields["voluntary_ctxt_switches"])
    return found


def _cpu_s(pid: int) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in _processes(pid))


def _seconds(values: list[float]) -> str:
    return f"median {median(values):.2f} s, worst {max(values):.2f} ({len(values)} times)"


def _row(what: str, figure: str, target: str) -> None:
    print(f"{what:68}  {figure:45}  {target}", flush=True)


def main() -> None:
    parts = ["keyword", "vector", "burst", "stopped", "start", "idle"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--model", type=Path, default=cached_model())
    options = parser.parse_args()
    if unknown := set(options.parts) - set(parts):
        sys.exit(f"unknown part {', '.join(sorted(unknown))}: choose from {', '.join(parts)}")
    require_shared()
    free = shutil.disk_usage("/tmp").free / 1e9
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, load {load:.1f}, {platform.release()}, {free:.0f} GB free, scale {options.scale}")
    bench = Bench(options.scale, options.model)
    for name in options.parts or parts:
        getattr(bench, name)()


if __name__ == "__main__":
    main()
