"""One connection to the daemon: a blocking Unix socket, one request at a time. Knows no command."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TypeVar

import msgspec
from msgspec import UnsetType

from gnod.errors import (
    DaemonNotRunning,
    GnoError,
    InternalError,
    TimedOut,
    Unavailable,
    from_code,
)
from gnod.paths import Places, check_socket_path
from gnod.protocol.jsonrpc import CANCEL_METHOD, PROGRESS_METHOD, Response, decode_response, encode_call
from gnod.protocol.params import CancelParams, Params
from gnod.protocol.results import ProgressParams, ProgressValue, Result

CONNECT_TIMEOUT_S = 5.0
PROGRESS_TOKEN = 1  # one request at a time needs one token

R = TypeVar("R", bound=Result)
OnProgress = Callable[[ProgressValue], None]


class Connection:
    """A context manager. A request that is interrupted is cancelled before the exception goes on."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._ids = itertools.count(1)
        self._unfinished: list[bytes] = []
        self._answers: list[bytes] = []

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

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
        self._socket.settimeout(timeout_s)
        try:
            self._send(encode_call(method, params, request_id))
            return _decode_result(self._await(request_id, on_progress), result_type)
        except KeyboardInterrupt:
            self._cancel(request_id)
            raise
        except TimeoutError:
            raise TimedOut(f"the daemon did not answer {method} within {timeout_s:g} s") from None
        except OSError as error:
            raise _gone(str(error.strerror or error)) from None

    def listen(self, method: str, params_type: type[R]) -> Iterator[R]:
        """Yield the notifications of that name as they come, for ever. Raises Unavailable when the daemon goes away."""
        self._socket.settimeout(None)
        while True:
            try:
                message = decode_response(self._receive())
            except OSError as error:
                raise _gone(str(error.strerror or error)) from None
            if message.method == method and not isinstance(message.params, UnsetType):
                yield _decode(message.params, params_type)

    def _send(self, payload: bytes) -> None:
        self._socket.sendall(payload + b"\n")

    def _await(self, request_id: int, on_progress: OnProgress | None) -> Response:
        while True:
            response = decode_response(self._receive())
            if not isinstance(response.method, UnsetType):
                if on_progress and (value := _progress(response)):
                    on_progress(value)
            # An error without an id answers what could not be read as a request; we have only one out.
            elif response.id == request_id or (response.error and response.id is None):
                return response

    def _receive(self) -> bytes:
        """Return the next line. `gnod.protocol.framing` does more than that, and costs 3 ms to import."""
        while not self._answers:
            data = self._socket.recv(1 << 18)
            if not data:
                raise _gone("it closed the connection")
            if b"\n" not in data:
                self._unfinished.append(data)
                continue
            *self._answers, rest = b"".join([*self._unfinished, data]).split(b"\n")
            self._unfinished = [rest]
        return self._answers.pop(0)

    def _cancel(self, request_id: int) -> None:
        try:
            self._socket.settimeout(0.2)
            self._send(encode_call(CANCEL_METHOD, CancelParams(id=request_id)))
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


def connect_or_start(places: Places, *, may_start: bool, quiet: bool) -> Connection:
    try:
        return connect(places)
    except DaemonNotRunning:
        if not may_start:
            raise
    from gnoctl.autostart import start  # subprocess: only when it is needed

    return start(places, quiet=quiet, on_demand=True)


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


def _decode_result(response: Response, result_type: type[R]) -> R:
    if response.error is not None:
        raise _error(response)
    # An answer without a result fails, like one of a wrong shape.
    return _decode(b"" if isinstance(response.result, UnsetType) else response.result, result_type)


def _decode(raw: bytes | msgspec.Raw, result_type: type[R]) -> R:
    try:
        return msgspec.json.decode(raw, type=result_type)
    except msgspec.DecodeError as error:
        raise InternalError(
            f"the daemon's answer is not understood ({error}); after an upgrade: `gnoctl daemon restart`"
        ) from None


def _error(response: Response) -> GnoError:
    assert response.error is not None
    details = response.error.data.get("details")
    return from_code(response.error.code, response.error.message, details if isinstance(details, dict) else None)


def _progress(response: Response) -> ProgressValue | None:
    if response.method != PROGRESS_METHOD or isinstance(response.params, UnsetType):
        return None
    try:
        return msgspec.json.decode(response.params, type=ProgressParams).value
    except msgspec.DecodeError:
        return None  # progress is a courtesy: one that is not understood is no reason to fail


def _gone(reason: str) -> Unavailable:
    return Unavailable(f"the daemon went away before it answered ({reason}); `gnoctl daemon logs` may say why")
