"""`GET /api/document`: a document as HTML, part by part. `GET /api/raw`: its unchanged text. `GET /api/image`: a page
of a PDF file, or a picture. `GET /api/picture`: a picture in a document.

Texts and images come from the daemon.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from gnoctl.web.static_files import cached, is_known
from gnoctl.web.streaming import unless_gone
from gnod.client import AsyncClient
from gnod.errors import GnoError, InvalidParams
from gnod.protocol.base import Params
from gnod.protocol.documents import (
    DocumentEntry,
    DocumentGetParams,
    DocumentImageParams,
    DocumentImageResult,
    DocumentListParams,
    DocumentListResult,
    DocumentLocateParams,
    DocumentPictureParams,
    DocumentPictureResult,
    DocumentPlace,
    DocumentText,
)
from gnod.protocol.links import DocumentLink, DocumentLinksParams, DocumentLinksResult

if TYPE_CHECKING:
    from gnoctl.web.rendering.document import Rendering
    from gnoctl.web.rendering.embeds import EmbeddedNote

P = TypeVar("P", bound=Params)

_MAX_LINE = 2**31
_LONG_CHARACTERS = 200_000
_CACHE = "private, no-cache"  # the browser revalidates, and gets an answer at once while the file is unchanged
_PASSED_ON = ("image/jpeg", "image/png", "image/webp")
_PICTURES = (*_PASSED_ON, "image/gif", "image/avif", "image/svg+xml")
# If a browser opens the address of a picture as a page, an SVG runs no script and loads nothing.
_PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_MOST_EMBEDDED = 30
_DEEPEST = 3
_BASE = ".base"
_MOST_LINKS = 1000
"""The maximum number of links that are resolved in a text. The others appear as written."""


class LongDocuments:
    """Remembers the long document that was read last, because the browser requests its parts one by one."""

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
        line = line or first
        reading = _Related(self._client)
        document = rendering.document
        links = await reading.links(document.uri) if rendering.is_linked and has_html else []
        embedded = await reading.embedded(links, rendering.lines_at(line), ((document.uri, ""),))
        return await asyncio.to_thread(_body, rendering, line, links, embedded, alone=alone, has_html=has_html)

    async def _remembered(self, ref: str) -> Rendering | None:
        if self._last is None or self._last[0] != ref:
            return None
        rendering = self._last[1]
        known = rendering.document
        try:
            place = await self._client.call("document.locate", DocumentLocateParams(ref=ref), DocumentPlace)
        except GnoError:  # the file does not exist, but its text may still be in the index
            return None
        is_same = (place.docid, place.modified, place.stale) == (known.docid, known.modified, known.stale)
        return rendering if is_same else None

    async def _read(self, ref: str) -> tuple[int, Rendering]:
        """Return the line that a reference names, and the whole document."""
        text = await self._client.call("document.get", _params(ref), DocumentText)
        first = text.start_line
        if first > 1 or text.end_line < text.total_lines:  # the reference has a line or a page
            text = await self._client.call("document.get", _params(text.uri), DocumentText)
        listed = await _Related(self._client).listed(text.collection) if text.path.lower().endswith(_BASE) else []
        rendering = await asyncio.to_thread(_rendering, text, listed)
        if len(text.text) > _LONG_CHARACTERS:
            self._last = (ref.partition("#")[0], rendering)
        return first, rendering


class _Related:
    """Fetches what a part of a document needs from other documents, anew each time, because other files may have
    changed."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._left = _MOST_EMBEDDED
        self._listed: dict[str, list[DocumentEntry]] = {}

    async def links(self, ref: str) -> list[DocumentLink]:
        params = DocumentLinksParams(ref=ref, direction="out", limit=_MOST_LINKS)
        try:
            return (await self._client.call("document.links", params, DocumentLinksResult)).links
        except GnoError:  # the document was removed after it was read
            return []

    async def listed(self, collection: str) -> list[DocumentEntry]:
        """Return the documents of a collection with their metadata, from which a base selects."""
        from gnoctl.web.rendering.bases import MOST_LISTED

        params = DocumentListParams(scope=collection, metadata=True, limit=MOST_LISTED)
        if collection not in self._listed:
            try:
                result = await self._client.call("document.list", params, DocumentListResult)
            except GnoError:
                return []
            self._listed[collection] = result.documents
        return self._listed[collection]

    async def embedded(
        self, links: list[DocumentLink], lines: tuple[int, int], above: tuple[tuple[str | None, str], ...]
    ) -> dict[str, EmbeddedNote]:
        """Return the notes that some lines embed, by the text of the embed. `above`: the documents, with places, that
        contain these lines; embedding one of them again would be a cycle."""
        from gnoctl.web.rendering import embeds

        found: dict[str, EmbeddedNote] = {}
        for link in links if len(above) <= _DEEPEST else ():
            is_new = link.target not in found and lines[0] <= link.line <= lines[1]
            place = (link.to, link.fragment)
            if is_new and embeds.is_embedded(link) and place not in above and self._left > 0:
                self._left -= 1
                note = await self._note(link, (*above, place))
                found |= {link.target: note} if note else {}
        return found

    async def _note(self, link: DocumentLink, above: tuple[tuple[str | None, str], ...]) -> EmbeddedNote | None:
        from gnoctl.web.rendering import embeds

        assert link.to
        try:
            text = await self._client.call("document.get", DocumentGetParams(ref=link.to), DocumentText)
        except GnoError:  # the note was removed after the link was read
            return None
        if text.path.lower().endswith(_BASE):
            return embeds.EmbeddedNote(link, text, listed=await self.listed(text.collection))
        links = await self.links(link.to) if "[[" in text.text or "](" in text.text else []
        shown = await asyncio.to_thread(embeds.shown_lines, text, link)
        return embeds.EmbeddedNote(link, text, links, await self.embedded(links, shown, above))


def _rendering(text: DocumentText, listed: list[DocumentEntry]) -> Rendering:
    from gnoctl.web.rendering.document import Rendering  # imports large libraries

    return Rendering(text, listed)


def _body(
    rendering: Rendering,
    line: int,
    links: list[DocumentLink],
    embedded: dict[str, EmbeddedNote],
    *,
    alone: bool,
    has_html: bool,
) -> bytes:
    described = msgspec.to_builtins(rendering.document)
    del described["text"], described["line_map"], described["locations"]
    part = msgspec.to_builtins(rendering.part_at(line, links, embedded, alone=alone, has_html=has_html))
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


async def raw(request: Request, client: AsyncClient) -> Response:
    params = _params(request.query_params.get("ref", ""))
    text = await unless_gone(request, client.call("document.get", params, DocumentText))
    return cached(request, text.text.encode(), "text/plain", _CACHE)


async def image(request: Request, client: AsyncClient) -> Response:
    query = request.query_params
    given = {"ref": query.get("ref"), "page": query.get("page"), "width_px": query.get("width", "1200")}
    return await unless_gone(request, _image(request, client, _converted(given, DocumentImageParams)))


async def picture(request: Request, client: AsyncClient) -> Response:
    params = _converted(dict(request.query_params), DocumentPictureParams)
    result = await unless_gone(request, client.call("document.picture", params, DocumentPictureResult))
    media = result.mime if result.mime in _PICTURES else "application/octet-stream"
    response = cached(request, result.data, media, _CACHE)
    response.headers["Content-Security-Policy"] = _PICTURE_POLICY
    return response


def _converted(given: dict[str, str | None], kind: type[P]) -> P:
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidParams(f"the address is not valid: {error}") from None


async def _image(request: Request, client: AsyncClient, params: DocumentImageParams) -> Response:
    """If the browser already has the image, answer without drawing it."""
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
