"""What a client asks of every kind of search, and the results that it gets. Data only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gnod.freshness.read_your_writes import FreshnessReport
from gnod.search.correction.correcting import WordCorrection
from gnod.search.fields.facets import Count
from gnod.search.hits import DocumentHit
from gnod.search.hybrid.budget import Stage
from gnod.store.tables.filters import Filters


class SearchRequest(NamedTuple):
    """`text`: the query as written, with its fields. `exact`: do not correct words that no document has. `fresh`: sync
    the collections first. `sort`: a field, with a minus before it for descending. `passages`: at most this many of each
    document; 0 returns the documents alone. `full`: return the whole texts, too."""

    text: str
    filters: Filters = Filters()
    limit: int = 10
    min_score: float = 0.0
    exact: bool = False
    fresh: bool = False
    sort: str | None = None
    facets: tuple[str, ...] = ()
    passages: int = 1
    full: bool = False

    @property
    def collections(self) -> list[str]:
        """Return the collections that are searched; all when empty."""
        return list(self.filters.collections)


class Results(NamedTuple):
    """`mode`: lexical, vector, query, similar or list. `query`: as it was asked; the document's address for similar.
    `total`: as in the wire's SearchResult. `lexical_only_reason`: why a hybrid search used keywords alone, if it did.
    `explain`: what is known besides the stages."""

    mode: str
    query: str
    hits: list[DocumentHit]
    total: int
    took_ms: float
    freshness: FreshnessReport
    stages: Sequence[Stage]
    corrections: Sequence[WordCorrection] = ()
    notes: Sequence[str] = ()
    hints: Sequence[str] = ()
    facets: Mapping[str, Sequence[Count]] = {}
    lexical_only_reason: str | None = None
    explain: Mapping[str, object] = {}
