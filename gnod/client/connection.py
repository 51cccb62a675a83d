"""One connection to the daemon: a blocking Unix socket, one request at a time. Knows no method.

It is part of every `gnoctl` command's start-up, so it imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TypeVar

import msgspec
from msgspec import UnsetType

from gnod.client.answers import Lines, OnProgress, decode, decode_progress, decode_result, gone
from gnod.errors import DaemonNotRunning, TimedOut, Unavailable
from gnod.paths import Places, check_socket_path
from gnod.protocol.jsonrpc import CANCEL_METHOD, Response, decode_response, encode_call
from gnod.protocol.params import CancelParams, Params
from gnod.protocol.results import Result

CONNECT_TIMEOUT_S = 5.0
PROGRESS_TOKEN = 1  # one request at a time needs one token

R = TypeVar("R", bound=Result)
OnStarted = Callable[[Places, int], None]


class Connection:
    """A context manager. A request that is interrupted is cancelled before the exception goes on."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._ids = itertools.count(1)
        self._lines = Lines()
        self._received: list[bytes] = []

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def take_socket(self) -> socket.socket:
        """Return the socket, which is the caller's from then on."""
        return self._socket

    @property
    def is_lost(self) -> bool:
        """Whether the daemon has closed it; asked between two calls."""
        try:
            self._socket.settimeout(0)
            return not self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def call(
        self,
        method: str,
        params: Params,
        result_type: type[R],
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
    ) -> R:
        """Return the daemon's answer. Raises the error that it answered, or Unavailable when it goes away.

        `timeout_s` limits the silence between two messages, not the whole call; None waits for ever.
        """
        request_id = next(self._ids)
        if on_progress is not None:
            params = msgspec.structs.replace(params, progress_token=PROGRESS_TOKEN)
        try:
            self._socket.settimeout(timeout_s)
            self._send(encode_call(method, params, request_id))
            response = self._await(request_id, on_progress)
        except TimeoutError:
            self._cancel(request_id)
            raise TimedOut(f"the daemon did not answer {method} within {timeout_s:g} s") from None
        except OSError as error:
            raise gone(str(error.strerror or error)) from None
        except BaseException:  # Ctrl-C, or what `on_progress` raised: nobody waits for the answer any more
            self._cancel(request_id)
            raise
        return decode_result(response, result_type)

    def listen(self, method: str, params_type: type[R]) -> Iterator[R]:
        """Yield the notifications of that name as they come, for ever. Raises Unavailable when the daemon goes away."""
        while True:
            try:
                self._socket.settimeout(None)
                message = decode_response(self._receive())
            except OSError as error:
                raise gone(str(error.strerror or error)) from None
            if message.method == method and not isinstance(message.params, UnsetType):
                yield decode(message.params, params_type)

    def _send(self, payload: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it may have said why before it hung up: that is read next
            self._socket.sendall(payload + b"\n")

    def _await(self, request_id: int, on_progress: OnProgress | None) -> Response:
        while True:
            response = decode_response(self._receive())
            if not isinstance(response.method, UnsetType):
                if on_progress and (progress := decode_progress(response)):
                    on_progress(progress.value)
            # An error without an id answers what could not be read as a request; we have only one out.
            elif response.id == request_id or (response.error and response.id is None):
                return response

    def _receive(self) -> bytes:
        """Return the next line."""
        while not self._received:
            data = self._socket.recv(1 << 18)
            if not data:
                raise gone("it closed the connection")
            self._received = self._lines.feed(data)
        return self._received.pop(0)

    def _cancel(self, request_id: int) -> None:
        try:
            self._socket.settimeout(0.2)
            # Perhaps only half of the request was sent: the newline ends it, and is nothing after a whole one.
            self._send(b"\n" + encode_call(CANCEL_METHOD, CancelParams(id=request_id)))
        except OSError:
            pass  # closing the connection cancels too


def connect(places: Places) -> Connection:
    """Return a connection to the daemon of that index. Raises DaemonNotRunning when nobody listens."""
    check_socket_path(places.socket)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _connect(sock, str(places.socket))
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        sock.close()
        option = "" if places.index == "default" else f" --index {places.index}"
        raise DaemonNotRunning(
            f"gnod is not running for index '{places.index}'; start it with `gnoctl{option} daemon start`",
            {"index": places.index, "socket": str(places.socket)},
        ) from None
    except OSError as error:
        sock.close()
        reason = "it does not accept connections" if isinstance(error, TimeoutError) else error.strerror
        raise Unavailable(f"no connection to the daemon at {places.socket}: {reason}") from None
    return Connection(sock)


def connect_or_start(places: Places, *, may_start: bool, on_started: OnStarted | None = None) -> Connection:
    """Return a connection; start the daemon when it is not running, unless GNO_NO_AUTOSTART is set."""
    try:
        return connect(places)
    except DaemonNotRunning:
        if not may_start or os.environ.get("GNO_NO_AUTOSTART"):
            raise
    from gnod.client.starting import start  # subprocess: only when it is needed

    return start(places, on_demand=True, on_started=on_started)


def _connect(sock: socket.socket, path: str) -> None:
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    sock.settimeout(CONNECT_TIMEOUT_S)
    while True:
        try:
            return sock.connect(path)
        except BlockingIOError:
            # The daemon's backlog is full: a Unix socket says so at once, whatever the timeout.
            if time.monotonic() > deadline:
                raise TimeoutError from None
            time.sleep(0.01)
