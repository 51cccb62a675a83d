"""What all methods share: the base classes, progress, cancelling, freshness. Every `gnoctl` command imports it."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

S = TypeVar("S", bound=msgspec.Struct)

ProgressToken = int | str


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of all parameters. With a `progress_token`, the daemon sends `$/progress` notifications.

    Fields are given by name, except what a call is about (`SearchLexicalParams("kayak", limit=5)`): the class that
    declares that field is not `kw_only`.
    """

    progress_token: ProgressToken | None = None


class NoParams(Params, frozen=True, kw_only=True):
    pass


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all results. Clients ignore fields that they do not know."""


class CancelParams(msgspec.Struct, frozen=True, kw_only=True):
    id: int | str | float | None


class Freshness(Result, frozen=True, kw_only=True):
    """Whether the index equals the disk, as far as the daemon knows.

    `current`: every change that the daemon has noticed is indexed. `state` says so in words: "current", or what is
    missing; print it beside results that are not current. `pending`: files that have changed, or may have changed, and
    are not indexed yet; a collection that waits for a complete comparison counts as one. `unavailable`: collections
    whose folder does not exist now. `unembedded`: chunks without a vector; only searches that need vectors count them.

    Two do not affect `current`. `failed`: files that could not be read or converted, as they are now. `unwatched`:
    collections whose changes the daemon notices only after some seconds (polling).
    """

    current: bool
    state: str = ""
    pending: int = 0
    failed: int = 0
    unwatched: list[str] = []
    unavailable: list[str] = []
    unembedded: int = 0


class Location(Result, frozen=True, kw_only=True, omit_defaults=True):
    """Where a passage is in its source, if the source has no lines of text: one of the first fields, with `row` for a
    sheet, or `row` alone for a table (CSV). Pages, slides, rows, cells and messages count from 1. `label`: for people,
    after the path (`p12`). `fragment`: for the document's address, after `#` (`page=12`)."""

    page: int | None = None
    slide: int | None = None
    sheet: str | None = None
    row: int | None = None
    cell: int | None = None
    message: int | None = None
    chapter: str | None = None
    file: str | None = None
    label: str = ""
    fragment: str = ""


class Copy(Result, frozen=True, kw_only=True):
    """Another file with the same bytes."""

    uri: str
    collection: str
    path: str
    source: str


class AnswerSource(Result, frozen=True, kw_only=True):
    """A passage that the answering model reads. `number` is the one in citations; `cited`: the answer cites it. `also`
    and `also_left_out`: as in Hit.

    `line` to `end_line` count lines of the file where it is text, otherwise lines of its Markdown.
    """

    number: int
    docid: str
    uri: str
    collection: str
    path: str
    title: str
    line: int
    end_line: int
    location: Location | None = None
    text: str
    score: float
    language: str | None = None
    cited: bool = False
    also: list[Copy] = []
    also_left_out: int = 0


class Quote(Result, frozen=True, kw_only=True):
    """An exact part of a document that best answers a question: `kind` is sentence, row (of a table), item (of a list)
    or line (of code or settings).

    `rank` from 1. `text` is as in the file, in Unicode NFC, or as in its Markdown. `heading`: the headings above it,
    joined by ` > `. `line` to `end_line` count lines of the file where it is text, otherwise lines of its Markdown.
    `score` is in [0, 1]. `perhaps`: it is the nearest passage, but it probably does not answer the question. `also` and
    `also_left_out`: as in Hit.
    """

    rank: int
    docid: str
    uri: str
    collection: str
    path: str
    title: str
    heading: str
    kind: str
    line: int
    end_line: int
    location: Location | None = None
    text: str
    score: float
    perhaps: bool = False
    language: str | None = None
    explain: dict[str, float] | None = None
    also: list[Copy] = []
    also_left_out: int = 0


class Correction(Result, frozen=True, kw_only=True):
    """A word of the query that hardly any document has, and what was searched for it. `written` may be two words."""

    written: str
    searched: str


class ProgressValue(Result, frozen=True, kw_only=True):
    """Progress of a request: `done` of `total` in `stage`; `total` is null while it is unknown.

    `label`: the item that is processed now. `unit`: "bytes", "characters", or null for a count of items.
    `ask.answer` also sends `quotes` (once, as soon as they are found), `sources` (once, before the text) and `text`
    (the next part of what the model writes, not checked yet).
    """

    stage: str
    done: int
    total: int | None = None
    label: str | None = None
    unit: str | None = None
    text: str | UnsetType = UNSET
    sources: list[AnswerSource] | UnsetType = UNSET
    quotes: list[Quote] | UnsetType = UNSET


class ProgressParams(Result, frozen=True, kw_only=True):
    token: ProgressToken
    value: ProgressValue


def copied(kind: type[S], source: Any, /, **changes: object) -> S:
    """Return a `kind` with the fields of `source`, a struct or named tuple, that have the same names, and `changes`."""
    return kind(**{name: getattr(source, name) for name in _names_in_both(kind, source.__class__)} | changes)


@cache
def _names_in_both(kind: type[msgspec.Struct], source: Any) -> list[str]:
    names = getattr(source, "_fields", ()) or source.__struct_fields__
    return [name for name in kind.__struct_fields__ if name in names]
