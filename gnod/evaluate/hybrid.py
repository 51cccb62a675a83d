"""The hybrid query as a measurement runs it, and with one thing changed: an ablation is a table of such changes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from gnod.errors import InferenceFailed
from gnod.evaluate.index import COLLECTION, Index
from gnod.evaluate.meaning import Meaning
from gnod.pipeline import hybrid
from gnod.pipeline.budget import Stage
from gnod.pipeline.expanding.expansion import LIMIT_S, Expander, Expansion
from gnod.pipeline.hybrid import Tools, Wishes
from gnod.pipeline.nearest import Nearest
from gnod.pipeline.pace import Pace, Patience
from gnod.pipeline.retrieval import Vectors
from gnod.pipeline.subqueries import Kind
from gnod.store.database import Connection, Database
from gnod.store.filters import Filters

T = TypeVar("T")

BASELINE = "hybrid"
# No stage is to be cut by time when the question is what it does for quality.
UNBOUNDED_S = 3600.0
_NO_MODEL = "no model was given"


class Variant(NamedTuple):
    """`needs`: the role of the model without which it would be the same as the baseline. `without`: lines of this kind
    are not used of what the model writes."""

    wishes: Wishes = Wishes()
    needs: str | None = None
    without: Kind | None = None


VARIANTS: Mapping[str, Variant] = {
    BASELINE: Variant(),
    "hybrid-rrf": Variant(Wishes(method="rrf")),
    "hybrid-half": Variant(Wishes(method="half")),
    "hybrid-no-expand": Variant(Wishes(expand=False), needs="expand"),
    "hybrid-no-lex": Variant(needs="expand", without="lex"),
    "hybrid-no-vec": Variant(needs="expand", without="vec"),
    "hybrid-no-hyde": Variant(needs="expand", without="hyde"),
    "hybrid-no-strong": Variant(Wishes(skip_strong=False), needs="expand"),
    "hybrid-no-rerank": Variant(Wishes(rerank=False), needs="rerank"),
    "hybrid-no-floor": Variant(Wishes(floor=False), needs="rerank"),
}


class Hybrid:
    """One variant on one index. `budget_s`: of each query; None: as long as it takes."""

    def __init__(self, variant: Variant, index: Index, budget_s: float | None) -> None:
        assert index.meaning is not None, "the mode's needs have it"
        self._meaning = index.meaning
        self._ids = index.ids
        self._wishes = variant.wishes._replace(budget_s=budget_s or UNBOUNDED_S)
        self._tools = _tools(index.database, index.meaning, variant.without)
        has = {"expand": self._tools.expander is not _NO_MODEL, "rerank": self._tools.reranker is not _NO_MODEL}
        wants = {"expand": variant.wishes.expand, "rerank": variant.wishes.rerank}
        self._absent = {stage for stage in has if not (has[stage] and wants[stage])}

    def search(self, query: str, limit: int) -> tuple[list[tuple[str, float]], list[Stage]]:
        """Return documents with their scores, best first, and the stages that were cut short or left out though they
        were wanted. Raises QuerySyntaxError."""
        wishes = self._wishes._replace(limit=limit)
        found = self._meaning.run(hybrid.search(self._tools, query, Filters(), wishes))
        cut = [stage for stage in found.stages if stage.why and stage.name not in self._absent]
        return [(self._ids[each.document_id], each.score) for each in found.ranked], cut


def write_ahead(index: Index, queries: Iterable[str], progress: Callable[[int], None]) -> None:
    """Have the model write its lines for every query, without a limit, and keep them in the index for all variants."""
    meaning = index.meaning
    expander = meaning and _expander(index.database, meaning)
    if not meaning or not expander:
        return
    for done, query in enumerate(queries, 1):
        with contextlib.suppress(InferenceFailed):  # the search will say that this query has none
            meaning.run(expander.expand(query, limit_s=UNBOUNDED_S))
        progress(done)


class Without(Expander):
    """Another expander's lines, but for those of one kind."""

    def __init__(self, expander: Expander, kind: Kind) -> None:
        self._expander = expander
        self._kind = kind

    async def expand(self, query: str, *, limit_s: float = LIMIT_S) -> Expansion:
        whole = await self._expander.expand(query, limit_s=limit_s)
        return whole._replace(variants=[each for each in whole.variants if each.kind != self._kind])


def _tools(database: Database, meaning: Meaning, without: Kind | None) -> Tools:
    async def read(work: Callable[[Connection], T], /) -> T:
        return await asyncio.wrap_future(database.read(work))

    async def embed(queries: Sequence[str], passages: Sequence[str]) -> Vectors:
        rows = await meaning.embedder.texts(queries, passages)
        return Vectors({meaning.uri: rows}, {COLLECTION: meaning.uri})

    expander = _expander(database, meaning)
    return Tools(
        read=read,
        nearest=Nearest(),
        embed=embed,
        expander=(Without(expander, without) if without else expander) if expander else _NO_MODEL,
        reranker=meaning.reranker or _NO_MODEL,
        pace=Pace(),
        patience=Patience(),
    )


def _expander(database: Database, meaning: Meaning) -> Expander | None:
    async def read(work: Callable[[Connection], str | None]) -> str | None:
        return await asyncio.wrap_future(database.read(work))

    async def write(work: Callable[[Connection], None]) -> None:
        await asyncio.wrap_future(database.write(work))

    return Expander(meaning.generator, read, write) if meaning.generator else None
