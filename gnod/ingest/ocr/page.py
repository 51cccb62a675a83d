"""Recognise one page of a file: draw its picture, find its lines, and order its text. Runs in a worker."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnod.ingest.formats.office.package import embedded_picture
from gnod.ingest.formats.pdf import opened
from gnod.ingest.ocr import layout, rapid, tesseract
from gnod.ingest.ocr.layout import RecognisedBox, RecognisedLine
from gnod.ingest.ocr.readers import Reader
from gnod.ingest.reading import pictures
from gnod.store.tables.records import RecognisedPage

if TYPE_CHECKING:
    from PIL.Image import Image

_DPI = 150  # for pages of PDF files
_ZIP = b"PK\x03\x04"
# Boxes are stored as shares of the page's sides.
_WHOLE = 10_000
_NO_SCRIPT = "Its script cannot be read: install tesseract, which reads more languages (docs/ocr.md)."


def recognise(data: bytes, number: int, reader: Reader) -> RecognisedPage:
    """Return the text of a page. Raises ConversionFailed."""
    image = _picture(data, number)
    lines, turns, is_unreadable = rapid.read(image) if reader.rapid else rapid.PageReading([], 0, is_unreadable=True)
    if is_unreadable and reader.tesseract:
        lines, turns = tesseract.read(image, reader.tesseract), 0
    elif is_unreadable:
        return RecognisedPage(text="", confidence=0.0, boxes=b"", problem=_NO_SCRIPT)
    text, boxes = layout.text_of(layout.arranged(lines))
    return RecognisedPage(text=text, confidence=_confidence(lines), boxes=_packed(boxes, image.size, turns))


def _picture(data: bytes, number: int) -> Image:
    if data.startswith(_ZIP):
        return pictures.frame(embedded_picture(data, number), 1)
    if not pictures.is_pdf(data):
        return pictures.frame(data, number)
    with opened(data, number) as document:
        page = document[number - 1]
        scale = min(_DPI / 72, pictures.LONGEST / max(*page.get_size(), 1))
        image: Image = page.render(scale=scale, draw_annots=True).to_pil()
        return image.convert("RGB")


def _confidence(lines: Sequence[RecognisedLine]) -> float:
    """Return the mean confidence over all characters."""
    length = sum(len(line.text) for line in lines)
    return sum(len(line.text) * line.confidence for line in lines) / length if length else 0.0


def _packed(boxes: Sequence[RecognisedBox], size: tuple[int, int], turns: int) -> bytes:
    """Return four numbers of 16 bits for each line: left, top, right, bottom. The boxes refer to the picture after
    `turns`; the numbers refer to the original page."""
    width, height = size
    for turned in range(turns, 0, -1):
        right = width if turned % 2 else height  # the right side of the picture before this turn
        boxes = [RecognisedBox(right - box.bottom, box.left, right - box.top, box.right) for box in boxes]
    shares = [
        min(max(round(value * _WHOLE / side), 0), _WHOLE)
        for box in boxes
        for value, side in zip(box, (width, height, width, height), strict=True)
    ]
    return array("H", shares).tobytes()
