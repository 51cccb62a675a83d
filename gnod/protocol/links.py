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
    followed. `fragment`: the heading or block that it names, at `to_line` of that document;
    `has_place` is false if the document does not have it."""

    uri: str
    title: str
    line: int
    kind: str
    target: str
    fragment: str = ""
    passage: str = ""
    state: LinkState
    to: str | None = None
    to_line: int | None = None
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


class LinksGraphParams(Params, frozen=True):
    """`ref`: the document in the middle, as in `document.get`; without it, the graph has the documents of `scope`, the
    best connected first. `scope`: as in `document.list`; other documents are left out. `depth`: the most links between
    `ref` and a document. `limit`: the most documents."""

    ref: Reference | None = None
    scope: str | None = None
    depth: Annotated[int, Meta(ge=1, le=5)] = 2
    limit: Limit = 200


class GraphNode(Result, frozen=True, kw_only=True):
    """A document. `distance`: the links between it and `ref`; 0 without one. `links`: how many documents it links to,
    `backlinks`: how many link to it, also those that are not in the graph."""

    uri: str
    title: str
    docid: str
    collection: str
    distance: int
    links: int
    backlinks: int


class GraphEdge(Result, frozen=True):
    """`count` links lead from the document `source` to `target`."""

    source: str
    target: str
    count: int


class LinksGraphResult(Result, frozen=True, kw_only=True):
    """`edges`: between documents of `nodes`; links of a document to itself and ambiguous ones are left out. `total`:
    how many nodes there would be without a limit; null if that is not known. `is_cut`: nodes or edges are missing, by
    the limit, or because there are very many links."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    total: int | None
    is_cut: bool


class LinksMentionsParams(Params, frozen=True):
    """`ref`: as in `document.get`. `limit` and `offset` count mentions."""

    ref: Reference
    limit: Limit = 50
    offset: Offset = 0


class Mention(Result, frozen=True, kw_only=True):
    """The document `uri` has `name` at `line` of the file where it is text, otherwise of its Markdown. `passage`: the
    text around it; `marks`: half-open character ranges of the name in it."""

    uri: str
    title: str
    line: int
    passage: str
    name: str
    marks: list[tuple[int, int]] = []


class LinksMentionsResult(Result, frozen=True, kw_only=True):
    """`names`: the title of the document, its file name if that is made of words, and its aliases. `mentions`: where
    other documents of its collection have one of them outside of links and code; documents that do not link to it come
    first, each by path. `total`: how many mentions there are in all; null while there are more, or if `is_cut`: of very
    many documents that have a name in links only, not all were read."""

    uri: str
    title: str
    names: list[str]
    mentions: list[Mention]
    total: int | None
    has_more: bool
    is_cut: bool = False
