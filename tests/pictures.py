"""Pictures of text, drawn with the fonts of this machine."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

_FONTS = {
    "latin": "dejavu/DejaVuSans.ttf",
    "cjk": "wqy/wqy-microhei.ttc",
}
_FOLDER = Path("/usr/share/fonts/truetype")


def drawn(*lines: str, font: str = "latin", size: int = 24, width: int = 800) -> Image.Image:
    """Return a white page with these lines. Skips the test where the font is missing."""
    path = _FOLDER / _FONTS[font]
    if not path.exists():
        pytest.skip(f"the font {path} is not installed")
    page = Image.new("RGB", (width, 60 + 2 * size * len(lines)), "white")
    draw, letters = ImageDraw.Draw(page), ImageFont.truetype(path, size)
    for number, line in enumerate(lines):
        draw.text((30, 30 + 2 * size * number), line, font=letters, fill="black")
    return page


def encoded(*pages: Image.Image, kind: str = "PNG") -> bytes:
    """Return the bytes of a picture; several pages for TIFF and PDF."""
    buffer = io.BytesIO()
    more = {"save_all": True, "append_images": pages[1:]} if len(pages) > 1 else {}
    pages[0].save(buffer, kind, **more)
    return buffer.getvalue()
