"""What a converter returns, or raises, and the pages without text that it reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from gnod.ingest.text.outline import Markup
from gnod.locations import Locations

if TYPE_CHECKING:
    from gnod.ingest.reading.converter import FileContent

# The maximum for one file. A book has 500 pages; recognising 2,000 takes two hours.
MAX_PAGES = 2_000
CONVERSATION = "application/x-conversation"
"""The MIME type of what people or agents said to each other, whatever program has written it."""


class Member(msgspec.Struct, frozen=True):
    """A file in another one. `name` is as written there and not to be trusted. `content` returns the bytes, before the
    next member is asked for, or raises ConversionFailed. `is_part`: it is a part of the file's own text, which is not
    converted again."""

    name: str
    content: Callable[[], FileContent]
    is_part: bool = False


def no_members() -> Iterator[Member]:
    return iter(())


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a file as Markdown, or unchanged: then `markup` says how its headings are written.

    `converter` is its name and version (`markdown/1`, `markitdown/0.1.8`). `mime` is set where it is not the one that
    the converter declares. `title` is one that the format itself carries, never a guess. `metadata` may have
    `author` (str) and `date` (ISO 8601 str). `keeps_lines`: the lines of `markdown` are lines of the file; otherwise,
    `locations` says where lines of `markdown` are in the file. `source`: the text that was translated line by line, for
    what the translation leaves out. `members`: the files in it, which become documents of
    their own. `left_out`: what of the file itself is not in `markdown`, in words, by the kind of the failure.
    """

    markdown: str
    converter: str
    mime: str = ""
    markup: Markup = "markdown"
    title: str | None = None
    metadata: dict[str, object] = {}
    keeps_lines: bool = False
    locations: Locations | None = None
    source: str | None = None
    members: Callable[[], Iterator[Member]] = no_members
    left_out: Mapping[str, str] = {}


class ConversionFailed(Exception):
    """A file has no text that can be read. `kind` is one of `gnod.ingest.workers.jobs.Failure`'s; `message` is one
    sentence for the owner of the file."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def unchanged(text: str, mime: str = "", *, converter: str = "text/1", markup: Markup = "plain") -> Converted:
    return Converted(markdown=text, mime=mime, converter=converter, markup=markup, keeps_lines=True)


def too_long(max_characters: int) -> ConversionFailed:
    return ConversionFailed("too_long", f"The text is longer than {max_characters:,} characters.")


class Scans:
    """The pages of one file that have no text, as its converter sees them: recognition itself comes later, and one page
    at a time (docs/adr/0039-ocr.md). `recognised`: the texts so far, by number from 1; "" if a page has no text.
    `refusal`: why nothing is recognised; None if pages can be recognised."""

    def __init__(self, recognised: Mapping[int, str] | None = None, refusal: str | None = "OCR is off") -> None:
        self.refusal = refusal
        self.pages = 0
        self.pending: list[int] = []
        self.used = sum(1 for text in (recognised or {}).values() if text)
        self._recognised = recognised or {}

    @property
    def wanted(self) -> bool:
        return self.refusal is None

    @property
    def found(self) -> bool:
        """Tell whether the file has such pages."""
        return self.pages > 0

    @property
    def note(self) -> str | None:
        """Return which parts of the file are not recognised, for its owner."""
        if self.pages <= MAX_PAGES:
            return None
        return f"{self.pages:,} of its pages or pictures have no text; OCR reads the first {MAX_PAGES:,}"

    def text(self, number: int) -> str:
        """Return the text of a page; "" while it is not recognised, which is noted."""
        if not self.wanted:
            return ""
        self.pages += 1
        if number in self._recognised:
            return self._recognised[number]
        if self.pages <= MAX_PAGES:
            self.pending.append(number)
        return ""


def authorship(author: str | None, date: str | None = None) -> dict[str, object]:
    """Return who wrote a file and when, as metadata; what is empty is left out."""
    return {name: value for name, value in (("author", author), ("date", date)) if value}
