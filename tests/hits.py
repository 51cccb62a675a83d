"""Search a small index, and return the hits in the form that a client gets."""

from __future__ import annotations

from collections.abc import Sequence

from gnod.handlers.hits import hit_of
from gnod.protocol.search import Hit, SearchParams
from gnod.search.hits import HitOptions, hits_of
from gnod.search.keyword.expression import Expression
from gnod.search.meaning.vector_search import QueryVectors
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection
from gnod.store.tables.filters import Filters


def wire_hits(
    connection: Connection,
    ranked: Sequence[RankedDocument],
    words: Expression,
    params: SearchParams,
    vectors: QueryVectors | None = None,
    filters: Filters | None = None,
) -> list[Hit]:
    options = HitOptions((), params.passages, params.full, filters or Filters())
    found = hits_of(connection, ranked, words, options, vectors)
    return [hit_of(rank, hit, params) for rank, hit in enumerate(found, 1)]
