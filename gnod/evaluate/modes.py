"""The modes that can be measured. A mode is one entry in `MODES`, a variant of the hybrid query one in `VARIANTS`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from gnod.errors import InferenceFailed
from gnod.evaluate.index import COLLECTION, Index
from gnod.evaluate.models import EvaluationModels
from gnod.pipeline import hybrid, lexical, vector
from gnod.pipeline.budget import Backoff, Stage, ThroughputEstimate
from gnod.pipeline.expansion.expander import Expander
from gnod.pipeline.hybrid import SearchDependencies, SearchOptions
from gnod.pipeline.nearest import Nearest
from gnod.pipeline.query import parse_clauses, parse_query
from gnod.pipeline.vector import QueryVectors
from gnod.store.database import Database
from gnod.store.documents.filters import Filters
from gnod.types import Unavailable

BASELINE = "hybrid"
# A measurement of quality must not cut stages short.
UNBOUNDED_S = 3600.0
_NO_MODEL = Unavailable("no model was given")

Ranking = list[tuple[str, float]]
"""(document id, score), best first, larger is better."""


class QueryResult(NamedTuple):
    """`cut`: stages that were left out or cut short although the mode wants them."""

    ranking: Ranking
    cut: Sequence[Stage] = ()


Retriever = Callable[[str, int], QueryResult]
"""Called with a query and a limit. Raises QuerySyntaxError."""


class Mode(NamedTuple):
    """`retriever` is called with the index and the budget of a query in seconds (None: no limit). `needs`: model roles
    without which the mode cannot run. `uses`: roles that it uses if their models are available."""

    retriever: Callable[[Index, float | None], Retriever]
    needs: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()


class Variant(NamedTuple):
    """A change to the hybrid query. `needs`: the role of the model without which the change has no effect."""

    options: SearchOptions = SearchOptions()
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
    "hybrid-rrf": Variant(SearchOptions(method="rrf")),
    "hybrid-no-expand": Variant(SearchOptions(expand=False), needs="expand"),
    "hybrid-no-rerank": Variant(SearchOptions(rerank=False), needs="rerank"),
    "hybrid-no-floor": Variant(SearchOptions(floor=False), needs="rerank"),
}


def _lexical(index: Index, _budget_s: float | None) -> Retriever:
    def retrieve(query: str, limit: int) -> QueryResult:
        work = partial(lexical.search, clauses=parse_clauses(query), filters=Filters(), limit=limit)
        result = index.database.submit_read(work).result()
        return QueryResult([(index.ids[each.id], each.score) for each in result.ranked])

    return retrieve


def _vector(index: Index, _budget_s: float | None) -> Retriever:
    models = _models(index)
    nearest = Nearest()
    served = {COLLECTION: models.uri}

    def retrieve(query: str, limit: int) -> QueryResult:
        vectors = QueryVectors({models.uri: models.run(models.embedder.texts([query], []))}, served)
        ranked = index.database.submit_read(
            lambda connection: vector.search(connection, nearest, vectors, Filters(), limit=limit)
        )
        return QueryResult([(index.ids[each.id], each.score) for each in ranked.result()])

    return retrieve


def _hybrid(variant: Variant, index: Index, budget_s: float | None) -> Retriever:
    models = _models(index)
    options = variant.options._replace(budget_s=budget_s or UNBOUNDED_S)
    dependencies = search_dependencies(index.database, models)
    unused = {
        *({"expand"} if not (models.generator and options.expand) else ()),
        *({"rerank"} if not (models.reranker and options.rerank) else ()),
    }

    def retrieve(query: str, limit: int) -> QueryResult:
        result = models.run(hybrid.search(dependencies, parse_query(query), Filters(), options._replace(limit=limit)))
        cut = [stage for stage in result.stages if stage.why and stage.name not in unused]
        return QueryResult([(index.ids[each.id], each.score) for each in result.ranked], cut)

    return retrieve


def expand_all(index: Index, queries: Iterable[str], progress: Callable[[int], None]) -> None:
    """Expand every query without a time limit. The index caches the expansions for all variants."""
    models = index.models
    expander = models and _expander(index.database, models)
    if not models or not expander:
        return
    for done, query in enumerate(queries, 1):
        with contextlib.suppress(InferenceFailed):  # the search reports it for this query
            models.run(expander.expand(query, limit_s=UNBOUNDED_S))
        progress(done)


def search_dependencies(database: Database, models: EvaluationModels) -> SearchDependencies:
    """Return what a hybrid query runs with."""

    async def embed(queries: Sequence[str], passages: Sequence[str]) -> QueryVectors:
        rows = await models.embedder.texts(queries, passages)
        return QueryVectors({models.uri: rows}, {COLLECTION: models.uri})

    return SearchDependencies(
        read=database.read,
        nearest=Nearest(),
        embed=embed,
        expander=_expander(database, models) or _NO_MODEL,
        reranker=models.reranker or _NO_MODEL,
        throughput=ThroughputEstimate(),
        backoff=Backoff(),
        readability=models.readability,
    )


def _expander(database: Database, models: EvaluationModels) -> Expander | None:
    return Expander(models.generator, database.read, database.write) if models.generator else None


def _models(index: Index) -> EvaluationModels:
    assert index.models is not None, "the mode needs them"
    return index.models


MODES: Mapping[str, Mode] = {
    "lexical": Mode(_lexical),
    "vector": Mode(_vector, needs=frozenset({"embed"}), uses=frozenset({"embed"})),
    **{name: variant.mode() for name, variant in VARIANTS.items()},
}

DEFAULT_MODES = ("lexical", "vector", BASELINE)
