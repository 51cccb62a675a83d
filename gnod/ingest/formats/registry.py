"""All converters, and how a file finds its own. A new converter is one more line in the list below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gnod.ingest.formats import (
    archive,
    compressed,
    feed,
    image,
    mail,
    notebook,
    outlook,
    table,
    text,
    unsupported,
    webpage,
)
from gnod.ingest.formats.markups import asciidoc, bookmarks, content_lines, latex, org, rst, subtitles
from gnod.ingest.formats.office import epub, opendocument, richtext
from gnod.ingest.formats.office.before2007 import encrypted
from gnod.ingest.formats.office.before2007.slides import PPT
from gnod.ingest.formats.office.before2007.word import DOC
from gnod.ingest.formats.office.before2007.workbook import XLS
from gnod.ingest.formats.office.openxml import slides, visio, word, workbook
from gnod.ingest.formats.pdf import pdf
from gnod.ingest.reading.converter import Converter, FileContent, Test


class Registry:
    """Converters in the order in which their signatures are checked."""

    def __init__(self, converters: Iterable[Converter]) -> None:
        self._converters: list[Converter] = []
        self._by_extension: dict[str, Converter] = {}
        self._by_file_name: dict[str, Converter] = {}
        self._shared: set[str] = set()
        self._signatures: list[tuple[Test, Converter]] = []
        self._signatures_of_texts: list[Test] = []
        for converter in converters:
            self.add(converter)

    def add(self, converter: Converter) -> None:
        """Raises ValueError for an extension or a file name that another converter has."""
        extensions = f"{converter.extensions} {converter.shared_extensions}".split()
        for known, keys in ((self._by_extension, extensions), (self._by_file_name, converter.file_names.split())):
            if taken := known.keys() & keys:
                raise ValueError(f"two converters for {', '.join(sorted(taken))}")
            known.update(dict.fromkeys(keys, converter))
        self._shared.update(converter.shared_extensions.split())
        self._converters.append(converter)
        if converter.signature:
            self._signatures.append((converter.signature, converter))
            if converter.is_text:
                self._signatures_of_texts.append(converter.signature)

    def __iter__(self) -> Iterator[Converter]:
        return iter(self._converters)

    def by_signature(self, content: FileContent) -> Converter | None:
        for is_of_format, converter in self._signatures:
            if is_of_format(content):
                return converter
        return None

    def is_signed_text(self, content: FileContent) -> bool:
        """Tell whether the content has the signature of a text format. Few have one."""
        return any(is_of_format(content) for is_of_format in self._signatures_of_texts)

    def by_resemblance(self, content: FileContent) -> Converter | None:
        return next((c for c in self._converters if c.resembles and c.resembles(content)), None)

    def by_extension(self, extension: str) -> Converter | None:
        return self._by_extension.get(extension)

    def by_file_name(self, name: str) -> Converter | None:
        return self._by_file_name.get(name.rpartition("/")[2].lower())

    def is_shared(self, extension: str) -> bool:
        """Tell whether files of several formats have this extension."""
        return extension in self._shared


REGISTRY = Registry(
    [
        word.DOCX,
        slides.PPTX,
        workbook.XLSX,
        visio.VSDX,
        epub.EPUB,
        *opendocument.FORMATS,
        archive.ZIP,
        archive.TAR,
        # Files of these formats may contain each other, so the outermost comes first.
        encrypted.ENCRYPTED,
        outlook.MSG,
        DOC,
        PPT,
        XLS,
        *compressed.FORMATS,
        richtext.RTF,
        image.IMAGE,
        *unsupported.FORMATS,
        pdf.PDF,  # its signature may be anywhere in the first bytes, so it may also be inside another format
        opendocument.FLAT,
        bookmarks.BOOKMARKS,
        webpage.HTML,
        feed.XML,
        mail.MAIL,
        mail.SIGNED,
        table.CSV,
        table.TSV,
        notebook.NOTEBOOK,
        rst.RST,
        asciidoc.ASCIIDOC,
        org.ORG,
        latex.LATEX,
        *subtitles.FORMATS,
        *content_lines.FORMATS,
        *text.FORMATS,
    ]
)
