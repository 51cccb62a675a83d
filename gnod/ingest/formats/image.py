"""Converts photos, screenshots and scans. OCR reads their text later; until then, searches find them by name."""

from __future__ import annotations

from gnod.ingest.reading import pictures
from gnod.ingest.reading.converter import Converter, FileContent, any_of, riff_with, starts_with
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import ConversionFailed, Converted

_HEIC_BRANDS = (b"heic", b"heix", b"hevc", b"mif1", b"msf1")


def _read(content: FileContent) -> Converted:
    if not content.scans.wanted:
        raise ConversionFailed("needs_ocr", f"This {content.label} has no text: {content.scans.refusal}.")
    frames, mime, _ = pictures.header(content.data)
    parts = Parts("page", content.max_characters)
    for number in range(1, frames + 1):
        parts.add(content.scans.text(number), number)
    locations = parts.locations if frames > 1 else None
    return Converted(markdown=parts.markdown, mime=mime, converter="image/1", locations=locations)


def _is_heic(content: FileContent) -> bool:
    return content.data[4:8] == b"ftyp" and content.data[8:12] in _HEIC_BRANDS


def _is_bmp(content: FileContent) -> bool:
    return content.data.startswith(b"BM") and content.data[6:10] == bytes(4)


IMAGE = Converter(
    label="an image",
    mime="image/*",
    extensions="png jpg jpeg jpe tif tiff webp bmp heic heif",
    signature=any_of(
        starts_with(b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\x00", b"MM\x00*"),
        riff_with(b"WEBP"),
        _is_bmp,
        _is_heic,
    ),
    read=_read,
    images=True,
    remark="found by name until OCR has read the text",
)
