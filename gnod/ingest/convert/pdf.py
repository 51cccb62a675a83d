"""PDF: through markitdown, which finds tables; long ones through PDFium, which is a hundred times faster.

markitdown lays out every page twice in Python, which takes 0.25 s a page (measured): a book would exceed the time
limit.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from gnod.ingest.convert.bridge import through_markitdown
from gnod.ingest.convert.converter import Converter, FileContent
from gnod.ingest.convert.result import ConversionFailed, Converted, too_long

_HEADER = b"%PDF-"
_LONG_PAGES = 60
# Pages that PDFium cannot load, one after the other: files can claim a million.
_MAX_LOST_PAGES = 200
_TRAILER = b"%%EOF"
_TRAILER_REACH = 2048
_PASSWORD = re.compile(r"password|security", re.I)
# What word processors write there: the name of the file, not the title of the document.
_NO_TITLE = re.compile(
    r"(?:untitled|microsoft (?:word|powerpoint)|.*\.(?:docx?|pptx?|dvi|tex|indd|pdf|qxd|html?)\Z)", re.I
)
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
    result: Converted | None = None
    failure: ConversionFailed | None = None
    if opened is None or opened.pages <= _LONG_PAGES:
        try:
            result = through_markitdown("PdfConverter", data, extension="pdf")
        except ConversionFailed as error:
            failure = error
    if opened and not (result and result.markdown.strip()):
        result = _through_pdfium(data, content.max_characters)
    if not (result and result.markdown.strip()):
        raise _nothing_found(data, opened, failure)
    return msgspec.structs.replace(
        result, title=opened.title if opened else None, metadata=opened.metadata if opened else {}
    )


def _nothing_found(data: bytes, opened: _Opened | None, failure: ConversionFailed | None) -> ConversionFailed:
    """Say why there is no text."""
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
    return ConversionFailed("empty", "There is no text in the PDF; it may be a scan.")


def _open(data: bytes) -> _Opened | None:
    """Return what PDFium knows before it reads a page; None where it cannot open the file.

    Raises ConversionFailed (encrypted).
    """
    import pypdfium2  # type: ignore[import-untyped]

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


def _through_pdfium(data: bytes, max_characters: int) -> Converted:
    import pypdfium2

    document = pypdfium2.PdfDocument(data)
    parts: list[str] = []
    left = max_characters
    lost = 0
    try:
        for number in range(len(document)):
            text = _page_text(document, number)
            lost = lost + 1 if text is None else 0
            if lost >= _MAX_LOST_PAGES:
                break
            parts.append(text or "")
            left -= len(parts[-1])
            if left < 0:
                raise too_long(max_characters)
    finally:
        document.close()
    text = "\n\n".join(part for part in parts if part)
    return Converted(markdown=text, converter=f"pdfium/{pypdfium2.PYPDFIUM_INFO.version}")


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


PDF = Converter(label="a PDF document", mime="application/pdf", extensions="pdf", signature=_is_pdf, read=_read)
