"""EPUB books with their pictures, and Outlook messages, through markitdown."""

from __future__ import annotations

import msgspec

from gnod.ingest.formats.office import embedded
from gnod.ingest.formats.office.epub import read_epub
from gnod.ingest.reading.converter import Converter, FileContent, ole_with
from gnod.ingest.reading.markitdown_bridge import through_markitdown
from gnod.ingest.reading.result import Converted


def _read_epub(content: FileContent) -> Converted:
    return _with_pictures(read_epub(content), content)


def _with_pictures(converted: Converted, content: FileContent) -> Converted:
    """Add what was recognised in the pictures, behind the text."""
    found = embedded.texts(content)
    markdown = "\n\n".join(filter(str.strip, [converted.markdown, *found.values()]))
    return msgspec.structs.replace(converted, markdown=markdown)


def _read_msg(content: FileContent) -> Converted:
    return through_markitdown("OutlookMsgConverter", content.data, extension="msg")


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
MSG = Converter(
    label="an Outlook message",
    mime="application/vnd.ms-outlook",
    extensions="msg",
    signature=ole_with("__substg1.0_"),
    read=_read_msg,
    headings=True,
)
