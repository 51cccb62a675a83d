"""The hybrid query: keyword and vector search in one ranking, with expansion and reranking if there are models for
them.

    keywords ─┬─────────────► expansion ─► variants ─┐
    vectors  ─┴──────────────────────────────────────┴─► fusion ─► reranking

A stage is left out if it has no model, takes too long or fails; the stages of the result say so. Keyword search always
answers. Must not depend on the wire types or snippets.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from gnod.analysis.short_texts import detect_query
from gnod.models.readability import script_of
from gnod.models.run.roles import Reranker
from gnod.search.expansion.expander import Expander
from gnod.search.hybrid import across_indexes, expanding, reranking, retrieval
from gnod.search.hybrid.across_indexes import Source
from gnod.search.hybrid.budget import (
    Backoff,
    Embed,
    ReadabilityOf,
    Stage,
    ThroughputEstimate,
    TimeBudget,
    embed_lines,
    vector_lines,
)
from gnod.search.hybrid.retrieval import Retrieved, Surveys
from gnod.search.meaning import candidate_documents as candidates
from gnod.search.meaning.vector_search import Nearest, QueryVectors
from gnod.search.query.parsing import ParsedQuery, QueryLine
from gnod.search.ranking import fusion
from gnod.search.ranking.fusion import Fusion
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection, Read
from gnod.store.tables.filters import Filters
from gnod.types import FusionMethod, UnavailableModel

BUDGET_S = 2.0
# If there is a reranker, this share of the budget is kept for it while a generator writes.
RERANK_SHARE = 0.4
_TURNED_OFF = UnavailableModel("turned off")

OnStage = Callable[[str], None]
Searched = tuple[Surveys, Sequence[QueryLine], QueryVectors | None]
"""The keyword surveys, the lines for vector search in the order of their vectors, and these vectors."""
T = TypeVar("T")


class SearchDependencies(NamedTuple):
    """The dependencies of a query. `read`: all reads must see one snapshot, joined to `sources`. `throughput`: of the
    reranker. `backoff`: of the expander. `sources`: other indexes."""

    read: Read
    nearest: Nearest
    embed: Embed | UnavailableModel
    expander: Expander | UnavailableModel
    reranker: Reranker | UnavailableModel
    throughput: ThroughputEstimate
    backoff: Backoff
    readability: ReadabilityOf = lambda _: None
    sources: Sequence[Source] = ()


class HybridSettings(NamedTuple):
    """`candidates`: how many documents the reranker may read. `budget_s`: the time limit of the stages that need a
    model. `floor`: a text with the query's own words keeps a minimum score in reranking. `loose`: also return documents
    that are only loosely similar."""

    limit: int = 10
    min_score: float = 0.0
    candidates: int = reranking.CANDIDATES
    expand: bool = True
    rerank: bool = True
    floor: bool = True
    loose: bool = True
    fusion: FusionMethod = "convex"
    budget_s: float = BUDGET_S


class HybridResult(NamedTuple):
    """Neither order nor scores depend on the limit. `query`: as it was searched. `compared`: the documents that were
    compared; `total`: their number. `vectors`: of the query; None: there was no vector search. `left_out`: why model
    servers were not used, or failed. `least`, `loose`: as in `fusion.Fusion`; if documents were reranked, their scores
    include `least`."""

    query: ParsedQuery
    ranked: list[RankedDocument]
    total: int
    stages: list[Stage]
    vectors: QueryVectors | None
    left_out: Sequence[str] = ()
    compared: Sequence[int] = ()
    least: float = 0.0
    loose: int = 0

    def shown(self) -> list[RankedDocument]:
        """Return the documents with the scores that a user sees. 0 means nothing in common with the query."""
        return [each._replace(score=fusion.with_least(each.score, self.least)) for each in self.ranked]


Prepare = Callable[[Connection], ParsedQuery]
"""Returns the query to search for, with its corrections. Raises QuerySyntaxError."""


async def search(
    dependencies: SearchDependencies,
    query: ParsedQuery,
    filters: Filters,
    options: HybridSettings,
    on_stage: OnStage = lambda _: None,
) -> HybridResult:
    """Do as `present_search`, for a query that needs no preparation."""
    return await present_search(dependencies, lambda _: query, lambda _, found: found, filters, options, on_stage)


async def present_search(
    dependencies: SearchDependencies,
    prepare: Prepare,
    present: Callable[[Connection, HybridResult], T],
    filters: Filters,
    options: HybridSettings,
    on_stage: OnStage = lambda _: None,
) -> T:
    """Return the output of `present` for the best documents.

    Without a reranker, the query takes only two turns of a reader thread, because each change of threads waits.
    `prepare` runs in the first turn, before keyword search, and `present` in the last. `on_stage` is called at the
    start of stages that may take a second or more. If a model is missing or fails, its stage is left out.

    Raises the errors of `prepare` and `present`.
    """
    return await _HybridSearch(dependencies, filters, options, on_stage).run(prepare, present)


class _HybridSearch:
    """The state of a running query."""

    _query: ParsedQuery
    _vectors: QueryVectors | None

    def __init__(
        self, dependencies: SearchDependencies, filters: Filters, options: HybridSettings, on_stage: OnStage
    ) -> None:
        self._dependencies = dependencies
        self._filters = filters
        self._options = options
        self._on_stage = on_stage
        self._budget = TimeBudget(options.budget_s)
        self._expander = dependencies.expander if options.expand else _TURNED_OFF
        self._reranker = dependencies.reranker if options.rerank else _TURNED_OFF
        self._language: str | None = None

    async def run(self, prepare: Prepare, present: Callable[[Connection, HybridResult], T]) -> T:
        read = self._dependencies.read
        self._query, words = await self._first_words(prepare)
        embedding = asyncio.create_task(self._embedded(self._query.lines, "embed"))
        try:
            variants = await self._variants(words)
            self._vectors = await embedding
        finally:
            embedding.cancel()
        searched = await self._searched(words, variants)
        if not (self._dependencies.sources or self._reranks):
            return await read(
                lambda connection: present(connection, self._result(self._retrieved(connection, searched)))
            )
        fused = await self._rerank(await self._retrieve(searched))
        return await read(lambda connection: present(connection, self._result(fused)))

    @property
    def _reranks(self) -> bool:
        return not isinstance(self._reranker, UnavailableModel)

    async def _first_words(self, prepare: Prepare) -> tuple[ParsedQuery, Surveys]:
        """Return the query, and the keyword results of its lines."""
        read, sources = self._dependencies.read, self._dependencies.sources
        started = time.perf_counter()

        def prepared(connection: Connection) -> ParsedQuery:
            query = prepare(connection)
            if self._language is None:  # in this thread, because the first time takes long
                self._language = _language_of(query.text)
            return query

        def surveyed(connection: Connection) -> tuple[ParsedQuery, Surveys]:
            query = prepared(connection)
            return query, retrieval.survey_words(connection, query.lines, self._filters)

        if not sources:
            query, surveys = await read(surveyed)
        else:
            query = await read(prepared)
            surveys = await self._survey_words(query.lines)
        self._note_words("bm25", started, surveys)
        return query, surveys

    async def _variants(self, words: Surveys) -> list[QueryLine]:
        if isinstance(self._expander, UnavailableModel):
            self._leave_out("expand", self._expander)
            return []
        return await expanding.variants(
            self._expander,
            self._dependencies.backoff,
            self._query,
            [survey for _, survey in words],
            self._budget,
            kept_s=RERANK_SHARE * self._budget.limit_s * self._reranks,
            on_begin=lambda: self._on_stage("expanding the query"),
        )

    def _leave_out(self, stage: str, model: UnavailableModel) -> None:
        self._budget.note(stage, time.perf_counter(), {}, why=model.reason, ran=False)

    async def _embedded(self, lines: Sequence[QueryLine], stage: str) -> QueryVectors | None:
        given = (self._dependencies.embed, lines, self._dependencies.readability, self._budget, stage)
        return await embed_lines(*given)

    async def _searched(self, words: Surveys, variants: Sequence[QueryLine]) -> Searched:
        """Search for the variants by keyword too, and add their vectors, from the same models as the query's
        vectors."""
        lines, vectors = vector_lines(self._query.lines), self._vectors
        if not variants:
            return words, lines, vectors
        more = await self._embedded(variants, "embed variants") if vectors else None
        if vectors and more and more.rows.keys() == vectors.rows.keys():
            lines, vectors = [*lines, *vector_lines(variants)], vectors.joined(more)
        started = time.perf_counter()
        more_words = await self._survey_words(variants)
        self._note_words("bm25 variants", started, more_words)
        return [*words, *more_words], lines, vectors

    async def _survey_words(self, lines: Sequence[QueryLine]) -> Surveys:
        read, sources = self._dependencies.read, self._dependencies.sources
        if sources:
            return await across_indexes.survey_words(read, sources, lines, self._filters)
        return await read(lambda connection: retrieval.survey_words(connection, lines, self._filters))

    def _note_words(self, stage: str, started: float, surveys: Surveys) -> None:
        if surveys:
            self._budget.note(stage, started, {"matches": [len(survey.scores) for _, survey in surveys]})

    async def _retrieve(self, searched: Searched) -> Fusion:
        """Return the results of both retrievers as one ranking."""
        read, sources = self._dependencies.read, self._dependencies.sources
        if not sources:
            return await read(lambda connection: self._retrieved(connection, searched))
        started = time.perf_counter()
        readability = self._dependencies.readability
        given = (self._dependencies.nearest, sources, *searched, self._filters)
        found = await across_indexes.retrieve(read, *given, language=self._language, readability=readability)
        return await read(lambda connection: self._fused(connection, found, started))

    def _retrieved(self, connection: Connection, searched: Searched) -> Fusion:
        started = time.perf_counter()
        readability = self._dependencies.readability
        given = (self._dependencies.nearest, *searched, self._filters)
        found = retrieval.retrieve(connection, *given, language=self._language, readability=readability)
        return self._fused(connection, found, started)

    def _fused(self, connection: Connection, found: Retrieved, started: float) -> Fusion:
        """Fuse. Only documents that may be shown or reranked get their details."""
        has_vectors = self._vectors is not None
        self._budget.note("knn", started, {}, why=None if has_vectors else "no vectors", ran=has_vectors)
        started = time.perf_counter()
        first = max(self._options.limit, self._options.candidates if self._reranks else 0)
        fused = retrieval.fuse(found, self._options.fusion, first, loose=self._options.loose)
        details = {"method": self._options.fusion, "documents": len(fused.ranked), "language": self._language}
        known = {name: detail for name, detail in details.items() if detail is not None}
        self._budget.note("fuse", started, known | retrieval.explained(found, fused))
        return fused._replace(ranked=candidates.placed(connection, fused.ranked))

    async def _rerank(self, fused: Fusion) -> Fusion:
        if isinstance(self._reranker, UnavailableModel):
            return fused
        self._on_stage("reranking")
        return await reranking.rerank(
            self._dependencies.read,
            self._reranker,
            self._dependencies.throughput,
            self._query,
            fused,
            self._budget,
            candidates=self._options.candidates,
            floor=self._options.floor,
        )

    def _result(self, fused: Fusion) -> HybridResult:
        """Return the best documents."""
        if isinstance(self._reranker, UnavailableModel):
            self._leave_out("rerank", self._reranker)
        ranked, vectors, least = fused.ranked, self._vectors, self._options.min_score
        return HybridResult(
            self._query,
            [each for each in ranked[: self._options.limit] if fusion.with_least(each.score, fused.least) >= least],
            len(ranked),
            self._budget.stages,
            vectors,
            left_out=list(dict.fromkeys((*(vectors.left_out if vectors else ()), *self._budget.left_out))),
            compared=[each.id for each in ranked],
            least=fused.least,
            loose=fused.loose,
        )


def _language_of(query: str) -> str | None:
    """Return the language of a query; None if it is unknown, or if the query mixes scripts."""
    return detect_query(query) if len({script_of(word) for word in query.split()} - {None}) == 1 else None
