"""Find documents related to a document: similar documents, linked documents, and documents that others cite together
with it.

Each of these is evidence between 0 and 1 that a document is related. The kinds of evidence are taken as independent:
the relevance is 1 - Π (1 - evidence). No weight was learned. The evidence of n links is n / (n + 1). If a document
cites many others, each pair counts less (fractional co-citation: Small & Sweeney 1985).

The order avoids repetition. As in maximal marginal relevance (Carbonell & Goldstein 1998), the next document is always
the one that adds most to the chosen ones. It adds its relevance times the share that is new: a document repeats a
chosen one to the extent that it is nearer to it than to the requested document. So the scores descend for the cosines
of any model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.errors import NotEmbedded
from gnod.search.meaning import candidate_documents, vector_search
from gnod.search.meaning.vector_search import Nearest
from gnod.search.ranking.fusion import UNRELATED
from gnod.search.ranking.ranked import RankedDocument, without_copies
from gnod.store.connection import Connection
from gnod.store.links import neighbours
from gnod.store.tables import documents
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.filters import Filters
from gnod.store.vectors import vectors

# Reasons why a document is related, as components of its score: the similarity in [0, 1], and numbers of links and
# documents.
KINDS = ("links_to", "linked_from", "cited_together", "similar")

# Consider this many documents of each kind in addition to those requested.
_SPARE = 30
_MOST_LINKS, _MOST_CITING = 10_000, 200
# The minimum distance of two vectors, because the distance is a divisor.
_LEAST = 1e-6

Vectors = NDArray[np.float32]


class _Links(NamedTuple):
    """`citing`: how many documents link to both. `votes`: each of these has one vote, divided among its links."""

    targets: Mapping[int, int]
    sources: Mapping[int, int]
    citing: Mapping[int, int]
    votes: Mapping[int, float]

    def ids(self, limit: int | None = None) -> set[int]:
        """Return the documents with the most links of each kind, or all."""
        return {id_ for counts in (self.targets, self.sources, self.votes) for id_, _ in _most(counts, limit)}

    def among(self, ids: Collection[int]) -> _Links:
        """Return only the links of these documents."""
        kept = set(ids)
        return _Links(
            {id_: count for id_, count in self.targets.items() if id_ in kept},
            {id_: count for id_, count in self.sources.items() if id_ in kept},
            {id_: count for id_, count in self.citing.items() if id_ in kept},
            {id_: vote for id_, vote in self.votes.items() if id_ in kept},
        )


def related(
    connection: Connection,
    nearest: Nearest,
    document: DocumentRow,
    served: Mapping[str, str],
    filters: Filters,
    *,
    limit: int,
    min_score: float = 0.0,
) -> list[RankedDocument]:
    """Return the documents related to `document`, without itself and its copies. Near-copies of an earlier one come
    later. The score is the relevance that a document adds to those before it. Components: KINDS. Raises NotEmbedded if
    it has no vectors and no links."""
    depth = limit + _SPARE
    only = filters._replace(excluded=filters.excluded | neighbours.with_same_text(connection, document.id))
    every = _linked(connection, document.id)
    linked = every.among(documents.passing(connection, every.ids(), only))
    near, missing = _near(connection, nearest, document, served, only, depth, linked)
    others = linked.ids(depth) - near.keys()
    if missing and not others:
        raise missing
    found = [_ranked(id_, near.get(id_), linked) for id_ in [*near, *sorted(others)]]
    kept = [each for each in found if each.components]
    pool = without_copies(connection, sorted(kept, key=lambda each: (-each.score, each.id)))[: depth + _SPARE]
    uri = served.get(document.collection)
    rows = vectors.document_vectors(connection, [document.id, *(each.id for each in pool)], uri) if uri else {}
    known = [rows.get(each.id) for each in pool]
    order = diverse([each.score for each in pool], known, limit, rows.get(document.id))
    scored = [pool[number]._replace(score=score) for number, score in order if score >= min_score]
    return candidate_documents.placed(connection, scored)


def _linked(connection: Connection, document_id: int) -> _Links:
    found = neighbours.neighbours(connection, document_id, _MOST_LINKS)
    citing = [id_ for id_, _ in _most(found.sources, _MOST_CITING)]
    cited = neighbours.cited_by(connection, citing, _MOST_LINKS)
    counts, votes = Counter[int](), dict[int, float]()
    for targets in cited.values():
        for other in targets - {document_id}:
            counts[other] += 1
            votes[other] = votes.get(other, 0.0) + 1 / (len(targets) - 1)
    return _Links(found.targets, found.sources, counts, votes)


def _near(
    connection: Connection,
    nearest: Nearest,
    document: DocumentRow,
    served: Mapping[str, str],
    filters: Filters,
    depth: int,
    linked: _Links,
) -> tuple[dict[int, RankedDocument], NotEmbedded | None]:
    """Return the similar documents, and the linked ones with their similarity; or the error if the document has no
    vectors."""
    try:
        found = vector_search.similar_and(
            connection, nearest, document, served, filters, limit=depth, also=linked.ids(depth)
        )
    except NotEmbedded as error:
        return {}, error
    return {each.id: each for each in found}, None


def _ranked(id_: int, near: RankedDocument | None, linked: _Links) -> RankedDocument:
    similarity = near.score if near and near.score > UNRELATED else 0.0
    numbers = (linked.targets.get(id_, 0), linked.sources.get(id_, 0), linked.citing.get(id_, 0), similarity)
    votes = (*numbers[:2], linked.votes.get(id_, 0.0))
    evidence = [max(similarity - UNRELATED, 0) / (1 - UNRELATED), *(vote / (vote + 1) for vote in votes)]
    relevance = 1 - prod(1 - each for each in evidence)
    components = {kind: float(number) for kind, number in zip(KINDS, numbers, strict=True) if number}
    return RankedDocument(id_, relevance, near.span if near else None, components, near.unplaced if near else ())


def _most(counts: Mapping[int, float], limit: int | None) -> list[tuple[int, float]]:
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:limit]


def diverse(
    relevance: Sequence[float], vectors: Sequence[Vectors | None], limit: int, asked: Vectors | None = None
) -> list[tuple[int, float]]:
    """Return the numbers of the chosen documents, in order, with the score that each adds; among equals, the first.
    Vectors have length 1. A document without a vector does not repeat any other. `asked`: the vectors of the requested
    document."""
    worth = np.asarray(relevance, np.float64)
    every = _rows([*vectors, asked])
    rows = every[:-1]
    near = (rows @ every[-1]).clip(0, 1 - _LEAST)
    chosen: list[tuple[int, float]] = []
    left, new = np.ones(len(worth), bool), np.ones(len(worth))
    for _ in range(min(limit, len(worth))):
        added = np.where(left, worth * new, -1.0)
        best = int(np.argmax(added))
        chosen.append((best, float(added[best])))
        left[best] = False
        repeated = (rows @ rows[best] - near) / (1 - near)
        new = np.minimum(new, 1 - repeated.clip(0, 1))
    return chosen


def _rows(vectors: Sequence[Vectors | None]) -> Vectors:
    """Return the vectors as a matrix. Unknown vectors are zeros, so their cosine with any other is 0."""
    dimensions = next((len(vector) for vector in vectors if vector is not None), 0)
    nothing = np.zeros(dimensions, np.float32)
    return np.asarray([nothing if vector is None else vector for vector in vectors], np.float32)
