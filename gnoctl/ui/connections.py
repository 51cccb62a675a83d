"""The connections of a document: its links, backlinks, mentions, related documents, and the tree around it.

Turns results of the protocol into sections of entries. Must not depend on the screen, and sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gnoctl.printing import text
from gnoctl.printing.graphs import branches
from gnoctl.printing.wording import count, reason
from gnod.protocol import links as wire
from gnod.protocol.base import Params, Result
from gnod.protocol.search import Hit, SearchResult, SearchSimilarParams
from gnod.types import parse_uri

RELATED = 12
DEPTHS = (1, 2, 3)
_NODES = 200


LinkRequest = tuple[str, Params, type[Result]]
"""A method, its parameters, and the type of its result, which `sections` understands."""


class PaneEntry(NamedTuple):
    """`hit`: the place that the entry leads to, if any. `shown` and `more` are safe to show; `more` is shown below."""

    hit: Hit | None
    shown: str
    more: str = ""


class Section(NamedTuple):
    """`rest`: a note about what the entries leave out."""

    title: str
    entries: list[PaneEntry]
    rest: str = ""


def questions(ref: str, limit: int) -> list[LinkRequest]:
    """Return the requests for a document, the fastest first. `limit`: entries per section."""
    return [
        ("document.links", wire.DocumentLinksParams(ref=ref, limit=limit), wire.DocumentLinksResult),
        ("links.mentions", wire.LinksMentionsParams(ref=ref, limit=limit), wire.LinksMentionsResult),
        ("search.similar", SearchSimilarParams(ref=ref, limit=RELATED), SearchResult),
    ]


def neighbourhood(ref: str, depth: int) -> LinkRequest:
    return "links.graph", wire.LinksGraphParams(ref=ref, depth=depth, limit=_NODES), wire.LinksGraphResult


def sections(result: Result) -> list[Section]:
    match result:
        case wire.DocumentLinksResult():
            return _links(result)
        case wire.LinksMentionsResult():
            return [_mentions(result)]
        case SearchResult():
            return [Section("Related", [_related(hit) for hit in result.hits])]
        case wire.LinksGraphResult():
            return [_tree(result)]
    raise TypeError(type(result))


def _links(found: wire.DocumentLinksResult) -> list[Section]:
    links = [entry for link in found.links for entry in _outgoing(link)]
    backlinks = [_passage(link.uri, link.title, link.line, link.passage) for link in found.backlinks]
    return [
        Section(f"Links {found.total_links:,}", links, _rest(len(found.links), found.total_links)),
        Section(f"Backlinks {found.total_backlinks:,}", backlinks, _rest(len(backlinks), found.total_backlinks)),
    ]


def _outgoing(link: wire.DocumentLink) -> Iterator[PaneEntry]:
    """Yield the link; if it is ambiguous, also the documents that it may lead to."""
    target = text.line(link.target)
    if link.to is not None:
        place = f" # {link.fragment}" if link.fragment else ""
        missing = "" if link.has_place else ", which is not in it"
        yield PaneEntry(_hit(link.to, line=link.to_line or 1), text.line(f"{_address(link.to)}{place}{missing}"))
    elif link.candidates:
        yield PaneEntry(None, f"{target}  (ambiguous)")
        yield from (PaneEntry(_hit(uri), text.line(f"  {_address(uri)}")) for uri in link.candidates)
    else:
        why = {"external": "elsewhere", "outside": "outside the collection"}.get(link.state, "no such document")
        yield PaneEntry(None, f"{target}  ({why})")


def _mentions(found: wire.LinksMentionsResult) -> Section:
    entries = [
        _passage(mention.uri, mention.title, mention.line, mention.passage, mention.marks) for mention in found.mentions
    ]
    number = f"{len(entries):,}+" if found.has_more else f"{len(entries):,}"
    return Section(f"Mentions without a link {number}", entries, "there are more" if found.has_more else "")


def _passage(uri: str, title: str, line: int, passage: str, marks: Sequence[tuple[int, int]] = ()) -> PaneEntry:
    hit = _hit(uri, title=title, line=line, snippet=passage, marks=marks)
    return PaneEntry(hit, text.line(f"{title}  {_address(uri)}:{line}"), text.line(passage))


def _related(hit: Hit) -> PaneEntry:
    reasons = " · ".join(reason(each.kind, each.number) for each in hit.reasons or [])
    return PaneEntry(hit, text.line(f"{hit.title}  {_address(hit.uri)}"), text.line(reasons))


def _tree(found: wire.LinksGraphResult) -> Section:
    entries = [
        PaneEntry(
            _hit(node.uri, title=node.title),
            f"{'  ' * node.distance}{arrow}{text.line(node.title)}  {text.line(_address(node.uri))}"
            f"  {node.links:,} out, {node.backlinks:,} in",
        )
        for node, arrow in branches(found)
    ]
    return Section(count(len(entries), "document"), entries, "others are further away" if found.is_cut else "")


def _rest(shown: int, total: int) -> str:
    return f"{total - shown:,} more" if shown < total else ""


def _address(uri: str) -> str:
    collection, path = parse_uri(uri)
    return f"{collection}/{path}"


def _hit(uri: str, *, title: str = "", line: int = 1, snippet: str = "", marks: Sequence[tuple[int, int]] = ()) -> Hit:
    """Return a place in the form that the rest of the UI uses. Only the daemon knows its file."""
    collection, path = parse_uri(uri)
    return Hit(
        rank=1,
        score=0.0,
        docid=uri,
        uri=uri,
        collection=collection,
        path=path,
        source="",
        title=title or path.rpartition("/")[2],
        line=line,
        end_line=line,
        snippet=snippet,
        marks=[*marks],
        mime="",
        modified="",
    )
