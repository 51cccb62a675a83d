"""`document.links` and `links.*`: where links lead, and the text around them. Checks whether files exist, but reads
none."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import os
from collections.abc import Mapping
from functools import cache
from pathlib import PurePath
from urllib.parse import unquote

from msgspec.structs import replace

from gnod.configured.configuration import Configuration
from gnod.disks.looks import answers
from gnod.disks.spellings import real_path
from gnod.handlers import mentions
from gnod.handlers.wire_types import entry
from gnod.ingest.links.places import LinkPlaces
from gnod.protocol import links as wire
from gnod.protocol.base import copied
from gnod.protocol.documents import DocumentListResult
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.passages.plain_text import plain
from gnod.search.query import references
from gnod.search.related import link_graph
from gnod.store import link_names
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.link_names import ALIAS, EXTERNAL, OUTSIDE
from gnod.store.links import links
from gnod.store.links.links import LinkedDocument, StoredLink
from gnod.store.tables import documents, texts
from gnod.store.tables.documents import DocumentRow
from gnod.types import format_uri, is_markdown, source_line

_AROUND = 160  # characters of the passage on each side
_MOST_DEAD = 10_000
_MOST_GROUPS = 1000
_MOST_COMPARED = 100  # the maximum number of dead links that are compared with the names of files
_LABELS = ("ref:", "id:")


def handlers(configuration: Configuration, database: Database) -> Mapping[str, Handler]:
    checks = asyncio.Semaphore(1)  # a check may take seconds: the other readers stay free for searches

    def scope_of(scope: str | None) -> tuple[str | None, str]:
        collection, prefix = references.scope(scope)
        if collection is not None:
            configuration.collection(collection)
        return collection, prefix

    async def document_links(params: wire.DocumentLinksParams, _: Call) -> wire.DocumentLinksResult:
        return await database.read(lambda connection: _links(connection, params))

    async def links_unresolved(params: wire.LinksScopeParams, _: Call) -> wire.LinksUnresolvedResult:
        scope = scope_of(params.scope)

        def work(connection: Connection) -> wire.LinksUnresolvedResult:
            found, total = links.unresolved(connection, *scope, params.limit, params.offset)
            renamed = links.renamed(connection)
            nearest: dict[tuple[int, str | None, int], str | None] = {}
            for stored in found:
                place = (stored.collection_id, stored.link.key, stored.link.reach)
                if place not in nearest:
                    is_compared = len(nearest) < _MOST_COMPARED
                    nearest[place] = _nearest(connection, stored, renamed, is_compared=is_compared)
            shown = zip(_Shown(connection).all(found), found, strict=True)
            return wire.LinksUnresolvedResult(
                links=[
                    replace(link, suggestion=nearest[each.collection_id, each.link.key, each.link.reach])
                    for link, each in shown
                ],
                total=total,
            )

        return await database.read(work)

    async def document_duplicates(params: wire.ScopeParams, _: Call) -> wire.DocumentDuplicatesResult:
        scope = scope_of(params.scope)

        def work(connection: Connection) -> wire.DocumentDuplicatesResult:
            groups = list(links.with_equal_text(connection, *scope))
            uris = [[format_uri(*place) for place in group] for group in groups[:_MOST_GROUPS]]
            return wire.DocumentDuplicatesResult(groups=uris, total=len(groups))

        return await database.read(work)

    async def links_orphans(params: wire.LinksScopeParams, _: Call) -> DocumentListResult:
        scope = scope_of(params.scope)

        def work(connection: Connection) -> DocumentListResult:
            ids = links.orphans(connection, *scope)
            page = ids[params.offset : params.offset + params.limit]
            by_id = documents.by_ids(connection, page)
            return DocumentListResult(documents=[entry(by_id[id_]) for id_ in page], total=len(ids))

        return await database.read(work)

    async def links_check(params: wire.ScopeParams, _: Call) -> wire.LinksCheckResult:
        scope = scope_of(params.scope)
        async with checks:
            return await database.read(lambda connection: _check(connection, *scope))

    async def links_graph(params: wire.LinksGraphParams, _: Call) -> wire.LinksGraphResult:
        scope = scope_of(params.scope)
        async with checks if params.ref is None else contextlib.nullcontext():
            return await database.read(lambda connection: _graph(connection, params, scope))

    async def links_mentions(params: wire.LinksMentionsParams, _: Call) -> wire.LinksMentionsResult:
        return await database.read(lambda connection: mentions.mentions_of(connection, params))

    return named(
        document_links, document_duplicates, links_unresolved, links_orphans, links_check, links_graph, links_mentions
    )


def _links(connection: Connection, params: wire.DocumentLinksParams) -> wire.DocumentLinksResult:
    document = references.resolve(connection, params.ref).document
    shown = _Shown(connection)
    found: list[StoredLink] = []
    incoming: list[StoredLink] = []
    total = total_incoming = 0
    if params.direction != "in":
        found = links.outgoing(connection, document.id, params.limit, params.offset)
        total = links.count_outgoing(connection, document.id)
    if params.direction != "out":
        incoming, total_incoming = links.incoming(connection, document.id, params.limit, params.offset)
    return wire.DocumentLinksResult(
        uri=document.uri,
        title=document.title,
        links=shown.all(found),
        total_links=total,
        backlinks=shown.all(incoming),
        total_backlinks=total_incoming,
    )


def _graph(connection: Connection, params: wire.LinksGraphParams, scope: link_graph.Scope) -> wire.LinksGraphResult:
    if params.ref is None:
        found = link_graph.of_scope(connection, scope, params.limit)
    else:
        document = references.resolve(connection, params.ref).document
        found = link_graph.around(connection, document.id, scope, params.depth, params.limit)
    by_id = documents.by_ids(connection, [node.id for node in found.nodes])
    uris = {id_: document.uri for id_, document in by_id.items()}
    return wire.LinksGraphResult(
        nodes=[
            copied(
                wire.GraphNode,
                by_id[node.id],
                uri=uris[node.id],
                distance=node.distance,
                links=node.links,
                backlinks=node.backlinks,
            )
            for node in found.nodes
        ],
        edges=[wire.GraphEdge(uris[edge.source], uris[edge.target], edge.times) for edge in found.edges],
        total=found.total,
        is_cut=found.is_cut,
    )


class _Shown:
    """Converts links to wire types. Reads each document, and the places in it, once per request."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._documents: dict[int, DocumentRow] = {}
        self._places: dict[int, LinkPlaces | None] = {}
        self._meant: dict[tuple[object, ...], list[LinkedDocument]] = {}

    def all(self, found: list[StoredLink]) -> list[wire.DocumentLink]:
        self._load({link.document_id for link in found})
        meant = [self.meant(link) for link in found]
        self._load({document.id for each in meant for document in each})
        return [self._link(each, to) for each, to in zip(found, meant, strict=True)]

    def meant(self, stored: StoredLink) -> list[LinkedDocument]:
        link = stored.link
        # A wikilink prefers documents below its own folder.
        folder = self.document(stored.document_id).path.rpartition("/")[0] if link.reach == ALIAS else ""
        key = (stored.collection_id, link.key, link.reach, link.target, folder)
        if key not in self._meant:
            self._meant[key] = links.meant(self._connection, stored)
        return self._meant[key]

    def document(self, id_: int) -> DocumentRow:
        self._load({id_})
        return self._documents[id_]

    def places(self, document: DocumentRow) -> LinkPlaces | None:
        """Return the places of a document that a link can name; None if its format has other places than Markdown."""
        if document.id not in self._places:
            is_markdown = document.mime == "text/markdown"
            text = documents.markdown(self._connection, document.mirror_hash) if is_markdown else ""
            self._places[document.id] = LinkPlaces(text) if is_markdown else None
        return self._places[document.id]

    def _load(self, ids: set[int]) -> None:
        if missing := sorted(id_ for id_ in ids if id_ not in self._documents):
            self._documents |= documents.by_ids(self._connection, missing)

    def _link(self, stored: StoredLink, meant: list[LinkedDocument]) -> wire.DocumentLink:
        document, link = self._documents[stored.document_id], stored.link
        to = self._documents[meant[0].id] if len(meant) == 1 else None
        places = self.places(to) if to and link.fragment else None
        line = places.line_of(link.fragment) if places else None
        return wire.DocumentLink(
            uri=document.uri,
            title=document.title,
            line=link.line,
            kind=link.kind,
            target=link.target,
            fragment=link.fragment,
            passage=self._passage(document, link.start, link.end) if link.start < link.end else link.target,
            state=_state(stored, meant),
            to=to.uri if to else None,
            to_title=to.title if to else None,
            to_line=source_line(to.line_map, line) if to and line else None,
            candidates=[self._documents[each.id].uri for each in meant] if to is None else [],
            has_place=places is None or line is not None,
        )

    def _passage(self, document: DocumentRow, start: int, end: int) -> str:
        """Return the line around a link, or the part near the link, without Markdown."""
        first = max(start - _AROUND, 0)
        text = texts.stretch(self._connection, document.mirror_hash, first, min(end, start + _AROUND) + _AROUND)
        begin = text.rfind("\n", 0, start - first) + 1
        stop = text.find("\n", max(min(end, start + _AROUND) - first - 1, 0))
        stop = stop if stop >= 0 else len(text)
        shown = plain(text, begin, stop, [])[0] if is_markdown(document.converter) else ""
        return shown.strip() or text[begin:stop].strip()


def _state(stored: StoredLink, meant: list[LinkedDocument]) -> wire.LinkState:
    if stored.link.reach == EXTERNAL:
        return "external"
    if stored.link.reach == OUTSIDE:
        return "outside"
    return "unresolved" if not meant else "resolved" if len(meant) == 1 else "ambiguous"


def _check(connection: Connection, collection: str | None, prefix: str) -> wire.LinksCheckResult:
    """Return the links to files that are neither in the index nor on the disk, and to places that do not exist."""
    shown, renamed = _Shown(connection), links.renamed(connection)
    dead: list[wire.DeadLink] = []
    total = 0
    is_known = cache(answers)  # by the folder of the collection
    for stored in links.unresolved(connection, collection, prefix, -1, 0)[0]:
        document = shown.document(stored.document_id)
        is_label = (stored.link.key or "").startswith(_LABELS)
        if is_label or not is_known(document.root) or _is_on_disk(document, stored):
            continue
        total += 1
        if total <= _MOST_DEAD:
            suggestion = _nearest(connection, stored, renamed, is_compared=total <= _MOST_COMPARED)
            dead.append(_dead(document, stored, _problem(stored), suggestion))
    for stored in links.with_fragment(connection, collection, prefix):
        meant = shown.meant(stored)
        places = shown.places(shown.document(meant[0].id)) if len(meant) == 1 else None
        if places is None or places.has(stored.link.fragment):
            continue
        total += 1
        if total <= _MOST_DEAD:
            problem = f"{meant[0].path} has no heading or block {stored.link.fragment!r}"
            suggestion = places.suggestion(stored.link.fragment)
            dead.append(_dead(shown.document(stored.document_id), stored, problem, suggestion))
    dead.sort(key=lambda each: (each.uri, each.line))
    return wire.LinksCheckResult(dead=dead, total=total)


def _problem(stored: StoredLink) -> str:
    if stored.link.reach == OUTSIDE:
        return "the path leads out of the collection, so it is not followed"
    return "no document has this name" if stored.link.reach == ALIAS else "the file does not exist"


def _dead(document: DocumentRow, stored: StoredLink, problem: str, suggestion: str | None) -> wire.DeadLink:
    return wire.DeadLink(
        uri=document.uri,
        source=document.source,
        line=stored.link.line,
        target=stored.link.target,
        problem=problem,
        suggestion=suggestion,
    )


def _is_on_disk(document: DocumentRow, stored: StoredLink) -> bool:
    """Return whether a link leads to a file or folder that is not in the index, such as a picture or an excluded
    file."""
    written = stored.link.target.partition("#")[0].strip()
    root = os.path.normpath(document.root)
    for path in dict.fromkeys((written, unquote(written.partition("?")[0]))):
        if not path or "\0" in path:
            continue
        folders = [root] if path.startswith("/") else [os.path.join(root, os.path.dirname(document.path)), root]  # noqa: PTH118, PTH120
        for folder in folders:
            place = os.path.normpath(f"{folder}/{path}")
            if place.startswith(root + os.sep) and os.path.lexists(real_path(place)):
                return True
    return False


def _nearest(connection: Connection, stored: StoredLink, known: links.Renamed, *, is_compared: bool) -> str | None:
    """Return the path that is most similar to a dead link: of the renamed file, or of a file with the same or a similar
    name elsewhere."""
    link, collection = stored.link, stored.collection_id
    if link.key is None:
        return None
    rank, moved = known.get((collection, link.key), (ALIAS + 1, ""))
    if rank <= link.reach:
        return moved
    written = link_names.key(unquote(link.target.partition("#")[0]).lstrip("./"))
    name = link.key.rpartition("/")[2]
    for same in (written, name):
        if found := links.path_named(connection, collection, same):
            return found
    ending = PurePath(name).suffix
    names = links.file_names(connection, collection, name[:2]) if is_compared else []
    names = [each for each in names if PurePath(each).suffix == ending]  # a link to a picture does not mean a note
    similar = difflib.get_close_matches(name, names, n=1, cutoff=0.75)
    return links.path_named(connection, collection, similar[0]) if similar else None
