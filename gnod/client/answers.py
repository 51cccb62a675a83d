"""What the daemon sends, made into results, errors and progress. Knows no socket; the blocking and the asynchronous
client share it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import UnsetType

from gnod.errors import GnoError, InternalError, Unavailable, from_code
from gnod.protocol.jsonrpc import PROGRESS_METHOD, Response
from gnod.protocol.results import ProgressParams, ProgressValue, Result

R = TypeVar("R", bound=Result)
OnProgress = Callable[[ProgressValue], None]


class Lines:
    """Cuts a stream into lines, in any split. `gnod.protocol.framing` does more than that, and costs 3 ms to import."""

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Take `data` and return the lines that are complete now, in order."""
        if b"\n" not in data:
            self._unfinished.append(data)
            return []
        *lines, rest = b"".join([*self._unfinished, data]).split(b"\n")
        self._unfinished = [rest]
        return lines


def decode_result(response: Response, result_type: type[R]) -> R:
    """Return the result in `response`. Raises the error that it holds, as its class."""
    if response.error is not None:
        raise _error(response)
    # An answer without a result fails, like one of a wrong shape.
    return decode(b"" if isinstance(response.result, UnsetType) else response.result, result_type)


def refusal(response: Response) -> GnoError | None:
    """Return the error of an answer that names no request: what could not be read as one, or a connection refused."""
    return _error(response) if response.error is not None and response.id is None else None


def decode(raw: bytes | msgspec.Raw, result_type: type[R]) -> R:
    try:
        return msgspec.json.decode(raw, type=result_type)
    except msgspec.DecodeError as error:
        raise InternalError(
            f"the daemon's answer is not understood ({error}); after an upgrade: `gnoctl daemon restart`"
        ) from None


def decode_progress(message: Response) -> ProgressParams | None:
    """Return what a notification says of progress; None when it is about something else."""
    if message.method != PROGRESS_METHOD or isinstance(message.params, UnsetType):
        return None
    try:
        return msgspec.json.decode(message.params, type=ProgressParams)
    except msgspec.DecodeError:
        return None  # progress is a courtesy: one that is not understood is no reason to fail


def gone(reason: str) -> Unavailable:
    """Return the error for a daemon that went away while it was waited for."""
    return Unavailable(f"the daemon went away before it answered ({reason}); `gnoctl daemon logs` may say why")


def _error(response: Response) -> GnoError:
    assert response.error is not None
    details = response.error.data.get("details")
    return from_code(response.error.code, response.error.message, details if isinstance(details, dict) else None)
