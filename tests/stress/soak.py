"""Run a daemon under mixed load for minutes, and check that its memory, descriptors and threads do not grow.

    python -m tests.stress.soak --minutes 10

Files change, clients run every kind of search, chunks are embedded, workers are killed, clients connect, cancel and
disconnect, subscribers follow, collections are added and removed, the configuration is reloaded. Prints a line every
half minute and a table at the end. The first third is warm-up. Growth compares the median of the last third with the
median of the second: a leak grows between them, a peak does not count.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import psutil

from benchmarks.throwaway import cached_model, percentile
from tests.machine import Machine
from tests.stress.churn import Churn
from tests.stress.follower import Follower
from tests.stress.quiescence import faults_when_quiescent, wait_until_quiescent
from tests.stress.soak_clients import Clients

REPORT_EVERY_S = 30.0
REST_EVERY_S = 60.0
KILL_EVERY_S = 20.0
INVITE_EVERY_S = 25.0
QUIET_LIMIT_S = 600.0
MAX_GROWTH = 0.05
# The number of descriptors and threads depends on the current requests.
FEW = 3
# A checkpoint is due at 8 MB; active readers delay it.
MAX_LOG_MB = 64.0
# Log events of killed workers.
EXPECTED = {"inference.crashed", "inference.ended", "embedding.failed", "model.not_measured"}


class Sample(NamedTuple):
    """The daemon at one moment, and the memory of the largest worker of each kind."""

    at: float
    resident_mb: float
    descriptors: int
    threads: int
    database_mb: float
    log_mb: float
    converter_mb: float
    inference_mb: float


class Soak:
    """One run. `failures` lists its faults."""

    def __init__(self, folder: Path, model: Path, answering: Path | None, seed: int, documents: int) -> None:
        self.samples: list[Sample] = []
        self.failures: list[str] = []
        self._done: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._machine = Machine(folder)
        self._files = Churn(self._machine.notes, random.Random(seed + 1), documents)
        self._guest = Churn(folder / "guest", random.Random(seed + 2), 20)
        for each in (self._files, self._guest):
            each.fill()
        self._machine.configure(embed=model, answer=answering)
        self._machine.start()
        self._daemon = psutil.Process(self._machine.call("daemon.status")["pid"])
        self._clients = Clients(self._machine.socket, seed, may_ask=answering is not None)
        self._follower = Follower(self._machine.socket)

    def run(self, seconds: float, report: Callable[[str], None] = print) -> None:
        """Run the load for this time; check the quiescent index at intervals and at the end."""
        self._rest()
        self._clients.begin()
        began = time.monotonic()
        turns: list[tuple[float, Callable[[], None]]] = [
            (REPORT_EVERY_S, lambda: report(self._line())),
            (KILL_EVERY_S, self._kill_a_worker),
            (INVITE_EVERY_S, self._invite),
            (REST_EVERY_S, self._rest),
        ]
        due = [began + every for every, _ in turns]
        while (now := time.monotonic()) < began + seconds:
            self.samples.append(self._sample(now - began))
            self._files.change(self._chance.choice([0, 1, 1, 5, 30]))
            for number, (every, turn) in enumerate(turns):
                if now > due[number]:
                    due[number] = now + every
                    turn()
            time.sleep(self._chance.uniform(0, 1.0))
        self._clients.end()
        self._rest()
        self._judge()

    def close(self) -> None:
        self._follower.close()
        self._machine.end()

    def table(self) -> list[str]:
        """Return the measurements, one per line."""
        columns = {
            "memory of the daemon, MB": "resident_mb",
            "descriptors of the daemon": "descriptors",
            "threads of the daemon": "threads",
            "database, MB": "database_mb",
            "write-ahead log, MB": "log_mb",
            "memory of the converter, MB": "converter_mb",
            "memory of the inference worker, MB": "inference_mb",
        }
        lines = [f"{'':36} {'median of 2nd third':>20} {'of last third':>14} {'growth':>8} {'most':>8}"]
        for title, column in columns.items():
            before, after, most = self._growth(column)
            growth = f"{(after / before - 1) * 100:+.1f} %" if before else ""
            lines.append(f"{title:36} {before:20.1f} {after:14.1f} {growth:>8} {most:8.1f}")
        for method, took in sorted(self._clients.took_ms.items()):
            lines.append(
                f"{method:16} {len(took):6} times, p50 {median(took):6.0f} ms, p95 {percentile(took, 0.95):6.0f},"
                f" max {max(took):6.0f}"
            )
        lines.append(
            f"{dict(self._done)}, cancelled {self._clients.cancelled}, hung up {self._clients.hung_up},"
            f" answers interrupted {self._clients.interrupted}"
        )
        return [*lines, f"warnings and errors in the log: {dict(self._complaints())}"]

    def _invite(self) -> None:
        """Add a collection, change it and remove it at a random moment; reload the configuration."""
        self._machine.call("collection.add", path=str(self._guest.root), name="guest")
        time.sleep(self._chance.uniform(0, 3.0))
        self._guest.change(10)
        time.sleep(self._chance.uniform(0, 1.0))
        self._machine.call("collection.remove", name="guest")
        self._daemon.send_signal(signal.SIGHUP)
        self._done["collections added and removed"] += 1

    def _kill_a_worker(self) -> None:
        if workers := self._daemon.children():
            worker = self._chance.choice(workers)
            self._done[f"{_kind(worker)} killed"] += 1
            worker.kill()

    def _rest(self) -> None:
        """Wait until the daemon is quiescent while searches continue, and compare the index with the disk."""
        if reason := wait_until_quiescent(self._machine, QUIET_LIMIT_S):
            self.failures.append(reason)
            return
        listed = self._machine.call("document.list", limit=100_000)["documents"]
        self.failures += faults_when_quiescent(self._machine, self._follower, listed)
        self._done["rests, all equal" if not self.failures else "rests"] += 1

    def _sample(self, at: float) -> Sample:
        largest: Counter[str] = Counter()
        for worker in self._daemon.children():
            try:
                largest[_kind(worker)] = max(largest[_kind(worker)], worker.memory_info().rss)
            except psutil.NoSuchProcess:
                continue
        database = self._machine.database
        log = database.with_name(database.name + "-wal")
        return Sample(
            at,
            self._daemon.memory_info().rss / 1e6,
            self._daemon.num_fds(),
            self._daemon.num_threads(),
            database.stat().st_size / 1e6,
            log.stat().st_size / 1e6 if log.exists() else 0.0,
            largest["converter"] / 1e6,
            largest["inference worker"] / 1e6,
        )

    def _growth(self, column: str) -> tuple[float, float, float]:
        """Return the median of the second third, the median of the last third, and the maximum."""
        values: list[float] = [getattr(sample, column) for sample in self.samples]
        third = max(len(values) // 3, 1)
        return median(values[third : 2 * third] or values), median(values[-third:]), max(values)

    def _judge(self) -> None:
        self.failures += self._clients.failures
        for column in ("resident_mb", "descriptors", "threads"):
            before, after, _ = self._growth(column)
            if after > before * (1 + MAX_GROWTH) and after > before + FEW:
                self.failures.append(f"{column} grew from {before:.1f} to {after:.1f}")
        if max(sample.log_mb for sample in self.samples) > MAX_LOG_MB:
            self.failures.append(f"the write-ahead log grew beyond {MAX_LOG_MB:.0f} MB")
        if unexpected := self._complaints().keys() - EXPECTED:
            self.failures.append(f"unexpected log events: {sorted(unexpected)}")

    def _complaints(self) -> Counter[str]:
        """Return the warnings and errors in the daemon's log, by event."""
        events: list[dict[str, Any]] = []
        for log in self._machine.database.parent.joinpath("logs").glob("*.log"):
            events += [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
        return Counter(str(each["event"]) for each in events if each["level"] in ("warning", "error", "critical"))

    def _line(self) -> str:
        now = self.samples[-1]
        answers = sum(map(len, self._clients.took_ms.values()))
        return (
            f"{now.at:5.0f} s  daemon {now.resident_mb:.1f} MB, {now.descriptors} descriptors, {now.threads} threads;"
            f" converter {now.converter_mb:.0f} MB, inference {now.inference_mb:.0f} MB; database {now.database_mb:.1f}"
            f" MB, log {now.log_mb:.1f}; {answers} answers, {len(self.failures + self._clients.failures)} failures"
        )


def _kind(worker: psutil.Process) -> str:
    try:
        return "inference worker" if "gnod.models.run.worker" in worker.cmdline() else "converter"
    except psutil.Error:
        return "converter"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--model", type=Path, default=cached_model())
    parser.add_argument("--answering", type=Path, default=cached_model("smollm"))
    options = parser.parse_args()
    if options.model is None:
        sys.exit("no model found: run a test with `minilm_onnx` once, or pass --model")
    folder = Path(tempfile.mkdtemp(prefix="gnod-", dir="/tmp"))
    print(f"seed {options.seed}, {options.minutes:g} minutes, {options.documents} documents, in {folder}", flush=True)
    soak = Soak(folder, options.model, options.answering, options.seed, options.documents)
    try:
        soak.run(options.minutes * 60, lambda line: print(line, flush=True))
    finally:
        soak.close()
    print("\n".join(soak.table()))
    if soak.failures:
        print("\n".join(["", f"{len(soak.failures)} failures; folder kept:", *soak.failures[:40]]))
        sys.exit(1)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
