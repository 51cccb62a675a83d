"""Pages of PDF files and pictures as images for a screen. Pages are encoded again, so no byte of the file itself is
passed on; pictures in a note stay as they are, if a browser can show them."""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING

from gnod.ingest.formats.pdf.opening import opened
from gnod.ingest.reading import pictures
from gnod.ingest.reading.layers import ImageRead, PictureRead
from gnod.ingest.reading.result import ConversionFailed

if TYPE_CHECKING:
    from PIL.Image import Image

# A page of A4 that is as wide as a large screen has 3,600 rows.
_MAX_HEIGHT = 8_000
_MAX_PIXELS = 12_000_000
_QUALITY = 88
_WIDTH = 2_000  # of a large picture in a note
# Larger pictures are drawn anew: the browser would decode all of their pixels.
_SHOWN_PIXELS = 16_000_000
_SHOWN_BYTES = 4_000_000
_SVG_BYTES = 2_000_000
_OF_BROWSERS = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"})


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
        # The image is not larger than a screen, however long the page is.
        width_px = min(width, _MAX_HEIGHT / ratio, (_MAX_PIXELS / ratio) ** 0.5)
        image: Image = page.render(scale=width_px / shown_width, draw_annots=True).to_pil()
        return image, len(document)
