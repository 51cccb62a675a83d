"""The modes that can be measured. A mode is one entry in `MODES`, a variant of the hybrid query one in `VARIANTS`."""

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
from gnod.types import FUSION_METHODS

T = TypeVar("T")
BASELINE = "hybrid"
# A measurement of quality must not cut stages short.
UNBOUNDED_S = 3600.0

Ranking = list[tuple[str, float]]
"""(document id, score), best first, larger is better."""


class QueryResult(NamedTuple):
    """`cut`: stages that were left out or cut short although the mode wants them."""

    ranking: Ranking
    cut: Sequence[Stage] = ()


Retriever = Callable[[str], QueryResult]
"""Called with a query. Raises QuerySyntaxError."""


class Mode(NamedTuple):
    """`retriever` is called with the index and the budget of a query in seconds (None: no limit). `needs`: model roles
    without which the mode cannot run. `uses`: roles that it uses if their models are available."""

    retriever: Callable[[Index, float | None], Retriever]
    needs: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()


class Variant(NamedTuple):
    """A change to the hybrid query. `needs`: the role of the model without which the change has no effect."""

    options: HybridSettings = HybridSettings()
    needs: str | None = None

    def mode(self) -> Mode:
        roles = {"embed": True, "expand": self.options.expand, "rerank": self.options.rerank}
        return Mode(
            partial(_hybrid, self),
            needs=frozenset({"embed", self.needs} if self.needs else {"embed"}),
            uses=frozenset(role for role, is_used in roles.items() if is_used),
        )


VARIANTS: Mapping[str, Variant] = {
    BASELINE: Variant(),
    **{f"hybrid-{method}": Variant(HybridSettings(fusion=method)) for method in FUSION_METHODS[1:]},
    "hybrid-no-expand": Variant(HybridSettings(expand=False), needs="expand"),
    "hybrid-no-rerank": Variant(HybridSettings(rerank=False), needs="rerank"),
    "hybrid-no-floor": Variant(HybridSettings(floor=False), needs="rerank"),
}


def _keyword(index: Index, _budget_s: float | None) -> Retriever:
    searches = search_service(index, MeasuredModels(index.database, None))

    async def search(request: SearchRequest) -> Results:
        found = await searches.lexical(request, lambda results: results)
        assert isinstance(found, Results), "no other process searches"
        return found

    return partial(_retrieve, index, search)


def _vector(index: Index, _budget_s: float | None) -> Retriever:
    searches = search_service(index, MeasuredModels(index.database, index.models))
    return partial(_retrieve, index, searches.vector)


def _hybrid(variant: Variant, index: Index, budget_s: float | None) -> Retriever:
    models = index.models
    searches = search_service(index, MeasuredModels(index.database, models))
    options = variant.options._replace(limit=DEPTH, budget_s=budget_s or UNBOUNDED_S)
    unused = {
        *({"expand"} if not (models and models.generator and options.expand) else ()),
        *({"rerank"} if not (models and models.reranker and options.rerank) else ()),
    }

    def retrieve(query: str) -> QueryResult:
        found = _retrieve(index, lambda request: searches.hybrid(request, options), query)
        return found._replace(cut=[stage for stage in found.cut if stage.name not in unused])

    return retrieve


def _retrieve(index: Index, search: Callable[[SearchRequest], Awaitable[Results]], query: str) -> QueryResult:
    request = SearchRequest(query, limit=DEPTH, passages=0)
    results = index.loop.run(_awaited(search(request)))
    cut = [stage for stage in results.stages if stage.why]
    return QueryResult([(index.ids[hit.ranked.id], hit.ranked.score) for hit in results.hits], cut)


async def _awaited(found: Awaitable[T]) -> T:
    return await found


def expand_all(index: Index, queries: Iterable[str], progress: Callable[[int], None]) -> None:
    """Expand every query without a time limit. The index caches the expansions for all variants."""
    models = index.models
    expander = MeasuredModels(index.database, models).expander()
    if not models or not expander:
        return
    for done, query in enumerate(queries, 1):
        with contextlib.suppress(InferenceFailed):  # the search reports it for this query
            models.run(expander.expand(query, limit_s=UNBOUNDED_S))
        progress(done)


MODES: Mapping[str, Mode] = {
    "keyword": Mode(_keyword),
    "vector": Mode(_vector, needs=frozenset({"embed"}), uses=frozenset({"embed"})),
    **{name: variant.mode() for name, variant in VARIANTS.items()},
}

DEFAULT_MODES = ("keyword", "vector", BASELINE)
