"""Wire types of links: `document.links`, `links.…`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gnod.protocol.base import Params, Result
from gnod.protocol.search import Limit, Reference

Offset = Annotated[int, Meta(ge=0, le=2**53)]
LinkState = Literal["resolved", "ambiguous", "unresolved", "external", "outside"]


class DocumentLinksParams(Params, frozen=True):
    """`ref`: as in `document.get`. `limit` and `offset` count the links of each direction."""

    ref: Reference
    direction: Literal["out", "in", "both"] = "both"
    limit: Limit = 100
    offset: Offset = 0


class DocumentLink(Result, frozen=True, kw_only=True):
    """A link in the document `uri` with the title `title`, at `line` of the file where it is text, otherwise of its
    Markdown. `target`: as it is written; `kind`: its syntax. `passage`: the text around it.

    `state`: `resolved`, to the document `to`; `ambiguous`, to one of `candidates`; `unresolved`, to no document of the
    index; `external`, to an address; `outside`, above the folder of the collection, or to another one, which is never
    followed. `fragment`: the heading or block that it names; `has_place` is false if the document does not have it."""

    uri: str
    title: str
    line: int
    kind: str
    target: str
    fragment: str = ""
    passage: str = ""
    state: LinkState
    to: str | None = None
    candidates: list[str] = []
    has_place: bool = True


class DocumentLinksResult(Result, frozen=True, kw_only=True):
    """`links`: in the document, `backlinks`: to it. `total_links` and `total_backlinks`: how many there are in all."""

    uri: str
    title: str
    links: list[DocumentLink] = []
    total_links: int = 0
    backlinks: list[DocumentLink] = []
    total_backlinks: int = 0


class LinksScopeParams(Params, frozen=True):
    """`scope`: as in `document.list`."""

    scope: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100_000)] = 1000
    offset: Offset = 0


class LinksUnresolvedResult(Result, frozen=True, kw_only=True):
    links: list[DocumentLink]
    total: int


class LinksCheckParams(Params, frozen=True):
    """`scope`: as in `document.list`."""

    scope: str | None = None


class DeadLink(Result, frozen=True, kw_only=True):
    """A link that leads nowhere. `source`: the file that it is in. `problem` is a sentence; `suggestion`: what could be
    meant, as it would be written."""

    uri: str
    source: str
    line: int
    target: str
    problem: str
    suggestion: str | None = None


class LinksCheckResult(Result, frozen=True, kw_only=True):
    """`total`: how many dead links there are; at most 10,000 are listed."""

    dead: list[DeadLink]
    total: int
