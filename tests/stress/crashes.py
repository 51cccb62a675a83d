"""Kill the daemon and its workers at random moments, hundreds of times, and check after each kill that no data is lost.

    python -m tests.stress.crashes --kills 500 --seed 1

After some kills the run damages the end of the write-ahead log, as a power cut would. At intervals it waits until the
daemon is quiescent and compares the index with the disk, with what a subscriber received, and with the index of an
undisturbed daemon. It stops at the first fault, prints it and keeps the folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil

from benchmarks.throwaway import cached_model
from tests.end_to_end.index_contents import compare_contents, compare_vectors, scratch
from tests.end_to_end.index_faults import faults_left_behind
from tests.machine import Machine
from tests.stress import torn_log
from tests.stress.churn import Churn
from tests.stress.follower import Follower
from tests.stress.quiescence import faults_when_quiescent, wait_until_quiescent

REST_EVERY = 10
COMPARE_EVERY = 100
QUIET_LIMIT_S = 600.0
# The first estimate of how long a start takes; each start updates it.
_START_S = 1.0


class Fault(Exception):
    """Data was lost or is wrong."""


class Crashes:
    """One run. `kills` counts the kills by the daemon's activity; `torn` counts the damaged logs."""

    def __init__(self, folder: Path, model: Path, seed: int, documents: int) -> None:
        self.kills: Counter[str] = Counter()
        self.torn = 0
        self.compared = 0
        self._chance = random.Random(seed)
        self._machine = Machine(folder)
        self._files = Churn(self._machine.notes, random.Random(seed + 1), documents)
        self._files.fill()
        self._newborn = _newborn(folder / "n", self._machine.notes)
        self._machine.configure(embed=model)
        self._daemon: subprocess.Popen[bytes] | None = None
        self._start_s = _START_S
        self._settled: dict[Path, tuple[os.stat_result, str]] = {}
        self.follower = Follower(self._machine.socket)
        self._ways: list[tuple[float, Callable[[], None]]] = [
            (42, self._while_working),
            (20, self._while_starting),
            (12, self._while_reconciling),
            (8, self._while_compacting),
            (12, self._a_worker),
            (6, self._while_creating),
        ]

    def run(self, kills: int, report: Callable[[str], None] = lambda _: None) -> None:
        """Raises Fault, and AssertionError or OSError when the daemon does not serve."""
        self._rest()
        while self.kills.total() < kills:
            (way,) = self._chance.choices([way for _, way in self._ways], [weight for weight, _ in self._ways])
            way()
            self.kills[way.__name__.strip("_").replace("_", " ")] += 1
            done = self.kills.total()
            if done % REST_EVERY == 0:
                self._rest()
                report(f"{done} kills, {self.torn} torn logs, {len(self._settled)} files, start {self._start_s:.2f} s")
            if done % COMPARE_EVERY == 0:
                self._compare()
        self._rest()
        self._compare()
        self._compare_newborn()

    def close(self) -> None:
        self.follower.close()
        for machine in (self._machine, self._newborn):
            machine.hang_up()
        if self._daemon is not None:
            self._daemon.terminate()
            self._daemon.wait(30)

    def complaints(self) -> Counter[str]:
        """Return the warnings and errors in the daemon's logs, by event."""
        found: Counter[str] = Counter()
        for log in self._machine.folder.rglob("*.log"):
            for line in log.read_text().splitlines():
                try:
                    event = json.loads(line)
                except json.JSONDecodeError:
                    found[f"{log.name}: {line[:100]}"] += 1
                    continue
                if event.get("level", "").lower() in ("warning", "error", "critical"):
                    found[f"{event['level']} {event['event']}"] += 1
        return found

    # The daemon's activity at the kill.

    def _while_working(self) -> None:
        self._up()
        self._pass_time(self._chance.uniform(0, 2.0), self._chance.choice([1, 3, 10, 40]))
        self._kill()

    def _while_starting(self) -> None:
        self._down()
        self._files.change(self._chance.choice([0, 1, 10]))
        self._launch()
        time.sleep(self._chance.uniform(0, 1.3 * self._start_s))
        self._kill()

    def _while_reconciling(self) -> None:
        self._down()
        self._files.change(60)
        self._up()
        time.sleep(self._chance.uniform(0, 1.0))
        self._kill()

    def _while_compacting(self) -> None:
        self._up()
        self._files.change(self._chance.choice([0, 20]))
        with self._machine.connect() as client:
            client.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "index.cleanup"}\n')
            time.sleep(self._chance.uniform(0, 0.3))
            self._kill()

    def _a_worker(self) -> None:
        """Kill a worker; the daemon continues."""
        daemon = psutil.Process(self._up().pid)
        self._pass_time(self._chance.uniform(0, 1.0), 20)
        if workers := daemon.children():
            self._chance.choice(workers).kill()

    def _while_creating(self) -> None:
        """Kill the daemon of a second, empty index while it creates the schema."""
        shutil.rmtree(self._newborn.database.parent, ignore_errors=True)
        self._newborn.database.parent.mkdir(mode=0o700)
        log = self._newborn.database.with_name(self._newborn.database.name + "-wal")
        daemon = _launch(self._newborn)
        began = time.monotonic()
        while not log.exists():
            time.sleep(0.001)
            if time.monotonic() > began + 60:
                raise Fault("the daemon does not create its index")
        time.sleep(self._chance.choice([0, 0.01, 0.05, 0.3]) * self._chance.random())
        daemon.kill()
        daemon.wait()
        self._must_be_none(faults_left_behind(self._newborn.database, {}))

    # Start and stop.

    def _up(self) -> subprocess.Popen[bytes]:
        """Start the daemon unless it runs, and wait until it serves."""
        if self._daemon is None:
            self._launch()
        assert self._daemon is not None
        began = time.monotonic()
        while not self._machine.is_serving():
            if self._daemon.poll() is not None:
                raise Fault(f"the daemon does not start: {(self._machine.folder / 'stderr').read_text()[-2000:]}")
            time.sleep(0.01)
            if time.monotonic() > began + 60:
                raise Fault("the daemon does not serve")
        return self._daemon

    def _launch(self) -> None:
        self._machine.hang_up()
        self._daemon = _launch(self._machine)

    def _down(self) -> None:
        if self._daemon is not None:
            self._kill()

    def _kill(self) -> None:
        """Kill the daemon and check its database."""
        assert self._daemon is not None
        try:
            children = psutil.Process(self._daemon.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            children = []
        self._daemon.kill()
        self._daemon.wait()
        self._daemon = None
        self._machine.hang_up()
        _, left = psutil.wait_procs(children, timeout=10)
        self._must_be_none([f"a worker outlived the daemon: {child}" for child in left])
        database = self._machine.database
        if database.exists():
            self._must_be_none(faults_left_behind(database, self._kept()))
            if self._chance.random() < 0.25 and torn_log.tear(database, self._chance):
                self.torn += 1
                self._settled.clear()
                self._must_be_none(faults_left_behind(database, {}))

    def _pass_time(self, seconds: float, changes: int) -> None:
        """Make this many changes within the time."""
        until = time.monotonic() + seconds
        self._files.change(changes - changes // 2)
        for _ in range(changes // 2):
            time.sleep(max(0, until - time.monotonic()) / (changes // 2 + 1))
            self._files.change()
        time.sleep(max(0, until - time.monotonic()))

    def _kept(self) -> dict[tuple[str, str], str]:
        """Return the files that did not change since the index was quiescent."""
        kept = {}
        for path, (before, digest) in self._settled.items():
            if path.exists() and path.stat()[:] == before[:]:
                kept["notes", str(path.relative_to(self._machine.notes))] = digest
        return kept

    # Quiescence.

    def _rest(self) -> None:
        """Wait until the daemon is quiescent, and check everything."""
        began = time.monotonic()
        if self._daemon is None:
            self._up()
            self._start_s = time.monotonic() - began
        self._up()
        if reason := wait_until_quiescent(self._machine, QUIET_LIMIT_S):
            raise Fault(reason)
        listed = self._machine.call("document.list", limit=100_000)["documents"]
        self._must_be_none(faults_when_quiescent(self._machine, self.follower, listed))
        known_paths = {self._machine.notes / each["path"] for each in listed}
        self._settled = {
            path: (path.stat(), hashlib.sha256(path.read_bytes()).hexdigest()) for path in known_paths if path.exists()
        }

    def _compare(self) -> None:
        """Compare the index with the index of an undisturbed daemon."""
        self._machine.call("index.cleanup")
        with scratch(self._machine) as fresh:
            compare_contents(self._machine.database, fresh.database, of_models=True)
            compare_vectors(self._machine.database, fresh.database)
        self.compared += 1

    def _compare_newborn(self) -> None:
        """Check the index whose daemons were killed while they created it."""
        self._newborn.start()
        self._newborn.call("index.sync")
        compare_contents(self._newborn.database, self._machine.database)
        self._newborn.end()

    def _must_be_none(self, faults: list[str]) -> None:
        if faults:
            raise Fault("\n".join(faults[:20]))


def _newborn(folder: Path, notes: Path) -> Machine:
    folder.mkdir()
    machine = Machine(folder)
    machine.database.parent.mkdir()
    machine.config.parent.mkdir()
    machine.config.write_text(f"models: {{embed: none}}\ncollections:\n  - {{name: notes, path: {notes}}}\n")
    return machine


def _launch(machine: Machine) -> subprocess.Popen[bytes]:
    with (machine.folder / "stderr").open("wb") as output:
        command = [sys.executable, "-m", "gnod"]
        return subprocess.Popen(
            command, env=machine.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--model", type=Path, default=cached_model())
    options = parser.parse_args()
    if options.model is None:
        sys.exit("no model found: run a test with `minilm_onnx` once, or pass --model")
    folder = Path(tempfile.mkdtemp(prefix="gnod-", dir="/tmp"))
    print(f"seed {options.seed}, {options.kills} kills, {options.documents} documents, in {folder}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    began = time.monotonic()
    run = Crashes(folder, options.model, options.seed, options.documents)
    try:
        run.run(options.kills, lambda text: print(f"{time.monotonic() - began:6.0f} s  {text}", flush=True))
    except BaseException:
        print(f"{run.kills.total()} kills: {dict(run.kills)}; folder kept", flush=True)
        raise
    finally:
        run.close()
    print(f"{run.kills.total()} kills in {time.monotonic() - began:.0f} s, no data lost: {dict(run.kills)}")
    print(f"torn logs: {run.torn}; equal to an undisturbed run in {run.compared} comparisons")
    print(f"the subscriber resumed {run.follower.resumed} times and was reset {run.follower.resets} times")
    print(f"warnings and errors in the logs: {dict(run.complaints())}")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
