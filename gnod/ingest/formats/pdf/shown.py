"""Renders PDF pages and pictures for the screen: images, selectable text and links. Must not depend on queries.

Pages are re-encoded, so that no byte of the file is passed on. Pictures in a note stay unchanged if a browser can show
them.
"""

from __future__ import annotations

import ctypes
import hashlib
import io
import math
import re
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from gnod.ingest.formats.pdf import opened
from gnod.ingest.formats.pdf.annotations import annotated
from gnod.ingest.formats.pdf.page_text import PageText, on_screen, read_text
from gnod.ingest.reading import pictures
from gnod.ingest.reading.layers import ImageRead, LayerRead, LayersRead, LinkArea, OutlineMark, PictureRead, runs_of
from gnod.ingest.reading.result import ConversionFailed

if TYPE_CHECKING:
    from PIL.Image import Image

# An A4 page as wide as a large screen has 3,600 rows.
_MAX_HEIGHT = 8_000
_MAX_PIXELS = 12_000_000
_QUALITY = 88
_WIDTH = 2_000  # pixels, of a large picture in a note
# Larger pictures are scaled down, because the browser would decode all of their pixels.
_SHOWN_PIXELS = 16_000_000
_SHOWN_BYTES = 4_000_000
_SVG_BYTES = 2_000_000
_OF_BROWSERS = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})
_MAX_RUNS = 10_000
_MAX_LINKS = 1_000
_MAX_OUTLINE = 5_000
_MAX_ADDRESS_BYTES = 2_048
_EXTERNAL = re.compile(r"(https?://|mailto:)", re.I)


def draw_page(data: bytes, number: int, width: int) -> ImageRead:
    """Return a page at most `width` pixels wide; the first is 1. Raises ConversionFailed."""
    if pictures.is_pdf(data):
        image, pages = _pdf_page(data, number, width)
    else:
        image, pages = pictures.frame(data, number), max(1, pictures.header(data).frames)
        image.thumbnail((width, _MAX_HEIGHT))
    encoded = io.BytesIO()
    image.convert("RGB").save(encoded, "JPEG", quality=_QUALITY)
    return ImageRead(
        source_hash=hashlib.sha256(data).hexdigest(),
        mime="image/jpeg",
        width=image.width,
        height=image.height,
        pages=pages,
        data=encoded.getvalue(),
    )


def shown_picture(data: bytes, *, is_svg: bool) -> PictureRead:
    """Return a picture for a browser. Raises ConversionFailed (corrupt, too_large, unsupported)."""
    if is_svg:
        return PictureRead(mime="image/svg+xml", data=_checked_svg(data))
    _, mime, pixels = pictures.header(data)
    if mime in _OF_BROWSERS and pixels <= _SHOWN_PIXELS and len(data) <= _SHOWN_BYTES:
        return PictureRead(mime=mime, data=data)
    drawn = draw_page(data, 1, _WIDTH)
    return PictureRead(mime=drawn.mime, data=drawn.data)


def _checked_svg(data: bytes) -> bytes:
    if len(data) > _SVG_BYTES:
        size = f"The SVG has {len(data) / 1e6:,.1f} MB; at most {_SVG_BYTES / 1e6:,.0f} MB are shown."
        raise ConversionFailed("too_large", size)
    if b"<svg" not in data.replace(b"\0", b""):  # UTF-16 has zeros
        raise ConversionFailed("corrupt", "The file is not an SVG.")
    return data


def _pdf_page(data: bytes, number: int, width: int) -> tuple[Image, int]:
    with opened(data, number) as document:
        page = document[number - 1]
        shown_width, shown_height = (max(side, 1.0) for side in page.get_size())
        ratio = shown_height / shown_width
        # Limit the image to the size of a screen, even for long pages.
        width_px = min(width, _MAX_HEIGHT / ratio, (_MAX_PIXELS / ratio) ** 0.5)
        image: Image = page.render(scale=width_px / shown_width, draw_annots=True).to_pil()
        return image, len(document)


def read_layers(data: bytes, first: int, count: int) -> LayersRead:
    """Return up to `count` pages from page `first`; the first page is 1. Raises ConversionFailed."""
    source_hash = hashlib.sha256(data).hexdigest()
    if not pictures.is_pdf(data):
        layer = LayerRead(first, *pictures.size(data, first), [], [])
        frames = max(1, pictures.header(data).frames)
        return LayersRead(source_hash=source_hash, pages=frames, layers=[layer], outline=[])
    with opened(data, first) as document:
        numbers = range(first, min(first + count, len(document) + 1))
        return LayersRead(
            source_hash=source_hash,
            pages=len(document),
            layers=[_layer(document, number) for number in numbers],
            outline=list(_outline(document)) if first == 1 else [],
        )


def _layer(document: Any, number: int) -> LayerRead:
    """Return a page, without its text if the text is too long."""
    links = list(islice(_links(document, document[number - 1]), _MAX_LINKS))
    page = annotated(document, number - 1).page
    try:
        read = read_text(page)
    except ConversionFailed:
        width, height = page.get_size()
        read = PageText(width, height, "", array("f"))
    runs = list(islice(runs_of(read.text, read.boxes), _MAX_RUNS))
    return LayerRead(number, read.width, read.height, runs, links)


def _links(document: Any, page: Any) -> Iterator[LinkArea]:
    from pypdfium2 import raw  # type: ignore[import-untyped]

    shown = on_screen(page.get_bbox(), page.get_rotation())
    place, link, rect = ctypes.c_int(0), raw.FPDF_LINK(), raw.FS_RECTF()
    while raw.FPDFLink_Enumerate(page, ctypes.byref(place), ctypes.byref(link)):
        box = (rect.left, rect.bottom, rect.right, rect.top) if raw.FPDFLink_GetAnnotRect(link, rect) else ()
        if len(box) == 4 and all(map(math.isfinite, box)) and (target := _target(document, link)):
            yield LinkArea(*shown(box), **target)


def _target(document: Any, link: Any) -> dict[str, Any]:
    """Return the field of LinkArea with the target of a link; {} if the target cannot be opened here."""
    from pypdfium2 import raw

    action = raw.FPDFLink_GetAction(link)
    if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_URI:
        address = ctypes.create_string_buffer(_MAX_ADDRESS_BYTES)
        raw.FPDFAction_GetURIPath(document, action, address, _MAX_ADDRESS_BYTES)
        found = address.value.decode("utf-8", "replace")
        return {"address": found} if _EXTERNAL.match(found) else {}
    destination = raw.FPDFLink_GetDest(document, link)
    page = raw.FPDFDest_GetDestPageIndex(document, destination) if destination else -1
    return {"page": page + 1} if 0 <= page < len(document) else {}


def _outline(document: Any) -> Iterator[OutlineMark]:
    for entry in islice(document.get_toc(), _MAX_OUTLINE):
        destination, title = entry.get_dest(), entry.get_title().strip()
        page = destination.get_index() if destination else None
        if title and page is not None and page >= 0:
            yield OutlineMark(entry.level + 1, title, page + 1)
