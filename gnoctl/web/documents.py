"""`GET /api/document`: a document as HTML, part by part. `GET /api/image`: a page of a PDF file, or a picture.

Texts and images come from the daemon.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from gnoctl.web.static_files import cached
from gnoctl.web.streaming import unless_gone
from gnod.client import AsyncClient
from gnod.errors import GnoError, InvalidParams
from gnod.protocol.documents import DocumentGetParams, DocumentLocateParams, DocumentPlace, DocumentText
from gnod.protocol.links import DocumentLink, DocumentLinksParams, DocumentLinksResult

if TYPE_CHECKING:
    from gnoctl.web.rendering.document import Rendering
from gnoctl.web.static_files import is_known
from gnod.protocol.documents import DocumentImageParams, DocumentImageResult

_MAX_LINE = 2**31
_LONG_CHARACTERS = 200_000
_CACHE = "private, no-cache"  # the browser asks again, and gets an answer at once while the file is the same
_PASSED_ON = ("image/jpeg", "image/png", "image/webp")
_MOST_LINKS = 1000
"""The maximum number of links that are resolved in a text; the others show what is written."""


class LongDocuments:
    """Remembers the long document that was read last: its parts follow each other."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._last: tuple[str, Rendering] | None = None

    async def answer(self, request: Request) -> Response:
        query = request.query_params
        work = self._body(query.get("ref", ""), _line(query.get("from")), alone="part" in query)
        body = await unless_gone(request, work)
        return cached(request, body, "application/json", _CACHE)

    async def _body(self, ref: str, line: int | None, *, alone: bool) -> bytes:
        first, rendering = 1, await self._remembered(ref) if line else None
        if rendering is None:
            first, rendering = await self._read(ref)
        has_html = line is not None or not rendering.is_paged
        links = await self._links(rendering.document.uri) if rendering.is_linked and has_html else []
        return await asyncio.to_thread(_body, rendering, line or first, links, alone=alone, has_html=has_html)

    async def _remembered(self, ref: str) -> Rendering | None:
        if self._last is None or self._last[0] != ref:
            return None
        rendering = self._last[1]
        known = rendering.document
        try:
            place = await self._client.call("document.locate", DocumentLocateParams(ref=ref), DocumentPlace)
        except GnoError:  # the file is gone, but its text may still be in the index
            return None
        is_same = (place.docid, place.modified, place.stale) == (known.docid, known.modified, known.stale)
        return rendering if is_same else None

    async def _links(self, ref: str) -> list[DocumentLink]:
        """Return the links of a document, as of now: other files may have changed."""
        params = DocumentLinksParams(ref=ref, direction="out", limit=_MOST_LINKS)
        try:
            return (await self._client.call("document.links", params, DocumentLinksResult)).links
        except GnoError:  # it was removed since it was read
            return []

    async def _read(self, ref: str) -> tuple[int, Rendering]:
        """Return the line that a reference names, and its whole document."""
        text = await self._client.call("document.get", _params(ref), DocumentText)
        first = text.start_line
        if first > 1 or text.end_line < text.total_lines:  # the reference has a line or a page
            text = await self._client.call("document.get", _params(text.uri), DocumentText)
        rendering = await asyncio.to_thread(_rendering, text)
        if len(text.text) > _LONG_CHARACTERS:
            self._last = (ref.partition("#")[0], rendering)
        return first, rendering


def _rendering(text: DocumentText) -> Rendering:
    from gnoctl.web.rendering.document import Rendering  # imports large libraries

    return Rendering(text)


def _body(rendering: Rendering, line: int, links: list[DocumentLink], *, alone: bool, has_html: bool) -> bytes:
    described = msgspec.to_builtins(rendering.document)
    del described["text"], described["line_map"], described["locations"]
    part = msgspec.to_builtins(rendering.part_at(line, links, alone=alone, has_html=has_html))
    return msgspec.json.encode({"document": described, "line": line, **part})


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


async def image(request: Request, client: AsyncClient) -> Response:
    query = request.query_params
    given = {"ref": query.get("ref"), "page": query.get("page"), "width_px": query.get("width", "1200")}
    try:
        params = msgspec.convert(given, DocumentImageParams, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidParams(f"the address is not valid: {error}") from None
    return await unless_gone(request, _image(request, client, params))


async def _image(request: Request, client: AsyncClient, params: DocumentImageParams) -> Response:
    """Answer what the browser has already without drawing it."""
    place = await client.call("document.locate", DocumentLocateParams(ref=params.ref), DocumentPlace)
    page = params.page or (place.location.page if place.location else None) or 1
    etag = f'"{place.docid.removeprefix("#")}-{page}-{params.width_px}"'
    if not place.stale and is_known(request, etag):
        return Response(status_code=304, headers={"ETag": etag, "Cache-Control": _CACHE})
    result = await client.call("document.image", params, DocumentImageResult)
    media = result.mime if result.mime in _PASSED_ON else "application/octet-stream"
    if result.stale:
        return cached(request, result.data, media, _CACHE)
    return Response(result.data, media_type=media, headers={"ETag": etag, "Cache-Control": _CACHE})
