"""The graph of documents and links: around one document, breadth first, or of a folder. Must not depend on the wire
types.

The number of links is limited: if a note has 100,000 links or backlinks, only the first are followed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gnod.store.connection import Connection
from gnod.store.links.neighbours import Neighbours, degrees, neighbours, ranked
from gnod.store.tables import documents

Scope = tuple[str | None, str]
"""A collection and a folder in it; (None, "") is everything."""

# The maximum number of links to read for one graph, and for each further document after that.
_MOST_LINKS, _FEW_LINKS = 250_000, 1000


class ReachedDocument(NamedTuple):
    """`distance`: the number of links between this document and the requested one. `links`, `backlinks`: the number of
    documents that it links to, and that link to it, including documents outside the graph."""

    id: int
    distance: int
    links: int
    backlinks: int


class Edge(NamedTuple):
    source: int
    target: int
    times: int


class Graph(NamedTuple):
    """Nodes by distance; at the same distance, nodes with most links to earlier nodes come first. `total`: the number
    of documents without a limit; None if unknown. `is_cut`: documents or links are missing."""

    nodes: list[ReachedDocument]
    edges: list[Edge]
    total: int | None
    is_cut: bool


def around(connection: Connection, document_id: int, scope: Scope, depth: int, limit: int) -> Graph:
    """Return the documents within `depth` links of a document, in both directions."""
    reader = _NeighbourReader(connection)
    distances = {document_id: 0}
    level, total = [document_id], 1
    for distance in range(1, depth + 1):
        reader.read(level)
        met = Counter[int]()
        for id_ in level:
            met.update({other: count for other, count in reader.connected(id_) if other not in distances})
        level = ranked(connection, met, *scope)
        total += len(level)
        level = level[: limit - len(distances)]
        distances |= dict.fromkeys(level, distance)
        if len(distances) < total or not level:
            break
    is_whole = len(distances) == total
    return reader.graph(distances, total if is_whole or distance == depth else None)


def of_scope(connection: Connection, scope: Scope, limit: int) -> Graph:
    """Return the documents of a scope and the links between them. Above the limit, keep the documents with most
    links."""
    best = ranked(connection, degrees(connection, *scope, _MOST_LINKS), *scope)[:limit]
    rest = (each.id for each in documents.under(connection, *scope, limit + len(best), 0))
    chosen = list(dict.fromkeys([*best, *rest]))[:limit]
    return _NeighbourReader(connection).graph(dict.fromkeys(chosen, 0), documents.count_under(connection, *scope))


class _NeighbourReader:
    """Reads the neighbours of documents, once for each document. After many links, reads fewer links for each further
    document."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._left = _MOST_LINKS
        self._found: dict[int, Neighbours] = {}

    def read(self, ids: Iterable[int]) -> None:
        for id_ in ids:
            if id_ not in self._found:
                found = neighbours(self._connection, id_, max(self._left, _FEW_LINKS))
                self._found[id_] = found
                self._left -= found.read

    def connected(self, id_: int) -> Iterable[tuple[int, int]]:
        """Return the neighbours of a document, with the number of links in both directions."""
        found = self._found[id_]
        return (Counter(found.targets) + Counter(found.sources)).items()

    def graph(self, distances: dict[int, int], total: int | None) -> Graph:
        self.read(distances)
        nodes = [self._node(id_, distance) for id_, distance in distances.items()]
        is_cut = total != len(nodes) or any(self._found[id_].is_cut for id_ in distances)
        return Graph(nodes, self._edges(list(distances)), total, is_cut)

    def _node(self, id_: int, distance: int) -> ReachedDocument:
        found = self._found[id_]
        return ReachedDocument(id_, distance, len(found.targets), len(found.sources))

    def _edges(self, ids: Sequence[int]) -> list[Edge]:
        """Return the links between these documents, in the order of the documents."""
        place = {id_: at for at, id_ in enumerate(ids)}
        found = [
            Edge(id_, target, count)
            for id_ in ids
            for target, count in self._found[id_].targets.items()
            if target in place
        ]
        return sorted(found, key=lambda edge: (place[edge.source], place[edge.target]))
