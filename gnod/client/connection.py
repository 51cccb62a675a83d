"""One connection to the daemon: a blocking Unix socket with one request at a time. Must not depend on the methods.

Both clients use the functions that turn messages into results, errors and progress. Every `gnoctl` command imports
this module, so it imports nothing slow.
"""

from __future__ import annotations

import contextlib
import itertools
import select
import socket
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec
from msgspec import UnsetType

from gnod import peer
from gnod.errors import (
    DaemonNotRunning,
    ForeignSocket,
    GnoError,
    IndexReopening,
    InternalError,
    ShuttingDown,
    TimedOut,
    Unavailable,
    from_code,
)
from gnod.paths import IndexPaths, check_socket_path
from gnod.protocol.base import CancelParams, Params, ProgressParams, ProgressValue, Result
from gnod.protocol.jsonrpc import CANCEL_METHOD, PROGRESS_METHOD, Response, decode_response, encode_call

CONNECT_TIMEOUT_S = 5.0
REOPEN_TIMEOUT_S = 15.0
REOPEN_POLL_S = 0.02
SILENCE_S = 1.0
# While a daemon shuts down, it still accepts connections for a moment and drops them.
REPEAT_PAUSES_S = (0.0, 0.1, 0.5)
PROGRESS_TOKEN = 1  # one request at a time needs only one token

R = TypeVar("R", bound=Result)
OnProgress = Callable[[ProgressValue], None]


class Connection:
    """A context manager. It cancels an interrupted request before the exception propagates.

    While the daemon reopens its index, it refuses requests; this class then connects again and repeats the request.
    It calls `on_silence` once, if the first message from the daemon takes longer than `SILENCE_S`.
    """

    on_silence: Callable[[], None] | None = None

    def __init__(self, path: str) -> None:
        """Connect to the socket at `path`. Raises OSError, or ForeignSocket before anything is sent."""
        self._path = path
        self._open()

    def _open(self) -> None:
        self._socket = _connected(self._path)
        self._ids = itertools.count(1)
        self._lines = ReplyLines()
        self._received: list[bytes] = []

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a thread that waits for a message gets Unavailable."""
        with contextlib.suppress(OSError):  # it is already closed
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def take_socket(self) -> socket.socket:
        """Return the socket; the caller owns it from now on."""
        return self._socket

    @property
    def is_lost(self) -> bool:
        """Whether the daemon has closed the connection. A last message may still be unread."""
        if self._socket.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self._socket, 0)
        return bool(poll.poll(0))  # the bits are POLLHUP or POLLERR

    def call(
        self,
        method: str,
        params: Params,
        result_type: type[R],
        *,
        on_progress: OnProgress | None = None,
        timeout_s: float | None = None,
    ) -> R:
        """Return the daemon's answer. Raises the daemon's error, or Unavailable if the connection is lost.

        `timeout_s` limits the time between two messages, not the whole call; None waits for ever.
        """
        deadline = time.monotonic() + REOPEN_TIMEOUT_S
        while True:
            response = self._exchange(method, params, on_progress, timeout_s)
            try:
                return decode_result(response, result_type)
            except IndexReopening:
                if time.monotonic() > deadline:
                    raise
            time.sleep(REOPEN_POLL_S)
            self._reconnect()

    def _exchange(
        self, method: str, params: Params, on_progress: OnProgress | None, timeout_s: float | None
    ) -> Response:
        request_id = next(self._ids)
        if on_progress is not None:
            params = msgspec.structs.replace(params, progress_token=PROGRESS_TOKEN)
        try:
            self._socket.settimeout(timeout_s)
            self._send(encode_call(method, params, request_id))
            return self._await(request_id, on_progress)
        except TimeoutError:
            self._cancel(request_id)
            raise silent(self._socket, method, timeout_s or 0) from None
        except OSError as error:
            raise lost(str(error.strerror or error)) from None
        except BaseException:  # Ctrl-C, or an error in `on_progress`
            self._cancel(request_id)
            raise

    def _reconnect(self) -> None:
        self._socket.close()
        try:
            self._open()
        except OSError as error:
            raise lost(str(error.strerror or error)) from None

    def listen(self, method: str, params_type: type[R]) -> Iterator[R]:
        """Yield the notifications of one name without end. Raises Unavailable if the connection is lost."""
        while True:
            try:
                self._socket.settimeout(None)
                message = decode_response(self._receive())
            except OSError as error:
                raise lost(str(error.strerror or error)) from None
            if message.method == method and not isinstance(message.params, UnsetType):
                yield decode(message.params, params_type)

    def _send(self, payload: bytes) -> None:
        # Ignore it: the next read finds the reason that the daemon may have sent.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(payload + b"\n")

    def _await(self, request_id: int, on_progress: OnProgress | None) -> Response:
        while True:
            response = decode_response(self._receive())
            if not isinstance(response.method, UnsetType):
                if on_progress and (progress := decode_progress(response)):
                    on_progress(progress.value)
            # An error without an id is about an unreadable request, and only one request is open.
            elif response.id == request_id or (response.error and response.id is None):
                return response

    def _receive(self) -> bytes:
        while not self._received:
            self._note_silence()
            data = self._socket.recv(1 << 18)
            if not data:
                raise lost("the daemon closed it")
            self._received = self._lines.feed(data)
        return self._received.pop(0)

    def _note_silence(self) -> None:
        on_silence, self.on_silence = self.on_silence, None
        if on_silence is None:
            return
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        if not poll.poll(SILENCE_S * 1000):
            on_silence()

    def _cancel(self, request_id: int) -> None:
        try:
            self._socket.settimeout(0.2)
            # If only half of the request was sent, the newline ends it; otherwise it is ignored.
            self._send(b"\n" + encode_call(CANCEL_METHOD, CancelParams(id=request_id)))
        except OSError:
            pass  # closing the connection also cancels the request


def connect(places: IndexPaths) -> Connection:
    """Return a connection to the daemon of an index. Raises DaemonNotRunning if no process listens, ForeignSocket if
    another user's process does."""
    check_socket_path(places.socket)
    try:
        return Connection(str(places.socket))
    except (FileNotFoundError, NotADirectoryError, ConnectionRefusedError):
        option = "" if places.index == "default" else f" --index {places.index}"
        raise DaemonNotRunning(
            f"gnod is not running for index '{places.index}': run `gnoctl{option} daemon start`",
            {"index": places.index, "socket": str(places.socket)},
        ) from None
    except OSError as error:
        check_place(str(places.socket))  # it may be another user's socket
        reason = "it accepts no connections" if isinstance(error, TimeoutError) else error.strerror
        raise Unavailable(f"cannot connect to the daemon at {places.socket}: {reason}") from None


def check_place(path: str) -> None:
    """Raise ForeignSocket if another user listens at `path`, or could."""
    if problem := peer.place_problem(path):
        raise _foreign(problem, path)


def _foreign(problem: str, path: str) -> ForeignSocket:
    return ForeignSocket(f"nothing was sent to the daemon: {problem}", {"socket": path})


def _connected(path: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _connect(sock, path)
        if problem := peer.listener_problem(sock, path):
            raise _foreign(problem, path)
    except BaseException:
        sock.close()
        raise
    return sock


def _connect(sock: socket.socket, path: str) -> None:
    deadline = time.monotonic() + CONNECT_TIMEOUT_S
    sock.settimeout(CONNECT_TIMEOUT_S)
    while True:
        try:
            return sock.connect(path)
        except BlockingIOError:
            # The listen queue is full. Then connecting to a Unix socket fails at once, regardless of the timeout.
            if time.monotonic() > deadline:
                raise TimeoutError from None
            time.sleep(0.01)


class ReplyLines:
    """Splits a stream into lines. `gnod.protocol.framing` can do more, but takes 3 ms to import."""

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that `data` completes, in order."""
        if b"\n" not in data:
            self._unfinished.append(data)
            return []
        *lines, rest = b"".join([*self._unfinished, data]).split(b"\n")
        self._unfinished = [rest]
        return lines


def decode_result(response: Response, result_type: type[R]) -> R:
    """Return the result in `response`. Raises the error in it, as its class."""
    if response.error is not None:
        raise _error(response)
    # A reply without a result fails like one of the wrong type.
    return decode(b"" if isinstance(response.result, UnsetType) else response.result, result_type)


def refusal(response: Response) -> GnoError | None:
    """Return the error of a reply without an id, which the daemon sends for an unreadable request or to refuse a
    connection."""
    return _error(response) if response.error is not None and response.id is None else None


def decode(raw: bytes | msgspec.Raw, result_type: type[R]) -> R:
    try:
        return msgspec.json.decode(raw, type=result_type)
    except msgspec.DecodeError as error:
        raise InternalError(
            f"invalid reply from the daemon ({error}): after an upgrade, run `gnoctl daemon restart`"
        ) from None


def decode_progress(message: Response) -> ProgressParams | None:
    """Return the progress in a notification; None if it is of another kind."""
    if message.method != PROGRESS_METHOD or isinstance(message.params, UnsetType):
        return None
    try:
        return msgspec.json.decode(message.params, type=ProgressParams)
    except msgspec.DecodeError:
        return None  # unreadable progress must not make the request fail


def silent(daemon: peer.Descriptor, method: str, timeout_s: float) -> TimedOut:
    """Return the error for a daemon that has sent nothing for `timeout_s`. It describes the state of the daemon."""
    try:
        pid = peer.peer_pid(daemon)
    except OSError:
        pid = 0
    who, state = (f"gnod (pid {pid})", peer.silence(pid)) if pid > 0 else ("gnod", "it is busy")
    return TimedOut(
        f"{who} did not answer {method} within {timeout_s:g} s: {state}; see `gnoctl daemon status`", {"pid": pid}
    )


def is_lost(error: GnoError) -> bool:
    """Return whether the daemon ended before it answered, so that the next one may answer."""
    return isinstance(error, ShuttingDown) or error.details.get("connection") == "lost"


def lost(reason: str) -> Unavailable:
    message = f"the connection to the daemon was lost ({reason}): see `gnoctl daemon logs`"
    return Unavailable(message, {"connection": "lost"})


def _error(response: Response) -> GnoError:
    assert response.error is not None
    details = response.error.data.get("details")
    return from_code(response.error.code, response.error.message, details if isinstance(details, dict) else None)
