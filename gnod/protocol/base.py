"""Types that all methods share: base classes, progress, freshness. Every `gnoctl` command imports this module."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

S = TypeVar("S", bound=msgspec.Struct)

ProgressToken = int | str


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of all parameters. If `progress_token` is set, the daemon sends `$/progress` notifications.

    Fields are passed by name. The one exception is the field that a call is about (`SearchLexicalParams("kayak",
    limit=5)`): the class that declares it is not `kw_only`.
    """

    progress_token: ProgressToken | None = None


class NoParams(Params, frozen=True, kw_only=True):
    pass


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The base of all results. Clients ignore fields that they do not know."""


class CancelParams(msgspec.Struct, frozen=True, kw_only=True):
    id: int | str | float | None


class Freshness(Result, frozen=True, kw_only=True):
    """Says whether the index equals the disk, as far as the daemon knows.

    - `current`: every change that the daemon has noticed is indexed.
    - `state`: "current", or what is missing, in words. Print it beside results that are not current.
    - `pending`: the number of files that have changed, or may have changed, and are not indexed yet. A collection that
      waits for a complete comparison counts as one.
    - `failed`: the number of files that cannot be read or converted. It does not affect `current`.
    - `unwatched`: collections whose changes the daemon notices only after a while (polling). They do not affect
      `current`.
    - `unavailable`: collections whose folder does not exist now, or does not answer.
    - `unembedded`: the number of chunks without a vector. Only searches that need vectors count them.
    """

    current: bool
    state: str = ""
    pending: int = 0
    failed: int = 0
    unwatched: list[str] = []
    unavailable: list[str] = []
    unembedded: int = 0


class Location(Result, frozen=True, kw_only=True, omit_defaults=True):
    """The place of a passage in a source that has no lines of text.

    One of the fields `page` to `file` is set. `row` is set together with `sheet`, or alone for a table (CSV).

    - `page`, `slide`, `row`, `cell`, `message`: numbers from 1.
    - `label`: a short text for people, to print after the path (`p12`).
    - `fragment`: the part of the document's address after `#` (`page=12`).
    """

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
    """A passage that the answering model reads.

    - `number`: the number that citations use.
    - `cited`: the answer cites it.
    - `citation`: see Quote.
    - `line`, `end_line`: lines of the file if it is text, otherwise lines of its Markdown.
    - `also`, `also_left_out`: see Hit.
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
    citation: str = ""
    score: float
    language: str | None = None
    cited: bool = False
    also: list[Copy] = []
    also_left_out: int = 0


class Quote(Result, frozen=True, kw_only=True):
    """An exact part of a document that best answers a question.

    - `rank`: from 1.
    - `kind`: sentence, row (of a table), item (of a list) or line (of code or settings).
    - `text`: copied from the file (in Unicode NFC) or from its Markdown.
    - `heading`: the headings above it, joined by ` > `.
    - `line`, `end_line`: lines of the file if it is text, otherwise lines of its Markdown.
    - `score`: in [0, 1].
    - `citation`: its address, lines and a hash of their words (`gno://notes/plan.md:12@9f3b2c1d4e5f`). Later,
      `ask.verify` checks whether the document still has them.
    - `perhaps`: it is the nearest passage, but it probably does not answer the question.
    - `also`, `also_left_out`: see Hit.
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
    citation: str = ""
    score: float
    perhaps: bool = False
    language: str | None = None
    explain: dict[str, float] | None = None
    also: list[Copy] = []
    also_left_out: int = 0


class Correction(Result, frozen=True, kw_only=True):
    """A word of the query that few documents contain, and what was searched instead. `written` may be two words."""

    written: str
    searched: str


class ProgressValue(Result, frozen=True, kw_only=True):
    """Progress of a request.

    - `stage`: the current stage.
    - `done`, `total`: the progress within this stage. `total` is null while it is unknown.
    - `label`: the item that the daemon is processing.
    - `unit`: "bytes", "characters", or null for a count of items.
    - `quotes`: sent by `ask.answer` once, as soon as they are found.
    - `sources`: sent by `ask.answer` once, before the text.
    - `text`: sent by `ask.answer`: the next part of the text that the model writes. It is not checked yet.
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
    """Return a `kind` with `changes` and the fields of the same names in `source`, a struct or named tuple."""
    return kind(**{name: getattr(source, name) for name in _names_in_both(kind, source.__class__)} | changes)


@cache
def _names_in_both(kind: type[msgspec.Struct], source: Any) -> list[str]:
    names = getattr(source, "_fields", ()) or source.__struct_fields__
    return [name for name in kind.__struct_fields__ if name in names]
