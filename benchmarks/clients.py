"""Measure one daemon with many clients, and with a client that searches at each keystroke. Prints figures.

.venv/bin/python -m benchmarks.clients [typing] [crowd] [dropped] [--documents 20000]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks.latency import QUERIES
from benchmarks.throwaway import Throwaway, percentile, real_texts, require_shared, throwaway, write_documents

KEYSTROKES = 400
CLIENTS = 64
SEARCHES_EACH = 10
DROPPED = 1000


class Client:
    """A client with its own connection."""

    def __init__(self, daemon: Throwaway) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(daemon.environment["GNO_SOCKET"])
        self._stream = self._socket.makefile("rb")

    def search_ms(self, query: str, **params: object) -> float:
        """Return the time of one search. Raises RuntimeError if the daemon refuses it."""
        request = {"jsonrpc": "2.0", "id": 1, "method": "search.lexical", "params": {"query": query, **params}}
        started = time.perf_counter()
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        answer: dict[str, Any] = json.loads(self._stream.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return (time.perf_counter() - started) * 1000


def typing(daemon: Throwaway, documents: int) -> None:
    """Measure the time from keystroke to results: search each prefix of each query."""
    client = Client(daemon)
    client.search_ms("warm")
    took: list[float] = []
    prefixes = [query[:length] for query in QUERIES for length in range(1, len(query) + 1) if query[length - 1] != " "]
    for prefix in (prefixes * (KEYSTROKES // len(prefixes) + 1))[:KEYSTROKES]:
        took.append(client.search_ms(prefix, limit=10, prefix_last_term=True))
    figure = f"p50 {median(took):.1f} ms, p95 {percentile(took, 0.95):.1f}, max {max(took):.0f}"
    _row(f"keystroke to results, {documents:,} documents, {len(took)} keystrokes", figure, "p95 <= 50 ms")


def crowd(daemon: Throwaway, documents: int) -> None:
    """Measure many clients that search without a pause, each with its own queries."""
    titles = [title for title, _ in real_texts(3000) if title]
    random.Random(5).shuffle(titles)
    queries = [" ".join(title.split()[:4]) for title in titles]
    alone = Client(daemon)
    single = [alone.search_ms(query) for query in queries[:200]]
    _all_at_once(daemon, queries[100:], searches=2)  # starts a reader process
    before, own = daemon.processor_s(), time.process_time()
    took, refused = _all_at_once(daemon, queries[200:])
    own = time.process_time() - own
    spent = {name: after - before.get(name, 0.0) for name, after in daemon.processor_s().items()}
    ratio = percentile(took, 0.95) / median(single)
    _row(f"one client, {documents:,} documents", f"p50 {median(single):.1f} ms, p95 {percentile(single, 0.95):.1f}", "")
    figure = f"p50 {median(took):.0f} ms, p95 {percentile(took, 0.95):.0f}, {ratio:.0f} times the p50 of one"
    _row(f"{CLIENTS} clients without a pause, {refused} refused", figure, "none, p95 <= 10 times")
    each = ", ".join(f"{name} {1000 * s / len(took):.1f}" for name, s in {**spent, "clients": own}.items())
    _row("  processor time of a search, ms", each, "")
    calm, refused = _all_at_once(daemon, queries[200:], pause_s=1.0)
    ratio = percentile(calm, 0.95) / median(single)
    figure = f"p50 {median(calm):.0f} ms, p95 {percentile(calm, 0.95):.0f}, {ratio:.0f} times"
    _row(f"{CLIENTS} clients, each a search a second, {refused} refused", figure, "none, p95 <= 10 times")


def _all_at_once(
    daemon: Throwaway, queries: list[str], pause_s: float = 0.0, searches: int = SEARCHES_EACH
) -> tuple[list[float], int]:
    took: list[float] = []
    refused: list[str] = []
    ready = threading.Barrier(CLIENTS)

    def run(number: int) -> None:
        client = Client(daemon)
        chance = random.Random(number)
        ready.wait()
        for turn in range(searches):
            if pause_s:
                time.sleep(chance.uniform(0, 2 * pause_s))
            try:
                took.append(client.search_ms(queries[(number * searches + turn) % len(queries)]))
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took, len(refused)


def dropped(daemon: Throwaway, documents: int) -> None:
    """Measure leaks from connections that close in the middle of a message."""
    del documents
    process = psutil.Process(daemon.call("daemon.status")["pid"])
    request = b'{"jsonrpc":"2.0","id":1,"method":"search.lexical","params":{"query":"shock wave"}}\n'
    _drop(daemon, request, 200)
    time.sleep(1)
    before = (process.num_fds(), process.num_threads(), process.memory_info().rss)
    started = time.monotonic()
    _drop(daemon, request, DROPPED)
    while process.num_fds() > before[0] and time.monotonic() - started < 30:
        time.sleep(0.05)
    took = time.monotonic() - started
    after = (process.num_fds(), process.num_threads(), process.memory_info().rss)
    works = Client(daemon).search_ms("shock wave")
    figure = f"descriptors {before[0]} to {after[0]}, threads {before[1]} to {after[1]}, "
    figure += (
        f"memory {(after[2] - before[2]) / 1e6:+.1f} MB; the next search took {works:.0f} ms ({took:.1f} s in all)"
    )
    _row(f"{DROPPED:,} connections dropped inside a message", figure, "no leak")


def _drop(daemon: Throwaway, request: bytes, times: int) -> None:
    waiting: list[socket.socket] = []
    for number in range(times):
        client = socket.socket(socket.AF_UNIX)
        client.connect(daemon.environment["GNO_SOCKET"])
        # Every second connection also has a complete request in progress.
        client.sendall((request if number % 2 else b"") + request[: 1 + number % (len(request) - 1)])
        waiting.append(client)
        if len(waiting) >= 50:
            for each in waiting:
                each.close()
            waiting.clear()
    for each in waiting:
        each.close()


def _row(what: str, figure: str, target: str) -> None:
    print(f"{what:60}  {figure:60}  {target}", flush=True)


def main() -> None:
    require_shared()
    parts: dict[str, Callable[[Throwaway, int], None]] = {"typing": typing, "crowd": crowd, "dropped": dropped}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help="default: all")
    parser.add_argument("--documents", type=int, default=20_000)
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with throwaway() as daemon, tempfile.TemporaryDirectory() as folder:
        write_documents(Path(folder), arguments.documents)
        daemon.add(Path(folder), "docs")
        daemon.wait_for_postings()
        for name in arguments.parts or list(parts):
            parts[name](daemon, arguments.documents)


if __name__ == "__main__":
    main()
