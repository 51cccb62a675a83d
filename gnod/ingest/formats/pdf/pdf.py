"""PDF, page by page: through markitdown, which finds tables; pages of long documents through PDFium, which is a hundred
times faster.

markitdown lays out every page twice in Python, which takes 0.25 s a page (measured): a book would exceed the time
limit.
"""

from __future__ import annotations

import io
import re
import time
from typing import NamedTuple

from gnod.ingest.formats.pdf.page_text import turned_text
from gnod.ingest.formats.pdf.text_layer import is_scan
from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.markitdown_bridge import through_markitdown
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import ConversionFailed, Converted
from gnod.ingest.reading.scans import Scans

_HEADER = b"%PDF-"
_LONG_PAGES = 60
# After this much processor time, the remaining pages go through PDFium.
_TABLES_LIMIT_S = 20.0
# Stop after this many pages in a row that PDFium cannot load: a file can claim a million.
_MAX_LOST_PAGES = 200
# In 134 real pages, 12 had 0.49 to 0.89 of the words that PDFium finds, all run together. The others had 0.94 and more.
_FEWEST_WORDS = 0.92
_WORD = re.compile(r"[^\W\d_]{2,}")
_TRAILER = b"%%EOF"
_TRAILER_REACH = 2048
_PASSWORD = re.compile(r"password|security", re.I)
# Word processors write these titles: they are the name of the file, not the title of the document.
_NO_TITLE = re.compile(
    r"(?:untitled|microsoft (?:word|powerpoint)|.*\.(?:docx?|pptx?|dvi|tex|indd|pdf|qxd|html?)\Z)", re.I
)
_CONVERTER = "pdf/2"
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)")


class _Opened(NamedTuple):
    pages: int
    readable: bool
    title: str | None
    metadata: dict[str, object]


def _is_pdf(content: FileContent) -> bool:
    """A file that is called so may have something else before the header."""
    return content.data.startswith(_HEADER) or (content.extension == "pdf" and _HEADER in content.head)


def _read(content: FileContent) -> Converted:
    # Offsets inside a PDF count from its header, whatever precedes it.
    data = content.data[max(0, content.data.find(_HEADER)) :]
    opened = _open(data)
    if opened is None:
        return _without_pages(data)
    parts = Parts("page", content.max_characters)
    _add_pages(data, parts, content.scans, with_tables=opened.pages <= _LONG_PAGES)
    if not parts.markdown and not content.scans.found:
        raise _nothing_found(data, opened, None, content.scans.refusal)
    return Converted(
        markdown=parts.markdown,
        converter=_CONVERTER,
        title=opened.title,
        metadata=opened.metadata,
        locations=parts.locations,
    )


def _without_pages(data: bytes) -> Converted:
    """Read a file that PDFium cannot open."""
    failure: ConversionFailed | None = None
    try:
        result = through_markitdown("PdfConverter", data, extension="pdf")
        if result.markdown.strip():
            return result
    except ConversionFailed as error:
        failure = error
    raise _nothing_found(data, None, failure)


def _add_pages(data: bytes, parts: Parts, scans: Scans, *, with_tables: bool) -> None:
    import pypdfium2  # type: ignore[import-untyped]

    document = pypdfium2.PdfDocument(data)
    started = time.process_time()
    lost = 0
    try:
        for number in range(len(document)):
            in_time = time.process_time() - started < _TABLES_LIMIT_S
            plain = _page_text(document, number)
            text = _turned_text(document, number)
            if text is None and with_tables and in_time:
                text = _page_with_tables(document, number)
            if not text or _lacks_words(text, plain or ""):
                text = plain
            lost = lost + 1 if text is None else 0
            if lost >= _MAX_LOST_PAGES:
                break
            if scans.wanted and text is not None and is_scan(document[number], text):
                text = scans.text(number + 1) or text
            parts.add(text or "", number + 1)
    finally:
        document.close()


def _turned_text(document: object, number: int) -> str | None:
    """Return the text of a page whose letters markitdown would read in the wrong order."""
    import pypdfium2

    try:
        return turned_text(document[number])  # type: ignore[index]
    except (pypdfium2.PdfiumError, ConversionFailed):
        return None


def _lacks_words(text: str, plain: str) -> bool:
    """Tell whether words of the page are run together: markitdown takes narrow gaps for none."""
    return _count_words(text) < _FEWEST_WORDS * _count_words(plain)


def _count_words(text: str) -> int:
    return sum(1 for _ in _WORD.finditer(text))


def _page_with_tables(document: object, number: int) -> str | None:
    """Return what markitdown reads from the page as a document of its own: of a whole document, it does not say where
    the pages end. None where it fails."""
    import pypdfium2

    single = pypdfium2.PdfDocument.new()
    buffer = io.BytesIO()
    try:
        single.import_pages(document, [number])
        single.save(buffer)
        return through_markitdown("PdfConverter", buffer.getvalue(), extension="pdf").markdown
    except (pypdfium2.PdfiumError, ConversionFailed, RecursionError):
        return None
    finally:
        single.close()


def _nothing_found(
    data: bytes, opened: _Opened | None, failure: ConversionFailed | None, refusal: str | None = None
) -> ConversionFailed:
    """Return why there is no text."""
    if failure and failure.kind not in ("corrupt", "timeout"):
        return failure
    if _TRAILER not in data[-_TRAILER_REACH:] and (failure or not opened):
        return ConversionFailed("corrupt", "The PDF is cut off: its end is missing.")
    if failure and failure.kind == "timeout":
        return failure
    if not opened:
        return ConversionFailed("corrupt", "The PDF is damaged: its structure cannot be read.")
    if not opened.pages:
        return ConversionFailed("corrupt", "The PDF is damaged: it has no pages.")
    if not opened.readable:
        return ConversionFailed("corrupt", f"The PDF is damaged: none of its {opened.pages:,} pages can be read.")
    if refusal is None:
        return ConversionFailed("empty", "The PDF has no text, and nothing that could be recognised.")
    return ConversionFailed("needs_ocr", f"The PDF has no text. It may be a scan: {refusal}.")


def _open(data: bytes) -> _Opened | None:
    """Return what PDFium can say before it reads a page; None if it cannot open the file. Raises ConversionFailed
    (encrypted).
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if _PASSWORD.search(str(error)):
            raise ConversionFailed("encrypted", "The PDF is protected by a password.") from error
        return None
    try:
        info = document.get_metadata_dict()
        pages = len(document)
        readable = any(_is_readable(document, number) for number in range(min(pages, _MAX_LOST_PAGES)))
        return _Opened(pages, readable, _title(info.get("Title", "")), _metadata(info))
    finally:
        document.close()


def _title(text: str) -> str | None:
    title = " ".join(text.split())
    return title if title and not _NO_TITLE.match(title) else None


def _metadata(info: dict[str, str]) -> dict[str, object]:
    found: dict[str, object] = {}
    if author := " ".join(info.get("Author", "").split()):
        found["author"] = author
    if date := _DATE.match(info.get("CreationDate", "")):
        found["date"] = "-".join(date.groups())
    return found


def _is_readable(document: object, number: int) -> bool:
    import pypdfium2

    try:
        document[number].close()  # type: ignore[index]
    except pypdfium2.PdfiumError:
        return False
    return True


def _page_text(document: object, number: int) -> str | None:
    """Return the text of a page; None where it is damaged."""
    import pypdfium2

    try:
        page = document[number]  # type: ignore[index]
        text_page = page.get_textpage()
        text = str(text_page.get_text_bounded())
        text_page.close()
        page.close()
    except pypdfium2.PdfiumError:
        return None
    return text.replace("\r\n", "\n").replace("\ufffe", "").strip()


PDF = Converter(
    label="a PDF document",
    mime="application/pdf",
    extensions="pdf",
    signature=_is_pdf,
    read=_read,
    images=True,
    location="page",
)
