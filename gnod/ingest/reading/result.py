"""Define the results and errors of converters, and the pages without text that they report."""

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
"""The MIME type of conversations of people or agents, independent of the program that has written them."""


class Member(msgspec.Struct, frozen=True):
    """A file in another one. `name`: the untrusted name as written there. `content` returns the bytes or raises
    ConversionFailed; call it before you request the next member. `is_part`: the member is a part of the text of the
    file, and is not converted again."""

    name: str
    content: Callable[[], FileContent]
    is_part: bool = False


def no_members() -> Iterator[Member]:
    return iter(())


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a file as Markdown, or unchanged; `markup` then says how its headings are written.

    `converter`: its name and version (`markdown/1`, `markitdown/0.1.8`). `mime` is set if it differs from the MIME type
    that the converter declares. `title`: a title that the format itself states, never a guess. `metadata` may have
    `author` (str) and `date` (ISO 8601 str). `keeps_lines`: the lines of `markdown` are lines of the file; otherwise,
    `locations` maps lines of `markdown` to places in the file. `source`: the text before a line-by-line translation,
    for parts that the translation omits. `members`: the files in it, which become separate documents. `left_out`:
    descriptions of the parts of the file that `markdown` omits, by kind of failure.
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
    """A converter cannot read the text of a file. `kind`: a kind of `gnod.ingest.workers.jobs.Failure`. `message`: one
    sentence for the user."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def unchanged(text: str, mime: str = "", *, converter: str = "text/1", markup: Markup = "plain") -> Converted:
    return Converted(markdown=text, mime=mime, converter=converter, markup=markup, keeps_lines=True)


def too_long(max_characters: int) -> ConversionFailed:
    return ConversionFailed("too_long", f"The text is longer than {max_characters:,} characters.")


class Scans:
    """The pages of a file that have no text, for its converter. Recognition runs later, one page at a time
    (docs/adr/0039-ocr.md). `recognised`: the texts so far, by page number from 1; "" if a page has no text. `refusal`:
    why gnod does not recognise pages; None if it does."""

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
        """Return whether the file has pages without text."""
        return self.pages > 0

    @property
    def note(self) -> str | None:
        """Return a message that says which parts of the file are not recognised."""
        if self.pages <= MAX_PAGES:
            return None
        return f"{self.pages:,} of its pages or pictures have no text; OCR reads the first {MAX_PAGES:,}"

    def text(self, number: int) -> str:
        """Return the text of a page. If it is not recognised yet, record that and return ""."""
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
