"""`GET /api/document`: a document as HTML, part by part. Its text comes from the daemon."""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from gnoctl.web.static_files import cached
from gnoctl.web.streaming import unless_gone
from gnod.client import AsyncClient
from gnod.errors import InvalidParams
from gnod.protocol.documents import DocumentGetParams, DocumentText

_MAX_LINE = 2**31


async def document(request: Request, client: AsyncClient) -> Response:
    ref, line = request.query_params.get("ref", ""), _line(request.query_params.get("from"))
    return await unless_gone(request, _answer(request, client, ref, line))


async def _answer(request: Request, client: AsyncClient, ref: str, line: int | None) -> Response:
    text = await client.call("document.get", _params(ref), DocumentText)
    first = text.start_line
    if first > 1 or text.end_line < text.total_lines:  # the reference has a line or a page
        text = await client.call("document.get", _params(text.uri), DocumentText)
    body = await asyncio.to_thread(_body, text, line or first)
    return cached(request, body, "application/json", "private, no-cache")


def _body(text: DocumentText, line: int) -> bytes:
    from gnoctl.web.rendering.document import render  # imports large libraries

    described = msgspec.to_builtins(text)
    del described["text"], described["line_map"], described["locations"]
    return msgspec.json.encode({"document": described, **msgspec.to_builtins(render(text, line))})


def _params(ref: str) -> DocumentGetParams:
    try:
        return msgspec.convert({"ref": ref, "locations": True}, DocumentGetParams)
    except msgspec.ValidationError as error:
        raise InvalidParams(f"the reference is not valid: {error}") from None


def _line(value: str | None) -> int | None:
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and 0 < int(value[:11]) < _MAX_LINE):
        raise InvalidParams("`from` must be a line number")
    return int(value)
