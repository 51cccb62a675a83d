"""What can be selected and followed on PDF pages, through PDFium: runs of text with their boxes, links,
and the outline.

Must not depend on queries or on how the pages are shown.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import re
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Any

from gnod.ingest.formats.pdf.annotations import annotated
from gnod.ingest.formats.pdf.opening import opened
from gnod.ingest.formats.pdf.page_text import PageText, on_screen, read_text
from gnod.ingest.reading import pictures
from gnod.ingest.reading.layers import LayerRead, LayersRead, LinkArea, OutlineMark, runs_of
from gnod.ingest.reading.result import ConversionFailed

_MAX_RUNS = 10_000
_MAX_LINKS = 1_000
_MAX_OUTLINE = 5_000
_MAX_ADDRESS_BYTES = 2_048
_EXTERNAL = re.compile(r"(https?://|mailto:)", re.I)


def read_layers(data: bytes, first: int, count: int) -> LayersRead:
    """Return up to `count` pages from the page `first`, from 1. Raises ConversionFailed."""
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
    """Return a page; one with too much text has none here."""
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
    """Return the field of LinkArea that says where a link leads; {}: to nothing that can be opened here."""
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
