"""`GET /api/document`: a document as HTML, part by part. Its text comes from the daemon."""

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

_MAX_LINE = 2**31
_LONG_CHARACTERS = 200_000
_MOST_LINKS = 1000
"""The maximum number of links that are resolved in a text; the others show what is written."""


class LongDocuments:
    """Remembers the long document that was read last: its parts follow each other."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._last: tuple[str, int, Rendering] | None = None

    async def answer(self, request: Request) -> Response:
        ref, line = request.query_params.get("ref", ""), _line(request.query_params.get("from"))
        body = await unless_gone(request, self._body(ref, line))
        return cached(request, body, "application/json", "private, no-cache")

    async def _body(self, ref: str, line: int | None) -> bytes:
        first, rendering = await self._remembered(ref) or await self._read(ref)
        links = await self._links(rendering.document.uri) if rendering.is_linked else []
        return await asyncio.to_thread(_body, rendering, line or first, links)

    async def _remembered(self, ref: str) -> tuple[int, Rendering] | None:
        if self._last is None or self._last[0] != ref:
            return None
        _, first, rendering = self._last
        known = rendering.document
        try:
            place = await self._client.call("document.locate", DocumentLocateParams(ref=ref), DocumentPlace)
        except GnoError:  # the file is gone, but its text may still be in the index
            return None
        is_same = (place.docid, place.modified, place.stale) == (known.docid, known.modified, known.stale)
        return (first, rendering) if is_same else None

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
            self._last = (ref, first, rendering)
        return first, rendering


def _rendering(text: DocumentText) -> Rendering:
    from gnoctl.web.rendering.document import Rendering  # imports large libraries

    return Rendering(text)


def _body(rendering: Rendering, line: int, links: list[DocumentLink]) -> bytes:
    described = msgspec.to_builtins(rendering.document)
    del described["text"], described["line_map"], described["locations"]
    return msgspec.json.encode({"document": described, **msgspec.to_builtins(rendering.part_at(line, links))})


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
