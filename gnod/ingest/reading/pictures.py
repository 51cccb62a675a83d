"""Decode the picture of one page of a file within limits. Must not depend on recognition."""

from __future__ import annotations

import io
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from gnod.ingest.reading.result import MAX_PAGES, ConversionFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PIL.Image import Image

# A page of A3 at 600 dpi has 70 megapixels.
MAX_PIXELS = 120_000_000
# Count one page more than are read, so that gnod can report pages that it does not read.
MAX_FRAMES = MAX_PAGES + 1
# Smaller pictures are symbols.
_MIN_WIDTH, _MIN_HEIGHT = 40, 16
# The maximum length of the longer side: A4 at 200 dpi. Larger pictures take longer and do not improve recognition.
LONGEST = 2_400
_FORMATS = ("PNG", "JPEG", "WEBP", "TIFF", "BMP", "HEIF", "GIF", "AVIF")
_DRIVERS = ("Png", "Jpeg", "WebP", "Tiff", "Bmp", "Gif", "Avif")
_NOT_READABLE = (OSError, SyntaxError, ValueError, EOFError, KeyError, IndexError, TypeError, OverflowError)


_PDF = b"%PDF-"
_SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*", b"RIFF", b"BM")
_ORIENTATION = 0x0112  # a tag of EXIF
_ON_ITS_SIDE = range(5, 9)


class PictureHeader(NamedTuple):
    """`frames`: the number of pages of the picture; 0: it is too small for text. `pixels`: the number for one page."""

    frames: int
    mime: str
    pixels: int


def header(data: bytes) -> PictureHeader:
    """Read the header of a picture without decoding it. Raises ConversionFailed (corrupt, too_large, unsupported)."""
    with _opened(data) as image:
        return PictureHeader(_frames(image), _mime(image.format or ""), image.width * image.height)


def _mime(kind: str) -> str:
    from PIL import Image

    return Image.MIME.get(kind, f"image/{kind.lower()}")


def _frames(image: Image) -> int:
    if image.width < _MIN_WIDTH or image.height < _MIN_HEIGHT:
        return 0
    if image.format != "TIFF":
        return 1
    number = 1
    while number < MAX_FRAMES and _seek(image, number):
        number += 1
    return number


def frame(data: bytes, number: int) -> Image:
    """Return a page of a picture, upright and scaled down. Raises ConversionFailed."""
    from PIL import ImageOps

    with _opened(data) as image:
        _turn_to(image, number)
        image.draft("RGB", (LONGEST, LONGEST))  # a JPEG is decoded at a fraction of its size
        try:
            return ImageOps.exif_transpose(_plain(image))
        except _NOT_READABLE as error:
            raise _damaged("its pixels cannot be decoded") from error


def size(data: bytes, number: int) -> tuple[int, int]:
    """Return the width and the height of a page of a picture in pixels, upright. Raises ConversionFailed."""
    with _opened(data) as image:
        _turn_to(image, number)
        is_turned = image.getexif().get(_ORIENTATION) in _ON_ITS_SIDE
        return (image.height, image.width) if is_turned else (image.width, image.height)


def is_pdf(data: bytes) -> bool:
    """Return whether a file is a PDF and not a picture. Some PDFs do not begin with their signature."""
    return _PDF in data[:8192] and not data.startswith(_SIGNATURES)


@contextmanager
def _opened(data: bytes) -> Iterator[Image]:
    """Open a picture without decoding it."""
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # this would warn at 90 megapixels; the limit here is MAX_PIXELS
    _register_heif()
    try:
        image = Image.open(io.BytesIO(data), formats=[name for name in _FORMATS if name in _known()])
    except _NOT_READABLE as error:
        if data[4:8] == b"ftyp":
            raise ConversionFailed("unsupported", "HEIC images need the package pillow-heif.") from error
        raise _damaged("its header cannot be read") from error
    with image:
        _check_size(image)
        yield image


def _register_heif() -> None:
    try:
        import pillow_heif  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return
    pillow_heif.register_heif_opener()


def _known() -> set[str]:
    """Load the drivers of these formats only: Pillow has forty, and a user may be waiting for the picture."""
    from PIL import Image

    for driver in _DRIVERS:
        with suppress(ImportError):
            import_module(f"PIL.{driver}ImagePlugin")
    return set(Image.OPEN)


def _check_size(image: Image) -> None:
    pixels = image.width * image.height
    if pixels > MAX_PIXELS:
        message = f"The image has {pixels / 1e6:,.0f} megapixels; at most {MAX_PIXELS / 1e6:,.0f} are read."
        raise ConversionFailed("too_large", message)


def _turn_to(image: Image, number: int) -> None:
    if number > 1 and not (image.format == "TIFF" and _seek(image, number - 1)):
        raise ConversionFailed("corrupt", f"The image has no page {number}.")
    _check_size(image)


def _seek(image: Image, number: int) -> bool:
    try:
        image.seek(number)
    except _NOT_READABLE:
        return False
    return True


def _plain(image: Image) -> Image:
    """Return a picture in RGB on white, at most LONGEST pixels long, with its metadata."""
    from PIL import Image

    image.load()
    if image.mode == "1":
        image = image.convert("L")  # scaling without greys would break letters
    elif image.mode in ("P", "PA"):
        image = image.convert("RGBA" if "transparency" in image.info or image.mode == "PA" else "RGB")
    image.thumbnail((LONGEST, LONGEST))
    if image.mode.startswith("I") or image.mode == "F":  # 16 bits
        low, high = image.getextrema()
        scale = 255 / max(float(high) - float(low), 1.0)  # type: ignore[arg-type]
        image = image.point(lambda value: (value - low) * scale).convert("L")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        clear = image.convert("RGBA")
        page = Image.new("RGBA", clear.size, "white")
        page.alpha_composite(clear)
        page.info = image.info
        image = page
    return image.convert("RGB")


def _damaged(what: str) -> ConversionFailed:
    return ConversionFailed("corrupt", f"The image is damaged: {what}.")
