"""Converts rich text (RTF) with striprtf: the text and the cells of tables, without headings."""

from __future__ import annotations

import re

from gnod.ingest.reading.converter import Converter, FileContent, starts_with
from gnod.ingest.reading.cpu_time import CpuTimeExceeded, limit_cpu_time
from gnod.ingest.reading.result import ConversionFailed, Converted, authorship, unchanged

_MAGIC = b"{\\rtf"
_LIMIT_S = 30.0
_TITLE = re.compile(rb"\{\\title ([^{}]{1,1000})\}")
_AUTHOR = re.compile(rb"\{\\author ([^{}]{1,1000})\}")
_CODE_PAGE = re.compile(rb"\\ansicpg\d{1,5}")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")


def _read(content: FileContent) -> Converted:
    """Read rich text. Other files with this extension, such as exports, are read as plain text."""
    if not content.data.startswith(_MAGIC):
        return unchanged(content.text(), "text/plain")
    return Converted(
        # The text is ASCII; other characters are escaped.
        markdown=_paragraphs(text_of(content.data.decode("latin-1"), content.label)),
        converter="rtf/1",
        title=_property(content, _TITLE) or None,
        metadata=authorship(_property(content, _AUTHOR)),
    )


def text_of(source: str, label: str) -> str:
    """Return the plain text of rich text. Raises ConversionFailed (timeout, corrupt)."""
    from striprtf.striprtf import rtf_to_text

    try:
        with limit_cpu_time(_LIMIT_S):
            text: str = rtf_to_text(source, errors="replace")  # type: ignore[no-untyped-call]
    except CpuTimeExceeded:
        message = f"The {label} is built so that it takes more than {_LIMIT_S:g} s to read."
        raise ConversionFailed("timeout", message) from None
    except (ValueError, LookupError, OverflowError, AttributeError, TypeError) as error:
        raise ConversionFailed("corrupt", f"The {label} is damaged: its text cannot be read.") from error
    # Characters above U+FFFF are written as two surrogates.
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\xad", "")  # soft hyphens


def _paragraphs(text: str) -> str:
    """Separate the paragraphs, which are lines in RTF. Lines of cells stay together."""
    lines = (line.strip().rstrip("|").replace("|", " | ") for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n\n".join(lines)).strip()


def _property(content: FileContent, pattern: re.Pattern[bytes]) -> str:
    found = pattern.search(content.data, 0, 64 * 1024)
    if not found:
        return ""
    code_page = _CODE_PAGE.search(content.head)
    source = b"{\\rtf1" + (code_page[0] if code_page else b"") + b" " + found[1] + b"}"
    return " ".join(text_of(source.decode("latin-1"), content.label).split())


RTF = Converter(
    label="a rich text document",
    mime="application/rtf",
    extensions="rtf",
    is_text=True,
    signature=starts_with(_MAGIC),
    read=_read,
)
