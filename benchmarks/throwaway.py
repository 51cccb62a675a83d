"""Run a daemon in temporary folders for benchmarks. It stops with the context."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from gnod.analysis.terms import VERSION
from gnod.store.keyword_index.postings.updating import sizes_of, worth_merging
from gnod.store.keyword_index.postings.versions import SharedPostings, folder_of

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED = REPOSITORY.parent / "shared"
_ANY_CLOCK = sys.maxsize


class Throwaway:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("GNO")},
            "GNO_CONFIG_DIR": str(folder / "config"),
            "GNO_DATA_DIR": str(folder / "data"),
            "GNO_CACHE_DIR": str(folder / "cache"),
            "GNO_SOCKET": str(folder / "s"),
        }
        self._socket: socket.socket | None = None

    def gnoctl(self, *arguments: str) -> str:
        done = subprocess.run(
            [str(Path(sys.executable).with_name("gnoctl")), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def call(self, method: str, **params: object) -> Any:
        """Return the result of one request over a persistent connection."""
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(self.environment["GNO_SOCKET"])
            self._stream = self._socket.makefile("rb")
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(self._stream.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def hang_up(self) -> None:
        """Close the connection; the next request opens another."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def wait_for_postings(self, *, merged: bool = True) -> None:
        """Wait until the postings have all documents, so that building them does not disturb the searches, and until
        their segments are merged."""
        while True:
            status = self.call("index.status")
            is_complete = status["postings"] and status["postings"]["documents"] == status["documents"]
            if is_complete and not (merged and _has_work(folder_of(Path(status["database"])))):
                return
            time.sleep(0.5)

    def wait_for_vectors(self, minutes: float = 30) -> str:
        """Wait until all chunks have vectors, at most this long. Return a report of their number."""
        until = time.monotonic() + 60 * minutes
        while True:
            each = self.call("index.status")["collections"]
            done, chunks, others = (
                sum(collection[key] for collection in each for key in keys)
                for keys in (("embedded",), ("chunks",), ("wordless", "unembeddable"))
            )
            if done + others == chunks or time.monotonic() > until:
                return f"{done:,} of {chunks:,} chunks have vectors"
            time.sleep(1)

    def processor_s(self) -> dict[str, float]:
        """Return the processor time so far of the daemon and its children, by kind."""
        daemon = psutil.Process(self.call("daemon.status")["pid"])
        spent: dict[str, float] = {}
        for process in (daemon, *daemon.children()):
            with contextlib.suppress(psutil.Error):
                name = "daemon" if process is daemon else process.cmdline()[3].rpartition(".")[2]
                times = process.cpu_times()
                spent[name] = spent.get(name, 0.0) + times.user + times.system
        return spent

    def add(self, folder: Path, name: str) -> float:
        """Add a collection and wait until it is searchable. Return the seconds."""
        started = time.monotonic()
        self.call("collection.add", path=str(folder), name=name)
        self.call("index.sync", collections=[name])
        return time.monotonic() - started


@contextmanager
def throwaway(config: str | None = None) -> Iterator[Throwaway]:
    """Yield a running daemon. `config`: the text of index.yml."""
    folder = Path(tempfile.mkdtemp(prefix="gnod-bench-", dir="/tmp"))
    daemon = Throwaway(folder)
    if config is not None:
        (folder / "config").mkdir()
        (folder / "config" / "index.yml").write_text(config)
    try:
        daemon.gnoctl("daemon", "start")
        yield daemon
    finally:
        subprocess.run(
            [str(Path(sys.executable).with_name("gnoctl")), "daemon", "stop"],
            env=daemon.environment,
            capture_output=True,
            check=False,
        )
        shutil.rmtree(folder, ignore_errors=True)


def _has_work(postings: Path) -> bool:
    """Tell whether segments will be merged."""
    newest = SharedPostings(postings, VERSION).up_to(_ANY_CLOCK)
    return newest is None or bool(worth_merging(sizes_of(newest)))


def real_texts(limit: int) -> Iterator[tuple[str, str]]:
    """Yield up to `limit` (title, text) pairs from the test collections beside the repository."""
    names = ["scifact", "cosqa-dev", "cacm", "cranfield", "jsquad-ja-valid", "claude-docs-rag", "chroma-chunking"]
    made = 0
    while made < limit:
        for name in names:
            for line in (SHARED / "collections" / name / "corpus.jsonl").open():
                document = json.loads(line)
                # The number makes repeated texts different, so that documents do not share content.
                yield document["title"], f"{document['text']}\n\nNumber {made}.\n"
                made += 1
                if made >= limit:
                    return


def write_documents(folder: Path, count: int) -> None:
    """Write `count` real documents as Markdown files, a hundred per folder."""
    for number, (title, text) in enumerate(real_texts(count)):
        path = folder / f"{number // 100:03d}" / f"{number:05d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {title or f'Document {number}'}\n\n{text}")


def cached_model(name: str = "minilm") -> Path | None:
    """Return a model from the cache of the tests; None if there is none."""
    cache = Path(os.environ.get("GNOD_TEST_MODELS") or Path.home() / ".cache" / "gnod-tests")
    found = list(cache.glob(f"{name}-*/model.onnx")) or list(cache.glob(f"{name}-*.gguf"))
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def require_shared() -> None:
    if not SHARED.is_dir():
        sys.exit(f"this benchmark needs real files: the folder {SHARED} does not exist")


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def web_server(daemon: Throwaway) -> tuple[subprocess.Popen[str], str]:
    """Start `gnoctl web`; return its process and the address that signs a browser in."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gnoctl", "web", "--no-open", "--port", "0"],
        env=daemon.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    return process, process.stdout.readline().strip()
