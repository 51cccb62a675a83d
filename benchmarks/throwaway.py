"""A daemon in throw-away folders, for measuring. Ends what it started."""

from __future__ import annotations

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

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED = REPOSITORY.parent / "shared"


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
        """Return the result of one request over a connection that stays open."""
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

    def add(self, folder: Path, name: str) -> float:
        """Add a collection and wait until it is searchable; return the seconds that took."""
        started = time.monotonic()
        self.call("collection.add", path=str(folder), name=name)
        self.call("index.sync", collections=[name])
        return time.monotonic() - started


@contextmanager
def throwaway() -> Iterator[Throwaway]:
    folder = Path(tempfile.mkdtemp(prefix="gnod-bench-", dir="/tmp"))
    daemon = Throwaway(folder)
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


def real_texts(limit: int) -> Iterator[tuple[str, str]]:
    """Yield up to `limit` (title, text) pairs from the test collections beside the repository."""
    names = ["scifact", "cosqa-dev", "cacm", "cranfield", "jsquad-ja-valid", "claude-docs-rag", "chroma-chunking"]
    made = 0
    while made < limit:
        for name in names:
            for line in (SHARED / "collections" / name / "corpus.jsonl").open():
                document = json.loads(line)
                # A second round differs from the first, so that nothing is shared between documents.
                yield document["title"], f"{document['text']}\n\nNumber {made}.\n"
                made += 1
                if made >= limit:
                    return


def write_documents(folder: Path, count: int) -> None:
    """Write `count` real documents as Markdown files, a hundred a folder."""
    for number, (title, text) in enumerate(real_texts(count)):
        path = folder / f"{number // 100:03d}" / f"{number:05d}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {title or f'Document {number}'}\n\n{text}")


def require_shared() -> None:
    if not SHARED.is_dir():
        sys.exit(f"this benchmark measures on real files, and {SHARED} is not here")


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]
