"""Measure how the memory of a daemon grows over varied requests. Prints figures.

    .venv/bin/python -m benchmarks.growth [FOLDER …] [--requests 10000] [--languages N] [--connections 4] [--seed 1]

Without a folder, it uses the vault in seven languages and the documentation of the test material. `--languages`: use
20 documents in each of that many languages instead (`many_languages.py`). The connections each send one request at the
same time. Ends early at 3 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import psutil

from benchmarks import many_languages
from benchmarks.many_languages import Request, Requests
from benchmarks.throwaway import SHARED, Throwaway, require_shared, throwaway

_STOP_MB = 3000
_FIRST, _EVERY = 100, 1000
_DOCUMENTS_OF_A_LANGUAGE = 20


class Connections:
    """Several clients; each waits for the answer to its request."""

    def __init__(self, path: str, count: int) -> None:
        self.errors: Counter[str] = Counter()
        self._sockets = [socket.socket(socket.AF_UNIX) for _ in range(count)]
        for each in self._sockets:
            each.connect(path)
        self._streams = [each.makefile("rb") for each in self._sockets]

    def send(self, requests: Sequence[Request]) -> None:
        """Send one request over each connection, then wait for the answers."""
        for client, request in zip(self._sockets, requests, strict=False):
            message: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": request.method, "params": request.params}
            client.sendall(json.dumps(message).encode() + b"\n")
            if request.is_cancelled:
                cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 1}}
                client.sendall(json.dumps(cancel).encode() + b"\n")
        for stream in self._streams[: len(requests)]:
            answer: dict[str, Any] = json.loads(stream.readline())
            if "error" in answer:
                self.errors[answer["error"].get("data", {}).get("reason") or answer["error"]["message"][:40]] += 1

    def close(self) -> None:
        for client, stream in zip(self._sockets, self._streams, strict=True):
            stream.close()
            client.close()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--languages", type=int)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir="/tmp") as made, throwaway() as daemon:
        folders = options.folders or _folders(Path(made), options.languages)
        for number, folder in enumerate(folders):
            daemon.add(folder.resolve(), f"{number}-{folder.name}"[:40])
        daemon.wait_for_postings()
        words = [each for folder in folders for each in many_languages.words_by_folder(folder).values()]
        documents = [each["uri"] for each in daemon.call("document.list", limit=100_000)["documents"]]
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {len(documents):,} documents", flush=True)
        requests = Requests(words, documents, options.seed)
        _measure_growth(daemon, iter(requests), options.requests, options.connections)
    return 0


def _folders(made: Path, languages: int | None) -> list[Path]:
    if languages is None:
        require_shared()
        return [SHARED / "corpora" / "vaults" / "help", SHARED / "corpora" / "dev-docs"]
    many_languages.write(made, languages, _DOCUMENTS_OF_A_LANGUAGE)
    return [made]


def _measure_growth(daemon: Throwaway, requests: Iterator[Request], most: int, connections: int) -> None:
    process = psutil.Process(int(daemon.call("daemon.status")["pid"]))
    clients = Connections(daemon.environment["GNO_SOCKET"], connections)
    _print(process, 0, 0.0)
    done, due, started = 0, _FIRST, time.monotonic()
    while done < most and process.memory_info().rss / 1e6 < _STOP_MB:
        clients.send(list(islice(requests, connections)))
        done += connections
        if done >= due or done >= most:
            _print(process, done, time.monotonic() - started)
            due = due // _EVERY * _EVERY + _EVERY
    _print(process, done, time.monotonic() - started)
    print("errors:", dict(clients.errors.most_common(8)))
    clients.close()


def _print(process: psutil.Process, requests: int, took_s: float) -> None:
    """Print the resident memory of the daemon, private and in pages of files, and of its children."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    megabytes = {line.split()[0]: int(line.split()[1]) / 1000 for line in lines if line.endswith("kB")}
    children: Counter[str] = Counter()
    for child in process.children():
        with suppress(psutil.Error):
            children[child.cmdline()[3].removeprefix("gnod.")] += round(child.memory_info().rss / 1e6)
    others = "".join(f", {name} {size} MB" for name, size in children.items())
    print(
        f"{requests:6,} requests, {took_s:5.0f} s: {megabytes['VmRSS:']:5.0f} MB, its own {megabytes['RssAnon:']:5.0f},"
        f" files {megabytes['RssFile:']:4.0f}, at most {megabytes['VmHWM:']:5.0f}{others}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
