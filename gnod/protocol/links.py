"""Wire types of links: `document.links`, `links.…`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from gnod.protocol.base import Params, Result
from gnod.protocol.search import Limit, Reference

Offset = Annotated[int, Meta(ge=0, le=2**53)]
LinkState = Literal["resolved", "ambiguous", "unresolved", "external", "outside"]


class DocumentLinksParams(Params, frozen=True):
    """`ref`: see `document.get`. `limit` and `offset` count the links of each direction."""

    ref: Reference
    direction: Literal["out", "in", "both"] = "both"
    limit: Limit = 100
    offset: Offset = 0


class DocumentLink(Result, frozen=True, kw_only=True):
    """A link in the document `uri`.

    - `title`: the title of that document.
    - `line`: a line of the file if it is text, otherwise of its Markdown.
    - `kind`: the syntax of the link.
    - `target`: the target exactly as it is written.
    - `fragment`: the heading or block that it names.
    - `passage`: the text around the link, without markup.
    - `state`: `resolved` (it leads to the document `to`), `ambiguous` (to one of `candidates`), `unresolved` (to no
      document of the index), `external` (to an address) or `outside`. An `outside` link leads above the folder of the
      collection or to another collection. gnod never follows it.
    - `to_title`: the title of the document `to`.
    - `to_line`: the line of `fragment` in the document `to`.
    - `has_place`: false if that document does not have `fragment`.
    - `suggestion`: for an unresolved link in `links.unresolved`, the path that is probably meant.
    """

    uri: str
    title: str
    line: int
    kind: str
    target: str
    fragment: str = ""
    passage: str = ""
    state: LinkState
    to: str | None = None
    to_title: str | None = None
    to_line: int | None = None
    candidates: list[str] = []
    has_place: bool = True
    suggestion: str | None = None


class DocumentLinksResult(Result, frozen=True, kw_only=True):
    """The links of a document.

    - `links`: the links in the document.
    - `backlinks`: the links to the document.
    - `total_links`, `total_backlinks`: the total numbers, including links that are not returned.
    """

    uri: str
    title: str
    links: list[DocumentLink] = []
    total_links: int = 0
    backlinks: list[DocumentLink] = []
    total_backlinks: int = 0


class ScopeParams(Params, frozen=True):
    """`scope`: see `document.list`."""

    scope: str | None = None


class LinksScopeParams(ScopeParams, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=100_000)] = 1000
    offset: Offset = 0


class LinksUnresolvedResult(Result, frozen=True, kw_only=True):
    links: list[DocumentLink]
    total: int


class DeadLink(Result, frozen=True, kw_only=True):
    """A link that leads nowhere.

    - `source`: the file that contains it.
    - `problem`: a sentence that describes the problem.
    - `suggestion`: a target that is probably meant, in the syntax of the link.
    """

    uri: str
    source: str
    line: int
    target: str
    problem: str
    suggestion: str | None = None


class LinksCheckResult(Result, frozen=True, kw_only=True):
    """`dead`: at most 10,000 dead links. `total`: the number of all dead links."""

    dead: list[DeadLink]
    total: int


class DocumentDuplicatesResult(Result, frozen=True, kw_only=True):
    """`groups`: at most 1,000 groups of addresses. The documents of a group have the same text. `total`: the number of
    all groups in the scope."""

    groups: list[list[str]]
    total: int


class DocumentMoveParams(Params, frozen=True, kw_only=True):
    """Names a file or folder and its new path in the same collection. If `new` is a folder, the file moves into it.

    - `old`, `new`: `collection/path`, a `gno://` address or a path on disk.
    - `dry_run`: report the changes without making them.
    - `digest`: from a dry run. The daemon refuses the move if it would no longer be the same.
    """

    old: Reference
    new: Reference
    dry_run: bool = False
    digest: str | None = None


class LinkToRepair(Result, frozen=True, kw_only=True):
    """A link that could not be rewritten, so it leads elsewhere after the move.

    - `uri`: the address of the document before the move.
    - `line`: a line of its file; 0 if it is unknown.
    - `problem`: why it could not be rewritten.
    """

    uri: str
    line: int
    target: str
    problem: str


class DocumentMoveResult(Result, frozen=True, kw_only=True):
    """The changes of a move, or of its dry run.

    - `source`, `destination`: the paths on disk.
    - `files`, `links`: the number of files with rewritten links, and the number of these links.
    - `diff`: the changes of these files as a unified diff, at most 1,000,000 characters.
    - `left`: the links to repair by hand, at most 1,000.
    - `digest`: identifies the move, for a call without `dry_run`.
    - `is_done`: false after a dry run.
    """

    source: str
    destination: str
    files: int
    links: int
    diff: str
    left: list[LinkToRepair]
    digest: str
    is_done: bool


class DocumentUnmoveParams(Params, frozen=True): ...


class DocumentUnmoveResult(Result, frozen=True, kw_only=True):
    """`source`: the path after the undone move. `destination`: the restored path. `files`: the number of files whose
    old links were restored."""

    source: str
    destination: str
    files: int


class LinksGraphParams(Params, frozen=True):
    """Selects the part of the graph to return.

    - `ref`: the central document; see `document.get`. If it is null, the graph has the documents of `scope`, the best
      connected first.
    - `scope`: see `document.list`. Other documents are left out.
    - `depth`: the maximum number of links between `ref` and a document.
    - `limit`: the maximum number of documents.
    """

    ref: Reference | None = None
    scope: str | None = None
    depth: Annotated[int, Meta(ge=1, le=5)] = 2
    limit: Limit = 200


class GraphNode(Result, frozen=True, kw_only=True):
    """A document of the graph.

    - `distance`: the number of links between it and `ref`; 0 if there is no `ref`.
    - `links`: how many documents it links to, including those outside the graph.
    - `backlinks`: how many documents link to it, including those outside the graph.
    """

    uri: str
    title: str
    docid: str
    collection: str
    distance: int
    links: int
    backlinks: int


class GraphEdge(Result, frozen=True):
    """The document `source` has `count` links to `target`."""

    source: str
    target: str
    count: int


class LinksGraphResult(Result, frozen=True, kw_only=True):
    """Documents and the links between them.

    - `edges`: the links between documents of `nodes`. Ambiguous links, and links of a document to itself, are left out.
    - `total`: the number of nodes without a limit; null if it is unknown.
    - `is_cut`: nodes or edges are missing because of the limit, or because there are very many links.
    """

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    total: int | None
    is_cut: bool


class LinksMentionsParams(Params, frozen=True):
    """`ref`: see `document.get`. `limit` and `offset` count mentions."""

    ref: Reference
    limit: Limit = 50
    offset: Offset = 0


class Mention(Result, frozen=True, kw_only=True):
    """The document `uri` contains `name`.

    - `line`: a line of the file if it is text, otherwise of its Markdown.
    - `passage`: the text around the name, without markup.
    - `marks`: the places of the name in `passage`, as half-open character ranges.
    """

    uri: str
    title: str
    line: int
    passage: str
    name: str
    marks: list[tuple[int, int]] = []


class LinksMentionsResult(Result, frozen=True, kw_only=True):
    """The places where other documents name a document without linking to it.

    - `names`: the names to search for: the title of the document, its aliases, and its file name if that consists of
      words.
    - `mentions`: the places where other documents of its collection contain one of these names outside links and code.
      Documents that do not link to it come first, sorted by path.
    - `total`: the number of mentions; null if `has_more` or `is_cut`.
    - `is_cut`: some documents were not read, because very many have a name only in links.
    """

    uri: str
    title: str
    names: list[str]
    mentions: list[Mention]
    total: int | None
    has_more: bool
    is_cut: bool = False
