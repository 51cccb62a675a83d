"""The modes that can be measured."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from gnod.errors import InferenceFailed
from gnod.evaluate.index import Index
from gnod.evaluate.measures import DEPTH
from gnod.evaluate.searching import MeasuredModels, search_service
from gnod.search.hybrid.budget import Stage
from gnod.search.hybrid.stages import HybridSettings
from gnod.search.results import Results, SearchRequest

T = TypeVar("T")
HYBRID = "hybrid"
# A measurement of quality must not cut stages short.
UNBOUNDED_S = 3600.0

Ranking = list[tuple[str, float]]
"""(document id, score), best first, larger is better."""


class QueryResult(NamedTuple):
    """`cut`: stages that were left out or cut short although there is a model for them."""

    ranking: Ranking
    cut: Sequence[Stage] = ()


Retriever = Callable[[str], QueryResult]
"""Called with a query. Raises QuerySyntaxError."""


class Mode(NamedTuple):
    """`needs_vectors`: it cannot run without an embedding model. `uses`: roles that it uses if there are models."""

    retriever: Callable[[Index], Retriever]
    needs_vectors: bool = True
    uses: frozenset[str] = frozenset()


def _keyword(index: Index) -> Retriever:
    searches = search_service(index, MeasuredModels(index.database, None))

    async def search(request: SearchRequest) -> Results:
        found = await searches.lexical(request, lambda results: results)
        assert isinstance(found, Results), "no other process searches"
        return found

    return partial(_retrieve, index, search)


def _vector(index: Index) -> Retriever:
    searches = search_service(index, MeasuredModels(index.database, index.models))
    return partial(_retrieve, index, searches.vector)


def _hybrid(index: Index) -> Retriever:
    models = index.models
    searches = search_service(index, MeasuredModels(index.database, models))
    options = HybridSettings(limit=DEPTH, budget_s=UNBOUNDED_S)
    absent = {
        *({"expand"} if not (models and models.generator) else ()),
        *({"rerank"} if not (models and models.reranker) else ()),
    }

    def retrieve(query: str) -> QueryResult:
        found = _retrieve(index, lambda request: searches.hybrid(request, options), query)
        return found._replace(cut=[stage for stage in found.cut if stage.name not in absent])

    return retrieve


def _retrieve(index: Index, search: Callable[[SearchRequest], Awaitable[Results]], query: str) -> QueryResult:
    request = SearchRequest(query, limit=DEPTH, passages=0)
    results = index.loop.run(_awaited(search(request)))
    cut = [stage for stage in results.stages if stage.why]
    return QueryResult([(index.ids[hit.ranked.id], hit.ranked.score) for hit in results.hits], cut)


async def _awaited(found: Awaitable[T]) -> T:
    return await found


def expand_all(index: Index, queries: Iterable[str], progress: Callable[[int], None]) -> None:
    """Expand every query without a time limit. The index caches the expansions."""
    models = index.models
    expander = MeasuredModels(index.database, models).expander()
    if not models or not expander:
        return
    for done, query in enumerate(queries, 1):
        with contextlib.suppress(InferenceFailed):  # the search reports it for this query
            models.run(expander.expand(query, limit_s=UNBOUNDED_S))
        progress(done)


MODES: Mapping[str, Mode] = {
    "keyword": Mode(_keyword, needs_vectors=False),
    "vector": Mode(_vector, uses=frozenset({"embed"})),
    HYBRID: Mode(_hybrid, uses=frozenset({"embed", "expand", "rerank"})),
}
