"""The graph of documents and the links between them: around one document, breadth first, or of a folder. Must not
depend on the wire types.

Work is bounded: of 100,000 links in one note, or to it, the first are followed.
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

# The number of links that are read for one graph, and for each further document when these are used up.
_MOST_LINKS, _FEW_LINKS = 250_000, 1000


class ReachedDocument(NamedTuple):
    """`distance`: links between the document and the one that was asked for. `links`, `backlinks`: with how many
    documents it is connected in each direction, including those outside the graph."""

    id: int
    distance: int
    links: int
    backlinks: int


class Edge(NamedTuple):
    source: int
    target: int
    times: int


class Graph(NamedTuple):
    """Nodes by distance, those with the most links to what was found before first. `total`: the documents that the
    graph would have without a limit; None if that is not known. `is_cut`: documents or links are missing."""

    nodes: list[ReachedDocument]
    edges: list[Edge]
    total: int | None
    is_cut: bool


def around(connection: Connection, document_id: int, scope: Scope, depth: int, limit: int) -> Graph:
    """Return what links, followed in both directions, connect with a document in at most `depth` steps."""
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
    """Return the documents of a scope and the links between them; of too many, those with the most links."""
    best = ranked(connection, degrees(connection, *scope, _MOST_LINKS), *scope)[:limit]
    rest = (each.id for each in documents.under(connection, *scope, limit + len(best), 0))
    chosen = list(dict.fromkeys([*best, *rest]))[:limit]
    return _NeighbourReader(connection).graph(dict.fromkeys(chosen, 0), documents.count_under(connection, *scope))


class _NeighbourReader:
    """The neighbours of documents, each read once. Fewer links are read when many have been."""

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
        """Return the neighbours of a document, with the links in both directions."""
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
        """Return the links between these documents, in their order."""
        place = {id_: at for at, id_ in enumerate(ids)}
        found = [
            Edge(id_, target, count)
            for id_ in ids
            for target, count in self._found[id_].targets.items()
            if target in place
        ]
        return sorted(found, key=lambda edge: (place[edge.source], place[edge.target]))
