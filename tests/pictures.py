"""Make pictures of text with the fonts of this machine, and one that claims a size."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

_FONTS = {
    "latin": "dejavu/DejaVuSans.ttf",
    "cjk": "wqy/wqy-microhei.ttc",
}
_FOLDER = Path("/usr/share/fonts/truetype")


def drawn(*lines: str, font: str = "latin", size: int = 24, width: int = 800) -> Image.Image:
    """Return a white page with these lines. Skips the test if the font is missing."""
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


def png_header(width: int, height: int) -> bytes:
    """Return a picture of a few bytes whose header claims a size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
