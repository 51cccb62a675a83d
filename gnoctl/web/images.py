"""`GET /api/image`: a page of a PDF file, or a picture, as the daemon's converter has drawn it."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from gnoctl.web.static_files import cached, is_known
from gnoctl.web.streaming import unless_gone
from gnod.client import AsyncClient
from gnod.errors import InvalidParams
from gnod.protocol.documents import DocumentImageParams, DocumentImageResult, DocumentLocateParams, DocumentPlace

_CACHE = "private, no-cache"  # the browser asks again, and gets an answer at once while the file is the same
_PASSED_ON = ("image/jpeg", "image/png", "image/webp")


async def image(request: Request, client: AsyncClient) -> Response:
    query = request.query_params
    given = {"ref": query.get("ref"), "page": query.get("page"), "width_px": query.get("width", "1200")}
    try:
        params = msgspec.convert(given, DocumentImageParams, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidParams(f"the address is not valid: {error}") from None
    return await unless_gone(request, _answer(request, client, params))


async def _answer(request: Request, client: AsyncClient, params: DocumentImageParams) -> Response:
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
