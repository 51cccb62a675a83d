"""Reads PDF files with PDFium: text, pages as pictures, and characters with their boxes.

`gnod.ingest.ocr` recognises pages without text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gnod.ingest.reading.result import ConversionFailed

HEADER = b"%PDF-"
_TRAILER = b"%%EOF"
_TRAILER_REACH = 2048
_PASSWORD = re.compile(r"password|security", re.I)


@contextmanager
def opened(data: bytes, number: int | None = None) -> Iterator[Any]:
    """Open a PDF file for a block. If `number` is given, the file must have that page. Raises ConversionFailed, also
    for errors of PDFium in the block."""
    import pypdfium2  # type: ignore[import-untyped]

    try:
        # Offsets in a PDF count from its header, so skip all bytes before it.
        document = pypdfium2.PdfDocument(data[max(0, data.find(HEADER)) :])
    except pypdfium2.PdfiumError as error:
        raise _not_opened(data, error) from error
    try:
        document.init_forms()
        if number is not None and not 0 < number <= len(document):
            raise ConversionFailed("corrupt", f"The PDF has {len(document):,} pages, so it has no page {number:,}.")
        yield document
    except pypdfium2.PdfiumError as error:
        where = "The PDF" if number is None else f"Page {number:,} of the PDF"
        raise ConversionFailed("corrupt", f"{where} is damaged.") from error
    finally:
        document.close()


def _not_opened(data: bytes, error: Exception) -> ConversionFailed:
    if _PASSWORD.search(str(error)):
        return ConversionFailed("encrypted", "The PDF is protected by a password.")
    if _TRAILER not in data[-_TRAILER_REACH:]:
        return ConversionFailed("corrupt", "The PDF is cut off: its end is missing.")
    return ConversionFailed("corrupt", "The PDF is damaged: its structure cannot be read.")
