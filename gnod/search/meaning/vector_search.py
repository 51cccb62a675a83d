"""Vector search: from query vectors to ranked documents, and from a document to similar ones.

Depends on the store and on the vectors in memory; must not depend on models, snippets or the wire types.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.errors import NotEmbedded
from gnod.search.meaning.candidate_documents import Spread
from gnod.search.meaning.nearest_documents import Nearest, SurveyedVectors
from gnod.search.ranking.ranked import RankedDocument, without_copies
from gnod.store.connection import Connection
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.filters import Filters
from gnod.store.vectors import vectors

Rows = NDArray[np.float32]


class QueryVectors(NamedTuple):
    """`rows` of each model, by its URI: one vector of length 1 for each text, in their order. `served`: which model
    answers for which collection. Collections without a serving model are not searched. `left_out`: why models have no
    rows."""

    rows: Mapping[str, Rows]
    served: Mapping[str, str]
    left_out: tuple[str, ...] = ()

    def row(self, number: int) -> dict[str, Rows]:
        return {uri: rows[number] for uri, rows in self.rows.items()}

    def without(self, uris: Collection[str]) -> QueryVectors:
        """Leave out models."""
        if not uris:
            return self
        return QueryVectors(
            {uri: rows for uri, rows in self.rows.items() if uri not in uris},
            {name: uri for name, uri in self.served.items() if uri not in uris},
            self.left_out,
        )

    def joined(self, more: QueryVectors | None) -> QueryVectors:
        """Append the rows of the same models."""
        if more is None:
            return self
        return self._replace(rows={uri: np.concatenate([rows, more.rows[uri]]) for uri, rows in self.rows.items()})


def search(
    connection: Connection,
    nearest: Nearest,
    query: QueryVectors,
    filters: Filters,
    *,
    limit: int,
    min_score: float = 0.0,
) -> list[RankedDocument]:
    """Return the best `limit` documents by the first row, each content once; ties by document id. The score is the
    similarity of the document's best piece, in [0, 1]: 1 - cosine distance / 2."""
    found: list[RankedDocument] = []
    for uri, vector in query.row(0).items():
        if within := served_by(uri, query.served, filters):
            found += nearest.search(connection, uri, vector, filters._replace(collections=within), limit=limit)
    return best(without_copies(connection, best(found, len(found), 0.0)), limit, min_score)


def survey(
    connection: Connection,
    nearest: Nearest,
    query: QueryVectors,
    number: int,
    filters: Filters,
    *,
    limit: int,
    also: Collection[int] = (),
) -> SurveyedVectors:
    """Search row `number` for fusion with another ranking: the best `limit` documents of each model, and of those in
    `also` all that have a vector and pass the filters."""
    found: list[RankedDocument] = []
    prominences: list[float] = []
    spreads: dict[str, Spread] = {}
    for uri, vector in query.row(number).items():
        if within := served_by(uri, query.served, filters):
            only = filters._replace(collections=within)
            surveyed = nearest.survey(connection, uri, vector, only, limit=limit, also=also)
            found += surveyed.ranked
            spreads.update(surveyed.spreads)
            prominences += [] if surveyed.prominence is None else [surveyed.prominence]
    return SurveyedVectors(best(found, len(found), 0.0), max(prominences, default=None), spreads)


def similar(
    connection: Connection,
    nearest: Nearest,
    document: DocumentRow,
    served: Mapping[str, str],
    filters: Filters,
    *,
    limit: int,
    min_score: float = 0.0,
) -> list[RankedDocument]:
    """Return the documents nearest to `document`, without itself and its copies, from the collections that the same
    model serves. Raises NotEmbedded."""
    uri, query, only = _itself(connection, document, served, filters)
    found = nearest.search(connection, uri, query, only, limit=limit, exclude_mirror=document.mirror_hash)
    return best(found, limit, min_score)


def similar_and(
    connection: Connection,
    nearest: Nearest,
    document: DocumentRow,
    served: Mapping[str, str],
    filters: Filters,
    *,
    limit: int,
    also: Collection[int],
) -> list[RankedDocument]:
    """Do as `similar`, and add all documents of `also` that have a vector and pass the filters. The filters must leave
    out the document itself. Raises NotEmbedded."""
    uri, query, only = _itself(connection, document, served, filters)
    return nearest.survey(connection, uri, query, only, limit=limit, also=also).ranked


def _itself(
    connection: Connection, document: DocumentRow, served: Mapping[str, str], filters: Filters
) -> tuple[str, Rows, Filters]:
    """Return the model of a document, its vector, and the filters with the collections that the model serves."""
    address, uri = document.uri, served.get(document.collection)
    query = vectors.document_vector(connection, document.mirror_hash, uri) if uri else None
    if uri is None or query is None:
        raise NotEmbedded(f"{address} is not embedded yet: `gnoctl embed` shows the progress", {"uri": address})
    within = served_by(uri, served, filters)
    if not within:
        raise NotEmbedded(
            f"{', '.join(filters.collections)} cannot be compared with {address}: the same model must embed both",
            {"uri": address, "model": uri},
        )
    return uri, query, filters._replace(collections=within)


def served_by(uri: str, served: Mapping[str, str], filters: Filters) -> tuple[str, ...]:
    """Return the requested collections that the model serves. Empty means none, not all: do not search then."""
    wanted = set(filters.collections or served)
    return tuple(sorted(name for name, model in served.items() if model == uri and name in wanted))


def best(found: Sequence[RankedDocument], limit: int, min_score: float) -> list[RankedDocument]:
    """Return the best `limit` of the documents; ties by document id."""
    ordered = sorted(found, key=lambda each: (-each.score, each.id))[:limit]
    return [each for each in ordered if each.score >= min_score]
