"""Run the small daemon as a process, and read its output."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gnod.protocol.jsonrpc import encode_call
from tests.rpc.harness import places_in, short_folder

ROOT = Path(__file__).parents[2]


class Daemon:
    """A running small daemon in its own folder."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        self.places = places_in(folder)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.daemon.small_daemon", str(folder), *options],
            cwd=ROOT,
            env={**os.environ, "PYTHONWARNINGS": "error", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def hears(self, words: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{words}\n", self.complaints()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ends_with(self, *words: str, status: int = 0) -> None:
        rest, _ = self.process.communicate(timeout=60)
        assert rest.splitlines() == list(words)
        assert self.process.returncode == status
        assert not self.places.socket.exists()

    def complaints(self) -> str:
        if self.process.poll() is None or self.process.stderr is None:
            return ""
        return self.process.stderr.read()

    @contextmanager
    def connection(self) -> Iterator[socket.SocketIO]:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(str(self.places.socket))
            with client.makefile("rwb", buffering=0) as stream:
                yield stream

    def call(self, method: str) -> Any:
        with self.connection() as stream:
            return call(stream, method)


def send(stream: socket.SocketIO, method: str) -> None:
    stream.write(encode_call(method, {}, 1) + b"\n")


def call(stream: socket.SocketIO, method: str) -> Any:
    send(stream, method)
    return json.loads(stream.readline())


@contextmanager
def daemon(*options: str, becomes_ready: bool = True, environment: Mapping[str, str] | None = None) -> Iterator[Daemon]:
    with short_folder() as folder:
        started = Daemon(folder, *options, **(environment or {}))
        try:
            if becomes_ready:
                started.hears("ready")
            yield started
        finally:
            started.process.kill()
            started.process.communicate()
