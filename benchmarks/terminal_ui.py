"""Measure `gnoctl ui`: start, keystroke to painted results, a saved file, a list of 1,000 hits. Prints figures.

    .venv/bin/python -m benchmarks.terminal_ui [start] [typing] [saving] [scrolling]

The UI runs in a separate process with a pseudo-terminal, as for a user. A figure is the time from the bytes of a key to
the bytes of the screen. The start is printed with the time of a bare Python start in the same run.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import TracebackType

import psutil

from benchmarks.throwaway import Throwaway, percentile, require_shared, throwaway, write_documents

DOCUMENTS = 20_000
QUERIES = ["protein expression", "shock wave", "sort a list", "boundary layer", "machine learning", "read csv file"]
ROWS, COLUMNS = 40, 120
_LIMIT_S = 30.0


class Screen:
    """`gnoctl ui` in a pseudo-terminal. A context manager."""

    def __init__(self, daemon: Throwaway, *words: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = {**daemon.environment, "TERM": "xterm-256color"}
        command = [sys.executable, "-m", "gnoctl", "ui", *words]
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def read_until(self, words: bytes) -> float:
        """Read output until it contains the words; return the seconds."""
        started, written = time.perf_counter(), b""
        while words not in written:
            written += self._read(_LIMIT_S)
        return time.perf_counter() - started

    def settle(self) -> None:
        """Read the remaining output."""
        while self._read(0.4):
            pass

    def _read(self, timeout_s: float) -> bytes:
        ready, _, _ = select.select([self._ours], [], [], timeout_s)
        return os.read(self._ours, 1 << 16) if ready else b""


def start(daemon: Throwaway) -> None:
    """Measure from the command to the first paint. Keys that were typed earlier are not lost."""
    took, bare = [], []
    for _ in range(15):
        began = time.perf_counter()
        with Screen(daemon) as screen:
            screen.read_until(b"help")
            took.append(time.perf_counter() - began)
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        bare.append(time.perf_counter() - began)
    _row("start to first paint", f"median {1000 * median(took):.0f} ms, best {1000 * min(took):.0f}", "<= 300 ms")
    _row("  a bare Python start in the same run", f"median {1000 * median(bare):.0f} ms", "")


def typing(daemon: Throwaway) -> None:
    """Measure from a key to the line with the number of its results, which the same update draws."""
    took = []
    with Screen(daemon, "--mode", "keyword") as screen:
        used = psutil.Process(screen.process.pid).cpu_times
        screen.read_until(b"Type to search")
        screen.settle()
        before = sum(used()[:2])
        for query in QUERIES * 2:
            for letter in query:
                screen.settle()
                screen.type(letter)
                seconds = screen.read_until(b" ms")
                if letter != " ":
                    took.append(1000 * seconds)
            screen.settle()
            screen.type("\x1b")
            screen.settle()
        own = 1000 * (sum(used()[:2]) - before) / len(took)
    figure = f"p50 {median(took):.0f} ms, p95 {percentile(took, 0.95):.0f}, max {max(took):.0f}"
    _row(f"keystroke to painted results, {len(took)} keystrokes", figure, "p95 <= 60 ms")
    _row("  CPU time of the UI for each, with the preview", f"{own:.0f} ms", "")


def saving(daemon: Throwaway) -> None:
    """Measure from a saved file to its line in an open list."""
    with tempfile.TemporaryDirectory() as folder:
        daemon.add(Path(folder), "saved")
        took = []
        with Screen(daemon, "--mode", "keyword", "xylophon") as screen:
            screen.settle()
            for number in range(10):
                Path(folder, f"{number}.md").write_text(f"# Concert{number}\n\nA xylophon.\n")
                took.append(1000 * screen.read_until(f"Concert{number}".encode()))
                screen.settle()
    _row("a saved file appears in an open list", f"median {median(took):.0f} ms, max {max(took):.0f}", "<= 500 ms")


def scrolling(daemon: Throwaway) -> None:
    """Measure paging down through the hits of a common word to the last of 1,000."""
    took = []
    with Screen(daemon, "--mode", "keyword", "number") as screen:
        screen.settle()
        for _ in range(60):
            screen.type("\x1b[6~")
            took.append(1000 * screen.read_until("▌".encode()))
            time.sleep(0.05)
        screen.settle()
        began = time.perf_counter()
        for _ in range(3):
            screen.type("\x1b[1;5F")
            screen.settle()
        whole = time.perf_counter() - began
    figure = f"p50 {median(took):.0f} ms, p95 {percentile(took, 0.95):.0f}; to the end {whole:.1f} s"
    _row("a page of a list of 1,000 hits", figure, "")


def _row(what: str, figure: str, target: str) -> None:
    print(f"{what:60}  {figure:45}  {target}", flush=True)


def main() -> None:
    require_shared()
    parts: dict[str, Callable[[Throwaway], None]] = {
        "start": start,
        "typing": typing,
        "saving": saving,
        "scrolling": scrolling,
    }
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with throwaway() as daemon, tempfile.TemporaryDirectory() as folder:
        write_documents(Path(folder), DOCUMENTS)
        seconds = daemon.add(Path(folder), "docs")
        _row(f"indexing {DOCUMENTS:,} documents", f"{seconds:.0f} s", "")
        for name in sys.argv[1:] or list(parts):
            parts[name](daemon)


if __name__ == "__main__":
    main()
