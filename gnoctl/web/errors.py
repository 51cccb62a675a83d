"""Errors for the page: an HTTP status, and the daemon's own error."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
from starlette.responses import Response

from gnod import errors
from gnod.errors import GnoError

_STATUSES: list[tuple[type[GnoError], HTTPStatus]] = [
    (errors.LimitExceeded, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (errors.MethodNotFound, HTTPStatus.NOT_FOUND),
    (errors.InternalError, HTTPStatus.INTERNAL_SERVER_ERROR),
    (errors.WireError, HTTPStatus.BAD_REQUEST),
    (errors.NotFound, HTTPStatus.NOT_FOUND),
    (errors.Conflict, HTTPStatus.CONFLICT),
    (errors.Refused, HTTPStatus.BAD_REQUEST),
    (errors.Unavailable, HTTPStatus.SERVICE_UNAVAILABLE),
]
_UNREACHABLE = (errors.DaemonNotRunning, errors.ShuttingDown, errors.IndexReopening, errors.IndexLocked)


def body_of(error: GnoError) -> dict[str, object]:
    # Tell the page whether the daemon itself is missing, or only the requested object.
    is_unreachable = isinstance(error, _UNREACHABLE) or error.details.get("connection") == "lost"
    kind = "daemon_unavailable" if is_unreachable else error.kind
    return {"error": {"kind": kind, "message": error.message, "data": error.details}}


def refused(error: GnoError) -> Response:
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)
    return json(body_of(error), status)


def failure(status: HTTPStatus, message: str) -> Response:
    kind = status.phrase.lower().replace(" ", "_")
    return json({"error": {"kind": kind, "message": message, "data": {}}}, status)


def json(value: object, status: HTTPStatus = HTTPStatus.OK) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
