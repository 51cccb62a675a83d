"""Pages of PDF files and pictures as images for a screen. They are encoded again, so no byte of the file itself is
passed on."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

from gnod.ingest.formats.pdf import page_text
from gnod.ingest.reading import pictures

if TYPE_CHECKING:
    from PIL.Image import Image

# A page of A4 that is as wide as a large screen has 3,600 rows.
_MAX_HEIGHT = 8_000
_MAX_PIXELS = 12_000_000
_QUALITY = 88


class DrawnPage(NamedTuple):
    mime: str
    width: int
    height: int
    pages: int
    data: bytes


def draw_page(data: bytes, number: int, width: int) -> DrawnPage:
    """Return a page at most `width` pixels wide; the first is 1. Raises ConversionFailed."""
    if pictures.is_pdf(data):
        image, pages = _pdf_page(data, number, width)
    else:
        image, pages = pictures.frame(data, number), max(1, pictures.header(data).frames)
        image.thumbnail((width, _MAX_HEIGHT))
    encoded = io.BytesIO()
    image.convert("RGB").save(encoded, "JPEG", quality=_QUALITY)
    return DrawnPage("image/jpeg", image.width, image.height, pages, encoded.getvalue())


def _pdf_page(data: bytes, number: int, width: int) -> tuple[Image, int]:
    with page_text.opened(data, number) as document:
        page = document[number - 1]
        shown_width, shown_height = (max(side, 1.0) for side in page.get_size())
        ratio = shown_height / shown_width
        # The image is not larger than a screen, however long the page is.
        width_px = min(width, _MAX_HEIGHT / ratio, (_MAX_PIXELS / ratio) ** 0.5)
        image: Image = page.render(scale=width_px / shown_width, draw_annots=True).to_pil()
        return image, len(document)
