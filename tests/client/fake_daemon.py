"""A small daemon with canned answers on a real Unix socket with the real protocol.

In a thread (`FakeDaemon`), or as a process that holds the index's lock like gnod
(`python -m tests.client.fake_daemon --index NAME`).
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import UnsetType

from gnod import __version__
from gnod.errors import GnoError, MethodNotFound
from gnod.paths import IndexPaths, resolve
from gnod.protocol.base import Params, ProgressParams, ProgressValue, Result
from gnod.protocol.daemon import DaemonShutdownResult, DaemonStatusResult
from gnod.protocol.framing import Framer, Framing, encode
from gnod.protocol.jsonrpc import (
    CANCEL_METHOD,
    PROGRESS_METHOD,
    Request,
    decode_request,
    encode_call,
    encode_error,
    encode_result,
)
from gnod.protocol.methods import METHODS

P = TypeVar("P", bound=Params)
Answer = Result | GnoError | bytes | None
"""The answer to send: a result, an error, raw bytes, or None for no answer at all."""


class FakeDaemon:
    def __init__(self, places: IndexPaths) -> None:
        self.places = places
        self.answers: dict[str, Answer | Callable[[Params], Answer]] = {
            "daemon.status": _status(places),
            "daemon.shutdown": self._shutdown,
        }
        self.progress: dict[str, list[ProgressValue]] = {}
        self.progress_pause_s = 0.0
        self.calls: list[tuple[str, Params]] = []
        self.cancelled = threading.Event()
        self.stopped = threading.Event()

    def asked(self, params_type: type[P]) -> P:
        """Return the parameters of the only call with that type."""
        (params,) = [params for _, params in self.calls if type(params) is params_type]
        assert isinstance(params, params_type)
        return params

    @contextlib.contextmanager
    def serving(self) -> Iterator[FakeDaemon]:
        self.places.socket.parent.mkdir(parents=True, exist_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(self.places.socket))
            listener.listen()
            listener.settimeout(0.02)
            thread = threading.Thread(target=self._accept, args=(listener,), daemon=True)
            thread.start()
            try:
                yield self
            finally:
                self.stopped.set()
                self.places.socket.unlink(missing_ok=True)

    def _accept(self, listener: socket.socket) -> None:
        while not self.stopped.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            connection.settimeout(None)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        framer = Framer()
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65536):
                for payload in framer.feed(data):
                    self._handle(connection, decode_request(payload))

    def _handle(self, connection: socket.socket, request: Request) -> None:
        if request.method == CANCEL_METHOD:
            self.cancelled.set()
            return
        assert not isinstance(request.id, UnsetType)
        method = METHODS[request.method]
        raw = b"{}" if isinstance(request.params, UnsetType) else request.params
        params = msgspec.json.decode(raw, type=method.params)
        self.calls.append((method.name, params))
        if params.progress_token is not None:
            for value in self.progress.get(method.name, []):
                message = ProgressParams(token=params.progress_token, value=value)
                connection.sendall(encode(encode_call(PROGRESS_METHOD, message), Framing.LINES))
                time.sleep(self.progress_pause_s)
        answer = self.answers.get(method.name, MethodNotFound(f"no such method: {method.name}"))
        if callable(answer):
            answer = answer(params)
        if answer is None:
            return
        if isinstance(answer, bytes):
            connection.sendall(answer)
            connection.shutdown(socket.SHUT_RDWR)
            return
        if isinstance(answer, GnoError):
            payload = encode_error(request.id, answer)
        else:
            payload = encode_result(request.id, answer)
        connection.sendall(encode(payload, Framing.LINES))

    def hang_up_once(self, method: str) -> None:
        """Close the connection instead of the next answer to `method`."""
        later = self.answers[method]

        def hang_up(_: Params) -> Answer:
            self.answers[method] = later
            return b""

        self.answers[method] = hang_up

    def _shutdown(self, _: Params) -> DaemonShutdownResult:
        self.stopped.set()
        return DaemonShutdownResult(stopping=True)


def _status(places: IndexPaths) -> DaemonStatusResult:
    return DaemonStatusResult(
        version=__version__,
        pid=os.getpid(),
        index=places.index,
        socket=str(places.socket),
        log_file=str(places.log_file),
        uptime_s=7300.0,
        resident_bytes=81_234_567,
        connections=1,
        requests=42,
        workers=[],
        sqlite_version="3.50.4",
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--index", required=True)
    parser.add_argument("--say", help="print this, and end")
    parser.add_argument("--status", type=int, default=1, help="the exit status after --say")
    parser.add_argument("--hang-up", action="store_true", help="close the first connection without an answer")
    parser.add_argument("--slow-start", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--slow-stop", type=float, default=0.0, metavar="SECONDS")
    options = parser.parse_args()
    if options.say:
        sys.stderr.write(f"{options.say}\n")
        return int(options.status)
    places = resolve(options.index)
    places.lock_file.parent.mkdir(parents=True, exist_ok=True)
    with places.lock_file.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.stderr.write("gnod: another gnod already serves this index\n")
            return 2
        time.sleep(options.slow_start)
        Path(places.socket).unlink(missing_ok=True)
        daemon = FakeDaemon(places)
        if options.hang_up:
            daemon.hang_up_once("daemon.status")
        with daemon.serving():
            # End after a minute, because nobody stops a fake daemon that a failed test left behind.
            daemon.stopped.wait(timeout=60)
        time.sleep(options.slow_stop)
    return 0


if __name__ == "__main__":
    sys.exit(main())
