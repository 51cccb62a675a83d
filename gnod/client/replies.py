"""Turn what the daemon sends into results, errors and progress, for both clients. Knows no socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import UnsetType

from gnod.errors import GnoError, InternalError, Unavailable, from_code
from gnod.protocol.base import ProgressParams, ProgressValue, Result
from gnod.protocol.jsonrpc import PROGRESS_METHOD, Response

R = TypeVar("R", bound=Result)
OnProgress = Callable[[ProgressValue], None]


class Lines:
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
    """Return the error of a reply without an id: to an unreadable request, or to a refused connection."""
    return _error(response) if response.error is not None and response.id is None else None


def decode(raw: bytes | msgspec.Raw, result_type: type[R]) -> R:
    try:
        return msgspec.json.decode(raw, type=result_type)
    except msgspec.DecodeError as error:
        raise InternalError(
            f"invalid reply from the daemon ({error}): after an upgrade, run `gnoctl daemon restart`"
        ) from None


def decode_progress(message: Response) -> ProgressParams | None:
    """Return the progress in a notification; None if it is another notification."""
    if message.method != PROGRESS_METHOD or isinstance(message.params, UnsetType):
        return None
    try:
        return msgspec.json.decode(message.params, type=ProgressParams)
    except msgspec.DecodeError:
        return None  # unreadable progress is no reason to fail


def lost(reason: str) -> Unavailable:
    return Unavailable(f"the connection to the daemon was lost ({reason}): see `gnoctl daemon logs`")


def _error(response: Response) -> GnoError:
    assert response.error is not None
    details = response.error.data.get("details")
    return from_code(response.error.code, response.error.message, details if isinstance(details, dict) else None)
