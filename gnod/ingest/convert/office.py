"""Word, PowerPoint, EPUB and Outlook files, through markitdown; and what Office files say about
themselves."""

from __future__ import annotations

import html
import io
import re
import zipfile
from typing import NamedTuple

from gnod.ingest.convert.archive import check_unpacked, damage
from gnod.ingest.convert.bridge import Conversion, through_markitdown
from gnod.ingest.convert.result import ConversionFailed, Converted, Source

_OPEN_XML = "application/vnd.openxmlformats-officedocument."
DOCX_MIME = _OPEN_XML + "wordprocessingml.document"
PPTX_MIME = _OPEN_XML + "presentationml.presentation"
XLSX_MIME = _OPEN_XML + "spreadsheetml.sheet"
_PROPERTIES_LIMIT = 64 * 1024
# markitdown reads 250 KB of XML a second (measured): more than this would end at the time limit.
_FULL_LIMIT = 4_000_000
_PROPERTY = re.compile(r"<(dc:title|dc:creator|dcterms:created)\b[^<>]*>([^<]+)<")
_PIECE = re.compile(r"<(?:[wax]:)?t(?:\s[^<>]*)?>([^<]*)<|(</[wa]:p>|</(?:x:)?si>|<[wa]:br\b|<w:tab\b)")
_PLACEHOLDER_TITLE = re.compile(r"(?:untitled|powerpoint presentation|slide 1|document\d*|word document)\Z", re.I)


class Properties(NamedTuple):
    title: str | None
    metadata: dict[str, object]


def read_docx(source: Source) -> Converted:
    return _read_open_xml(source, "DocxConverter", DOCX_MIME, re.compile(r"word/(document|footnotes|header\d*)\.xml"))


def read_pptx(source: Source) -> Converted:
    return _read_open_xml(source, "PptxConverter", PPTX_MIME, re.compile(r"ppt/slides/slide\d+\.xml"))


def read_epub(source: Source) -> Converted:
    check_unpacked(source)
    book = through_markitdown("EpubConverter", source.data, extension="epub")
    return Converted(markdown=book.markdown, mime="application/epub+zip", converter=book.converter, title=book.title)


def read_msg(source: Source) -> Converted:
    message = through_markitdown("OutlookMsgConverter", source.data, extension="msg")
    return Converted(
        markdown=message.markdown,
        mime="application/vnd.ms-outlook",
        converter=message.converter,
        title=message.title,
    )


def properties(data: bytes) -> Properties:
    """Read title, author and date of an Office Open XML file; nothing where they are absent or odd."""
    text = _member(data, "docProps/core.xml", _PROPERTIES_LIMIT)
    found = {name: " ".join(html.unescape(value).split()) for name, value in _PROPERTY.findall(text)}
    named = {"author": found.get("dc:creator"), "date": found.get("dcterms:created")}
    title = found.get("dc:title")
    if title and _PLACEHOLDER_TITLE.match(title):
        title = None
    return Properties(title or None, {key: value for key, value in named.items() if value})


def _read_open_xml(source: Source, converter: str, mime: str, members: re.Pattern[str]) -> Converted:
    parts = [member for member in check_unpacked(source) if members.fullmatch(member.filename)]
    is_large = sum(part.file_size for part in parts) > _FULL_LIMIT
    result = _bare(source, members) if is_large else _converted(source, converter, mime, members)
    carried = properties(source.data)
    return Converted(
        markdown=result.markdown,
        mime=mime,
        converter=result.converter,
        title=carried.title,
        metadata=carried.metadata,
    )


def _converted(source: Source, converter: str, mime: str, members: re.Pattern[str]) -> Conversion:
    """What markitdown cannot read, or finds nothing in (text boxes), still gives its bare text."""
    failure: Exception | None = None
    extension = "docx" if mime == DOCX_MIME else "pptx"
    try:
        result = through_markitdown(converter, source.data, extension=extension)
        if result.markdown.strip():
            return result
    except (ConversionFailed, RecursionError) as error:
        failure = error
    bare = _bare(source, members)
    if failure and not bare.markdown.strip():
        raise damage(source) or failure
    return bare


def _bare(source: Source, members: re.Pattern[str]) -> Conversion:
    return Conversion(bare_text(source.data, members), None, "openxml-text/1")


def bare_text(data: bytes, members: re.Pattern[str]) -> str:
    """The runs of text, by pattern: no XML parser, so no entities and no depth."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = sorted((name for name in archive.namelist() if members.fullmatch(name)), key=_natural)
    except zipfile.BadZipFile:
        return ""
    return "\n\n".join(_runs(_member(data, name)) for name in names)


def _runs(xml: str) -> str:
    pieces: list[str] = []
    for piece in _PIECE.finditer(xml):
        pieces.append(html.unescape(piece[1]) if piece[1] is not None else "\n" if "tab" not in piece[2] else "\t")
    return "".join(pieces)


def _natural(name: str) -> tuple[int, str]:
    """slide2 before slide10."""
    return len(name), name


def _member(data: bytes, name: str, limit: int = -1) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(name) as member:
            return member.read(limit).decode("utf-8", "replace")
    except (KeyError, zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError, ValueError):
        return ""
    except Exception as error:
        if type(error).__name__ == "error":  # zlib.error
            return ""
        raise
