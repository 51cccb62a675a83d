"""What can be measured: one retriever a mode. A new mode is one more entry in `MODES`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from gnod.evaluate.hybrid import BASELINE, VARIANTS, Hybrid, Variant
from gnod.evaluate.index import COLLECTION, Index
from gnod.pipeline import lexical, vector
from gnod.pipeline.budget import Stage
from gnod.pipeline.nearest import Nearest
from gnod.store.filters import Filters

Ranking = list[tuple[str, float]]
"""(document id, score), best first, larger is better."""


class Answer(NamedTuple):
    """`cut`: stages that did not run whole, though they were wanted."""

    ranking: Ranking
    cut: list[Stage]


Retriever = Callable[[str, int], Answer]
"""Called with a query and a limit. Raises QuerySyntaxError."""


class Mode(NamedTuple):
    """`retriever` is called with the index and the time for a query, in seconds; None: no limit. `needs`: the roles of
    models without which there is no such mode. `uses`: of models that it has part in it when they are there."""

    retriever: Callable[[Index, float | None], Retriever]
    needs: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()


def _lexical(index: Index, _budget_s: float | None) -> Retriever:
    def retrieve(query: str, limit: int) -> Answer:
        found = index.database.read(lambda connection: lexical.search(connection, query, Filters(), limit=limit))
        return Answer([(index.ids[each.document_id], each.score) for each in found.result().ranked], [])

    return retrieve


def _vector(index: Index, _budget_s: float | None) -> Retriever:
    meaning = index.meaning
    assert meaning is not None, "the mode's needs have it"
    nearest = Nearest()
    served = {COLLECTION: meaning.uri}

    def retrieve(query: str, limit: int) -> Answer:
        vectors = {meaning.uri: meaning.run(meaning.embedder.query(query))}
        found = index.database.read(
            lambda connection: vector.search(connection, nearest, vectors, served, Filters(), limit=limit)
        )
        return Answer([(index.ids[each.document_id], each.score) for each in found.result()], [])

    return retrieve


def _hybrid(variant: Variant, index: Index, budget_s: float | None) -> Retriever:
    hybrid = Hybrid(variant, index, budget_s)
    return lambda query, limit: Answer(*hybrid.search(query, limit))


def _mode_of(variant: Variant) -> Mode:
    wanted = {"embed": True, "expand": variant.wishes.expand, "rerank": variant.wishes.rerank}
    return Mode(
        partial(_hybrid, variant),
        needs=frozenset({"embed", variant.needs} if variant.needs else {"embed"}),
        uses=frozenset(role for role, is_wanted in wanted.items() if is_wanted),
    )


MODES: Mapping[str, Mode] = {
    "lexical": Mode(_lexical),
    "vector": Mode(_vector, needs=frozenset({"embed"}), uses=frozenset({"embed"})),
    **{name: _mode_of(variant) for name, variant in VARIANTS.items()},
}

DEFAULT_MODES = ("lexical", "vector", BASELINE)
