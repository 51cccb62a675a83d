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
from gnod.ingest.formats.conversations import (
    chat_text,
    chatgpt,
    claude_ai,
    claude_code,
    codex,
    gemini,
    irc,
    matrix,
    slack,
    teams,
)
from gnod.ingest.formats.markups import asciidoc, bookmarks, content_lines, latex, org, rst, subtitles
from gnod.ingest.formats.office import epub, iwork, opendocument, richtext
from gnod.ingest.formats.office.before2007 import encrypted
from gnod.ingest.formats.office.before2007.slides import PPT
from gnod.ingest.formats.office.before2007.word import DOC
from gnod.ingest.formats.office.before2007.workbook import XLS
from gnod.ingest.formats.office.openxml import slides, visio, word, workbook
from gnod.ingest.formats.pdf import pdf
from gnod.ingest.reading.converter import Converter, FileContent


class Registry:
    """Converters in the order in which their signatures are checked."""

    def __init__(self, converters: Iterable[Converter]) -> None:
        self._converters: list[Converter] = []
        self._by_extension: dict[str, Converter] = {}
        self._by_file_name: dict[str, Converter] = {}
        for converter in converters:
            self.add(converter)

    def add(self, converter: Converter) -> None:
        """Raises ValueError for an extension or a file name that another converter has."""
        extensions = f"{converter.extensions} {converter.shared_extensions}".split()
        for known, keys in ((self._by_extension, extensions), (self._by_file_name, converter.file_names.split())):
            if taken := known.keys() & keys:
                raise ValueError(f"two converters for {', '.join(sorted(taken))}")
            known.update(dict.fromkeys(keys, converter))
        self._converters.append(converter)

    def __iter__(self) -> Iterator[Converter]:
        return iter(self._converters)

    def by_signature(self, content: FileContent) -> Converter | None:
        return next((each for each in self if each.signature and each.signature(content)), None)

    def is_signed_text(self, content: FileContent) -> bool:
        """Tell whether the content has the signature of a text format. Few have one."""
        return any(each.is_text and each.signature and each.signature(content) for each in self)

    def of_log(self, content: FileContent) -> Converter | None:
        """Return the converter of a log by its first bytes; None for another file."""
        return next((each for each in self if each.log and each.signature and each.signature(content)), None)

    def by_resemblance(self, content: FileContent) -> Converter | None:
        return next((each for each in self if each.resembles and each.resembles(content)), None)

    def by_extension(self, extension: str) -> Converter | None:
        return self._by_extension.get(extension)

    def by_file_name(self, name: str) -> Converter | None:
        return self._by_file_name.get(name.rpartition("/")[2].lower())

    def is_shared(self, extension: str) -> bool:
        """Tell whether files of several formats have this extension."""
        converter = self.by_extension(extension)
        return converter is not None and extension in converter.shared_extensions.split()


REGISTRY = Registry(
    [
        word.DOCX,
        slides.PPTX,
        workbook.XLSX,
        visio.VSDX,
        epub.EPUB,
        *opendocument.FORMATS,
        iwork.IWORK,
        slack.SLACK,
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
        claude_code.CLAUDE_CODE,
        codex.CODEX,
        chatgpt.CHATGPT,
        claude_ai.CLAUDE_AI,
        gemini.GEMINI,
        gemini.GEMINI_PAGE,
        slack.SLACK_DAY,
        *teams.FORMATS,
        matrix.MATRIX,
        *chat_text.FORMATS,
        irc.IRC,
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
