"""Measure the search latency of a daemon while it indexes hostile files. Prints figures.

    .venv/bin/python -m benchmarks.hostile_files [corpora] [bombs] [big] [empty] [--scale 0.1]

A client searches a healthy collection, alone and together with the others, while the daemon indexes each part:
`corpora`, all of ../shared/corpora/hostile and mixed-formats; `bombs`, archives that unpack to gigabytes and texts on
which naive regular expressions are very slow; `big`, texts of 12, 45 and 500 MB and a sparse file of 2 GB; `empty`,
100,000 empty files. `--scale` reduces the number of healthy and empty files.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import apsw
import psutil

from benchmarks import hostile_samples
from benchmarks.throwaway import SHARED, Throwaway, percentile, require_shared, throwaway, write_documents

PAUSE_S = 0.02
ALONE_S = 5.0
_WORD = re.compile(r"[a-z]{5,}")
_LINE = "The quick index walks over a lazy corpus and every sentence is searchable. "


class Searches(threading.Thread):
    """Runs successive searches and records their times."""

    def __init__(self, daemon: Throwaway, words: list[str]) -> None:
        super().__init__(daemon=True)
        self._client = Throwaway(daemon.folder)
        self._words = words
        self._done = threading.Event()
        self.alone: list[float] = []
        self.together: list[float] = []

    def run(self) -> None:
        dice = random.Random(7)
        while not self._done.wait(PAUSE_S):
            query = " ".join(dice.sample(self._words, 2))
            for took, chosen in ((self.alone, ["healthy"]), (self.together, [])):
                started = time.perf_counter()
                self._client.call("search.lexical", query=query, limit=10, collections=chosen)
                took.append((time.perf_counter() - started) * 1000)

    def stop(self) -> None:
        self._done.set()
        self.join()
        self._client.hang_up()


class Memory(threading.Thread):
    """Records the largest resident sizes of the daemon and of a child."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(pid)
        self._done = threading.Event()
        self.daemon_mb = self.worker_mb = 0.0

    def run(self) -> None:
        while not self._done.wait(0.1):
            self.daemon_mb = max(self.daemon_mb, self._process.memory_info().rss / 1e6)
            for child in self._process.children(recursive=True):
                try:
                    self.worker_mb = max(self.worker_mb, child.memory_info().rss / 1e6)
                except psutil.NoSuchProcess:
                    continue

    def stop(self) -> None:
        self._done.set()
        self.join()


class Bench:
    def __init__(self, daemon: Throwaway, folder: Path, scale: float) -> None:
        self._daemon = daemon
        self._folder = folder
        self._scale = scale
        self._pid = int(daemon.call("daemon.status")["pid"])
        write_documents(folder / "healthy", max(int(5000 * scale), 200))
        daemon.add(folder / "healthy", "healthy")
        self._words = _words_in(folder / "healthy")

    def corpora(self) -> None:
        folder = self._folder / "corpora"
        corpora = SHARED / "corpora"
        shutil.copytree(corpora / "mixed-formats", folder / "mixed-formats")
        shutil.copytree(corpora / "hostile" / "real", folder / "real")
        maker = [sys.executable, str(corpora / "hostile" / "make_hostile.py"), str(folder / "made")]
        subprocess.run(maker, check=True, stdout=subprocess.DEVNULL)
        self._index("corpora", folder)
        self._markers("corpora")

    def bombs(self) -> None:
        folder = self._folder / "bombs"
        hostile_samples.write(folder, hostile_samples.bombs() | hostile_samples.asking_for(Path("/etc/passwd")))
        hostile_samples.write(folder, hostile_samples.slow_texts())
        hostile_samples.write(folder, hostile_samples.exhausting_pdfs())
        self._index("bombs", folder)

    def big(self) -> None:
        folder = self._folder / "big"
        folder.mkdir()
        hostile_samples.odd_kinds(folder / "odd", Path("/etc/passwd"))
        for megabytes in (12, 45, 500):
            with (folder / f"{megabytes}-MB.txt").open("w") as file:
                for number in range(megabytes * 10):
                    file.write(f"Part {number}. " + _LINE * 1330 + "\n")
                file.write(f"endword{megabytes}\n")
        self._index("big", folder)
        for megabytes in (12, 45):
            took = []
            for _ in range(10):
                started = time.perf_counter()
                found = self._daemon.call("search.lexical", query=f"searchable endword{megabytes}", limit=3)["hits"]
                took.append((time.perf_counter() - started) * 1000)
            line = found[0]["line"] if found else None
            print(f"  hit in the text of {megabytes} MB: line {line}, p50 {median(took):.0f} ms, max {max(took):.0f}")

    def empty(self) -> None:
        folder = self._folder / "empty"
        count = int(100_000 * self._scale)
        folder.mkdir()
        for number in range(count):
            (folder / f"{number:06d}.md").touch()
        self._index("empty", folder)
        started = time.perf_counter()
        self._daemon.call("index.status", errors=True)
        print(f"  status with {count:,} empty files: {time.perf_counter() - started:.2f} s")

    def _index(self, name: str, folder: Path) -> None:
        idle, searches = Searches(self._daemon, self._words), Searches(self._daemon, self._words)
        memory = Memory(self._pid)
        idle.start()
        time.sleep(ALONE_S)
        idle.stop()
        searches.start()
        memory.start()
        took = self._daemon.add(folder, name)
        searches.stop()
        memory.stop()
        print(f"{name}: {took:.1f} s; peak RSS daemon {memory.daemon_mb:.0f} MB, a worker {memory.worker_mb:.0f} MB")
        print(f"  load {os.getloadavg()[0]:.1f}")
        measured = (("healthy", searches.alone), ("all", searches.together), ("all, on an idle daemon", idle.together))
        for what, values in measured:
            figures = f"p50 {median(values):.1f} ms, p95 {percentile(values, 0.95):.1f}, max {max(values):.0f}"
            print(f"  {len(values):,} searches of {what}: {figures}  (target p95 <= 100)")
        self._outcomes(name)

    def _outcomes(self, name: str) -> None:
        indexed: Counter[str] = Counter()
        reasons: Counter[tuple[str, str]] = Counter()
        database = self._daemon.call("index.status")["database"]
        connection = apsw.Connection(database, flags=apsw.SQLITE_OPEN_READONLY)
        for (converter,) in connection.execute(
            "SELECT converter FROM documents d JOIN collections c ON c.id = d.collection_id"
            " WHERE c.name = ? AND d.active",
            (name,),
        ):
            indexed[str(converter).partition("/")[0]] += 1
        for kind, message in connection.execute(
            "SELECT kind, message FROM ingest_errors e JOIN collections c ON c.id = e.collection_id WHERE c.name = ?",
            (name,),
        ):
            reasons[kind, message] += 1
        connection.close()
        print(f"  indexed {indexed.total():,}: {', '.join(f'{kind} {n}' for kind, n in indexed.most_common())}")
        kinds: Counter[str] = Counter()
        for (kind, _), count in reasons.items():
            kinds[kind] += count
        print(f"  not indexed {kinds.total():,}: {', '.join(f'{kind} {n}' for kind, n in kinds.most_common())}")
        for (kind, message), count in sorted(reasons.items()):
            print(f"    {count:6,}  {kind:12} {message}")

    def _markers(self, name: str) -> None:
        """Search for each marker word of the generated files."""
        missed = [
            number
            for number in range(41, 96)
            if not self._daemon.call("search.lexical", query=f"zqx{number}", limit=1, collections=[name])["hits"]
        ]
        print(f"  markers zqx41 to zqx95: {55 - len(missed)} found; not: {' '.join(map(str, missed))}")


def _words_in(folder: Path) -> list[str]:
    texts = (path.read_text() for path in sorted(folder.rglob("*.md"))[:300])
    return sorted({word for text in texts for word in _WORD.findall(text)})


@contextmanager
def _machine() -> Iterator[tuple[Throwaway, Path]]:
    with throwaway() as daemon, tempfile.TemporaryDirectory(prefix="gnod-bench-", dir="/tmp") as name:
        daemon.call("index.init")
        (daemon.folder / "config" / "index.yml").write_text("models: {embed: none}\ncollections: []\n")
        yield daemon, Path(name)


def main() -> None:
    parts = ["corpora", "bombs", "big", "empty"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(parts))
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(parts):
        sys.exit(f"unknown part {', '.join(sorted(unknown))}: choose from {', '.join(parts)}")
    require_shared()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, scale {options.scale}", flush=True)
    with _machine() as (daemon, folder):
        bench = Bench(daemon, folder, options.scale)
        for name in options.parts or parts:
            part: Callable[[], None] = getattr(bench, name)
            part()
            sys.stdout.flush()


if __name__ == "__main__":
    main()
