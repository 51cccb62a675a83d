"""Converts PDF files page by page, with filled-in fields and comments. Attached files become members."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from gnod.ingest.formats.pdf import HEADER, opened
from gnod.ingest.formats.pdf.annotations import Annotated, annotated, members, xfa_texts
from gnod.ingest.formats.pdf.flow import readable
from gnod.ingest.formats.pdf.page_text import plain_text
from gnod.ingest.formats.pdf.text_layer import is_garbage, is_picture
from gnod.ingest.formats.pdf.titles import title_of
from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import ConversionFailed, Converted, authorship, no_members, too_long
from gnod.ingest.reading.versions import versioned

# Stop after this many successive pages that PDFium cannot load: a file can claim a million pages.
_MAX_LOST_PAGES = 200
_MAX_LISTED = 10
_CONVERTER = versioned("pdf")
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)")


class _Pages:
    """The pages read so far. `notes`: values of fields and comments of each page. `unread`: pages that still need
    OCR."""

    def __init__(self, content: FileContent) -> None:
        self.texts: list[str] = []
        self.notes: list[list[str]] = []
        self.lost: list[int] = []
        self.unread: list[int] = []
        self.attached: list[tuple[int, int]] = []
        self._scans = content.scans
        self._max_characters = self._left = content.max_characters

    def read(self, document: Any) -> None:
        import pypdfium2  # type: ignore[import-untyped]

        for number in range(len(document)):
            try:
                self._add(annotated(document, number), number)
            except pypdfium2.PdfiumError:
                self.lost.append(number + 1)
                self.texts.append("")
                self.notes.append([])
            if self.lost[-_MAX_LOST_PAGES:] == [*range(number + 2 - _MAX_LOST_PAGES, number + 2)]:
                break
        if self.notes:
            self.notes[0] += xfa_texts(document)

    def _add(self, found: Annotated, number: int) -> None:
        text = plain_text(found.page)
        garbage = is_garbage(text)
        if garbage or is_picture(found.page, text):
            if not self._scans.wanted:
                self.unread.append(number + 1)
            text = self._scans.text(number + 1) or ("" if garbage else text)
        found.page.close()
        self._left -= len(text)
        if self._left < 0:
            raise too_long(self._max_characters)
        words = f" {' '.join(text.split())} "
        self.texts.append(text)
        self.notes.append(
            [value for value in found.values if value and f" {value} " not in words]
            + [f"Annotation: {comment}" for comment in found.comments]
        )
        self.attached += [(number, at) for at in found.attached]

    @property
    def left_out(self) -> dict[str, str]:
        """Return a description of the missing pages, by kind."""
        found = {}
        if self.unread:
            found["needs_ocr"] = f"{_listed(self.unread)} without readable text ({self._scans.refusal})"
        if self.lost:
            found["corrupt"] = f"{_listed(self.lost)}, damaged"
        return found


def _is_pdf(content: FileContent) -> bool:
    """Recognise a PDF. If it has the extension, other bytes may precede the header."""
    return content.data.startswith(HEADER) or (content.extension == "pdf" and HEADER in content.head)


def _read(content: FileContent) -> Converted:
    pages = _Pages(content)
    with opened(content.data) as document:
        pages.read(document)
        info = document.get_metadata_dict()
        has_members = bool(pages.attached) or document.count_attachments() > 0
        title = title_of(document, info.get("Title", ""), has_text=bool(pages.texts and pages.texts[0]))
        parts = Parts("page", content.max_characters)
        for number, (text, notes) in enumerate(zip(readable(pages.texts), pages.notes, strict=True), start=1):
            parts.add("\n".join(filter(None, (text, *notes))), number)
        if not parts.markdown and not content.scans.found and not has_members:
            raise _nothing_found(len(document), pages, content.scans.refusal)
    return Converted(
        markdown=parts.markdown,
        markup="plain",
        converter=_CONVERTER,
        title=title,
        metadata=_metadata(info),
        locations=parts.locations,
        members=partial(members, content, pages.attached) if has_members else no_members,
        left_out=pages.left_out,
    )


def _listed(numbers: Sequence[int]) -> str:
    shown = ", ".join(f"{number:,}" for number in numbers[:_MAX_LISTED])
    more = f" and {len(numbers) - _MAX_LISTED:,} more" if len(numbers) > _MAX_LISTED else ""
    return f"page{'s' if len(numbers) > 1 else ''} {shown}{more}"


def _nothing_found(count: int, pages: _Pages, refusal: str | None) -> ConversionFailed:
    if not count:
        return ConversionFailed("corrupt", "The PDF is damaged: it has no pages.")
    if len(pages.lost) == len(pages.texts):
        return ConversionFailed("corrupt", f"The PDF is damaged: none of its {count:,} pages can be read.")
    if refusal is None:
        return ConversionFailed("empty", "The PDF has no text, and OCR found none.")
    return ConversionFailed("needs_ocr", f"The PDF has no readable text. It may be a scan: {refusal}.")


def _metadata(info: dict[str, str]) -> dict[str, object]:
    date = None
    if match := _DATE.match(info.get("CreationDate", "")):
        with contextlib.suppress(ValueError):  # some programs write years with five digits
            date = dt.date(*map(int, match.groups())).isoformat()
    return authorship(" ".join(info.get("Author", "").split()), date)


PDF = Converter(
    label="a PDF document",
    mime="application/pdf",
    extensions="pdf",
    signature=_is_pdf,
    read=_read,
    images=True,
    location="page",
    remark="form fields and comments are read; attached files become documents",
)
