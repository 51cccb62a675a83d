"""What a converter returns, or raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from gnod.ingest.text.outline import Markup
from gnod.locations import Locations

if TYPE_CHECKING:
    from gnod.ingest.reading.converter import FileContent


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


def authorship(author: str | None, date: str | None = None) -> dict[str, object]:
    """Return who wrote a file and when, as metadata; what is empty is left out."""
    return {name: value for name, value in (("author", author), ("date", date)) if value}
