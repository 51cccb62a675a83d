"""Word, PowerPoint and EPUB files, through markitdown."""

from __future__ import annotations

import re

import msgspec

from gnod.ingest.formats.office import embedded, openxml
from gnod.ingest.formats.office.epub import read_epub
from gnod.ingest.reading.converter import Converter, FileContent, ole_with, password_protected, zip_with
from gnod.ingest.reading.markitdown_bridge import through_markitdown
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import ConversionFailed, Converted
from gnod.ingest.reading.unpacking import check_unpacked, damage

# markitdown reads 250 KB of XML a second (measured), so a larger file would reach the time limit.
_FULL_LIMIT = 4_000_000
_DOCX_PARTS = re.compile(r"word/(document|footnotes|header\d*)\.xml")
_PPTX_PARTS = re.compile(r"ppt/slides/slide\d+\.xml")
# markitdown begins each slide like this.
_SLIDE = re.compile(r"^<!-- Slide number: (\d+) -->$", re.MULTILINE)


def _read_epub(content: FileContent) -> Converted:
    return _with_pictures(read_epub(content), content)


def _read_docx(content: FileContent) -> Converted:
    return _with_pictures(_read_open_xml(content, "DocxConverter", "docx", _DOCX_PARTS), content)


def _with_pictures(converted: Converted, content: FileContent) -> Converted:
    """Add what was recognised in the pictures, behind the text."""
    found = embedded.texts(content)
    markdown = "\n\n".join(filter(str.strip, [converted.markdown, *found.values()]))
    return msgspec.structs.replace(converted, markdown=markdown)


def _read_encrypted(_: FileContent) -> Converted:
    raise password_protected()


def _read_pptx(content: FileContent) -> Converted:
    converted = _read_open_xml(content, "PptxConverter", "pptx", _PPTX_PARTS)
    pictures = embedded.texts(content)
    numbers = _SLIDE.split(converted.markdown)
    if len(numbers) < 3:  # it is bare text
        return converted
    members = embedded.slides(content) if pictures else []
    slides = Parts("slide", content.max_characters)
    for number, text in zip(map(int, numbers[1::2]), numbers[2::2], strict=True):
        shown = embedded.targets(content, members[number - 1]) if number <= len(members) else []
        recognised = [pictures[name] for name in shown if name in pictures]
        slides.add("\n\n".join([text.strip("\n"), *recognised]), number)
    return msgspec.structs.replace(converted, markdown=slides.markdown, locations=slides.locations)


def _read_open_xml(content: FileContent, converter: str, extension: str, parts: re.Pattern[str]) -> Converted:
    size = sum(member.file_size for member in check_unpacked(content) if parts.fullmatch(member.filename))
    result = None if size > _FULL_LIMIT else _structured(content, converter, extension, parts)
    result = result or openxml.bare_text(content.data, parts)
    return openxml.with_properties(result, content.data)


def _structured(content: FileContent, converter: str, extension: str, parts: re.Pattern[str]) -> Converted | None:
    """Return what markitdown reads; None where it fails or finds nothing (text boxes), and there is bare text."""
    try:
        result = through_markitdown(converter, content.data, extension=extension)
        return result if result.markdown.strip() else None
    except (ConversionFailed, RecursionError) as failure:
        if openxml.bare_text(content.data, parts).markdown.strip():
            return None
        raise (damage(content) or failure) from None


_MIME = "application/vnd.openxmlformats-officedocument."

DOCX = Converter(
    label="a Word document",
    mime=_MIME + "wordprocessingml.document",
    extensions="docx docm dotx dotm",
    signature=zip_with("word/document.xml", "word/document2.xml"),
    read=_read_docx,
    headings=True,
    images=True,
)
PPTX = Converter(
    label="a presentation",
    mime=_MIME + "presentationml.presentation",
    extensions="pptx pptm",
    signature=zip_with("ppt/presentation.xml"),
    read=_read_pptx,
    headings=True,
    images=True,
    location="slide",
)
EPUB = Converter(
    label="an EPUB book",
    mime="application/epub+zip",
    extensions="epub",
    signature=lambda content: (
        content.is_zip and (content.zip_members or set()) >= {"META-INF/container.xml", "mimetype"}
    ),
    read=_read_epub,
    headings=True,
    images=True,
    location="chapter",
)
ENCRYPTED = Converter(label="an encrypted document", signature=ole_with("EncryptedPackage"), read=_read_encrypted)
