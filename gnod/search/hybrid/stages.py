"""The hybrid query: keyword and vector search in one ranking, expanded and reranked where there are models for it.

    keywords ─┬─────────────► expansion ─► variants ─┐
    vectors  ─┴──────────────────────────────────────┴─► fusion ─► reranking

Every stage may be missing: one that has no model, takes too long or fails is left out, and the stages of the result say
so. Keywords alone always answer. Must not depend on the wire types or snippets.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from math import exp
from typing import NamedTuple, Protocol, TypeVar

from gnod.analysis.short_texts import detect_query
from gnod.models.readability import Readability, is_read_by_every_model, script_of
from gnod.models.run.reranker import Reranker
from gnod.search.expansion.expander import Expander, Expansion
from gnod.search.hybrid import joint, reranking, retrieval
from gnod.search.hybrid.budget import MARGIN_S, Backoff, Stage, StageSkipped, ThroughputEstimate, TimeBudget
from gnod.search.hybrid.reranking import RerankedDocuments
from gnod.search.hybrid.retrieval import LARGE_POOL, POOL, RetrievalFacts, Retrieved, Surveys
from gnod.search.hybrid.sources import Source
from gnod.search.keyword.lexical import LexicalSurvey
from gnod.search.meaning import candidate_documents as candidates
from gnod.search.meaning.nearest_documents import Nearest
from gnod.search.meaning.vector_search import QueryVectors
from gnod.search.query.parsing import ParsedQuery, QueryLine, variant_lines
from gnod.search.ranking import fusion
from gnod.search.ranking.distinct import without_copies
from gnod.search.ranking.fusion import Fused, Fusion
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection, Read
from gnod.store.tables.filters import Filters
from gnod.types import UnavailableModel

BUDGET_S = 2.0
# The share of the budget that is left for the reranker while a generator writes, if there is a reranker.
RERANK_SHARE = 0.4
# Reading the cache and detecting the language of a query take this long the first time.
_AROUND_S = 0.5
# If the best document by keyword is clearly the best, no expansion is needed. See `is_strong`.
STRONG_CENTRE, STRONG_WIDTH = 4.5, 2.8
STRONG_TOP, STRONG_GAP, STRONG_RANKS = 0.84, 0.14, 5

OnStage = Callable[[str], None]
T = TypeVar("T")


class EmbedQueries(Protocol):
    """Returns the vectors of queries, and below them those of passages, by each model that answers for a collection of
    the filters. Raises GnoError."""

    def __call__(self, queries: Sequence[str], passages: Sequence[str]) -> Awaitable[QueryVectors]: ...


class SearchDependencies(NamedTuple):
    """What a query runs with. `read`: all reads must see one snapshot. `throughput` of the reranker, `backoff` of the
    expander: what is known of how fast they are. `readability` of a model, by its address; called in a thread.
    `sources`: other indexes; `read` is joined to them."""

    read: Read
    nearest: Nearest
    embed: EmbedQueries | UnavailableModel
    expander: Expander | UnavailableModel
    reranker: Reranker | UnavailableModel
    throughput: ThroughputEstimate
    backoff: Backoff
    readability: Callable[[str], Readability | None] = lambda _: None
    sources: Sequence[Source] = ()


class HybridSettings(NamedTuple):
    """`candidates`: how many documents the reranker may read. `budget_s` bounds the stages that need a model. `floor`:
    a text with the query's own words keeps a minimum score in reranking. `method`: a key of
    gnod.search.ranking.fusion.METHODS."""

    limit: int = 10
    min_score: float = 0.0
    candidates: int = reranking.CANDIDATES
    expand: bool = True
    rerank: bool = True
    floor: bool = True
    method: str = "convex"
    budget_s: float = BUDGET_S


class HybridResult(NamedTuple):
    """`query`: as it was searched. `total`: documents that were compared, `compared`: which. `vectors`: of the query;
    None: there was no vector search. `left_out`: what model servers were not asked to do, or failed to do, and why.
    Neither order nor scores depend on the limit. `least`: as in `fusion.Fusion`; it is in the scores already where the
    documents were reranked."""

    query: ParsedQuery
    ranked: list[RankedDocument]
    total: int
    stages: list[Stage]
    vectors: QueryVectors | None
    left_out: Sequence[str] = ()
    compared: Sequence[int] = ()
    least: float = 0.0

    def shown(self) -> list[RankedDocument]:
        """Return the documents with the scores that a user sees: 0 is nothing in common with the query."""
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
    """Return what `present` makes of the best documents.

    Without a model that reads, the query takes two turns of a reader thread, because each change of threads waits:
    `prepare` runs in the first, before the keywords are searched, and `present` in the last. `on_stage` is called with
    stages that may take a second or more, as they begin. A model that is missing or fails is a stage left out.

    Raises what `prepare` and `present` raise.
    """
    return await _HybridSearch(dependencies, filters, options, on_stage).run(prepare, present)


def embedded_texts(lines: Sequence[QueryLine]) -> tuple[list[str], list[str]]:
    """Return the queries and the passages among the lines that have a vector."""
    queries = [line.subquery.text for line in lines if line.subquery.kind == "vec"]
    return queries, [line.subquery.text for line in lines if line.subquery.kind == "hyde"]


def is_strong(survey: LexicalSurvey) -> bool:
    """Tell whether the best document by keyword stands out: by its score after a sigmoid, and its lead."""
    scores = list(survey.scores.values())[:STRONG_RANKS]
    best = [1 / (1 + exp(-(abs(score) - STRONG_CENTRE) / STRONG_WIDTH)) for score in scores]
    return bool(best) and best[0] >= STRONG_TOP and best[0] - (best[1] if len(best) > 1 else 0.0) >= STRONG_GAP


class _Searched(NamedTuple):
    """The query by keyword, and the lines for vector search in the order of their vectors."""

    words: Surveys
    lines: Sequence[QueryLine]
    vectors: QueryVectors | None


class _HybridSearch:
    """One query while it runs."""

    _query: ParsedQuery
    _query_vectors: QueryVectors | None

    def __init__(
        self, dependencies: SearchDependencies, filters: Filters, options: HybridSettings, on_stage: OnStage
    ) -> None:
        self._dependencies = dependencies
        self._filters = filters
        self._options = options
        self._on_stage = on_stage
        self._budget = TimeBudget(options.budget_s)
        self._language: str | None = None

    async def run(self, prepare: Prepare, present: Callable[[Connection, HybridResult], T]) -> T:
        self._query, words = await self._first_words(prepare)
        lines = self._query.lines
        embedding = asyncio.create_task(self._vectors(lines, "embed"))
        try:
            variants = await self._variants(words)
            vectors = self._query_vectors = await embedding
        finally:
            embedding.cancel()
        more = await self._variant_vectors(vectors, variants)
        more_words = await self._survey_words(variants, "bm25 variants") if variants else []
        vector_lines = _vector_lines(lines) + (_vector_lines(variants) if more else [])
        searched = _Searched([*words, *more_words], vector_lines, vectors.joined(more) if vectors else None)
        read = self._dependencies.read
        if not (self._dependencies.sources or self._reranks() or self._options.limit > POOL):
            return await read(lambda c: present(c, self._ranked(c, *self._retrieved(c, searched))))
        found, fused = await self._retrieve(searched)
        reranked = await self._rerank(found, fused)
        is_short = self._options.limit > len(fused.ranked) >= POOL
        behind = await self._retrieve(searched, LARGE_POOL) if is_short else None
        return await read(lambda c: present(c, self._ranked(c, found, fused, reranked, behind)))

    async def _first_words(self, prepare: Prepare) -> tuple[ParsedQuery, Surveys]:
        """Return the query, and what the keywords of its lines find."""
        read, sources = self._dependencies.read, self._dependencies.sources
        started = time.monotonic()

        def prepared(connection: Connection) -> ParsedQuery:
            query = prepare(connection)
            if self._language is None:  # it runs in this thread, because the first time takes long
                self._language = _language_of(query.text)
            return query

        def surveyed(connection: Connection) -> tuple[ParsedQuery, Surveys]:
            query = prepared(connection)
            return query, retrieval.survey_words(connection, query.lines, self._filters)

        if not sources:
            query, surveys = await read(surveyed)
        else:
            query = await read(prepared)
            surveys = await joint.survey_words(read, sources, query.lines, self._filters)
        self._note_words("bm25", started, surveys)
        return query, surveys

    async def _survey_words(self, lines: Sequence[QueryLine], stage: str) -> Surveys:
        started = time.monotonic()
        read, sources = self._dependencies.read, self._dependencies.sources
        if sources:
            surveys: Surveys = await joint.survey_words(read, sources, lines, self._filters)
        else:
            surveys = await read(lambda connection: retrieval.survey_words(connection, lines, self._filters))
        self._note_words(stage, started, surveys)
        return surveys

    def _note_words(self, stage: str, started: float, surveys: Surveys) -> None:
        if surveys:
            self._budget.note(stage, started, {"matches": [len(survey.scores) for _, survey in surveys]})

    async def _vectors(self, lines: Sequence[QueryLine], stage: str) -> QueryVectors | None:
        """Return the vectors of the lines that have one; None, which is noted, when there are none."""
        queries, passages = embedded_texts(lines)
        if not queries and not passages:
            return None
        started = time.monotonic()
        try:
            if isinstance(self._dependencies.embed, UnavailableModel):
                raise StageSkipped(self._dependencies.embed.reason)
            work = self._dependencies.embed(queries, passages)
            found = await self._budget.within("the embedding model", work)
            vectors = await self._readable(found, "\n".join((*queries, *passages)))
        except StageSkipped as skipped:
            self._budget.note(stage, started, {}, why=str(skipped), ran=False)
            return None
        details: dict[str, object] = {"models": sorted(vectors.rows), "texts": len(queries) + len(passages)}
        self._budget.note(stage, started, details, why="; ".join(vectors.left_out) or None)
        return vectors

    async def _readable(self, vectors: QueryVectors, text: str) -> QueryVectors:
        """Leave out the models that cannot read the script of the query. Raises Skipped when none is left."""
        script = script_of(text)
        if is_read_by_every_model(None, script):
            return vectors
        # Run it in a thread: it may read a file, or measure the model.
        known = {uri: await asyncio.to_thread(self._dependencies.readability, uri) for uri in vectors.rows}
        unread = [uri for uri, readability in known.items() if readability and not readability.can_read(text)]
        kept = vectors.without(unread)
        if not kept.rows:
            named = f"the model {', '.join(unread)} cannot read this script ({str(script).lower()})"
            raise StageSkipped(f"{named}: `gnoctl models list` shows what other models read")
        return kept

    async def _variant_vectors(
        self, originals: QueryVectors | None, variants: Sequence[QueryLine]
    ) -> QueryVectors | None:
        """Return the vectors of variants, of the same models as those of the originals."""
        if originals is None or not variants:
            return None
        more = await self._vectors(variants, "embed variants")
        return more if more and more.rows.keys() == originals.rows.keys() else None

    async def _variants(self, words: Surveys) -> list[QueryLine]:
        """Return the searches that a model adds."""
        started = time.monotonic()
        try:
            expansion = await self._expand(words)
        except StageSkipped as skipped:
            self._budget.note("expand", started, {}, why=str(skipped), ran=False)
            return []
        why = None
        if expansion.timed_out:
            why = "the model did not finish within the time budget"
            why += "; it continues, so the same query will have its variants the next time" if expansion.goes_on else ""
        details: dict[str, object] = {
            "cached": expansion.cached,
            "language": expansion.language,
            "variants": [f"{variant.kind}: {variant.text}" for variant in expansion.variants],
            "dropped": [f"{each.kind}: {each.text} ({reason})" for each, reason in expansion.dropped],
        }
        self._budget.note("expand", started, details, why=why)
        return variant_lines(expansion.variants)

    async def _expand(self, words: Surveys) -> Expansion:
        expander, backoff = self._dependencies.expander, self._dependencies.backoff
        if not self._options.expand:
            raise StageSkipped("turned off")
        if self._query.is_structured:
            raise StageSkipped("the query itself says what to search")
        if isinstance(expander, UnavailableModel):
            raise StageSkipped(expander.reason)
        if any(is_strong(survey) for _, survey in words):
            raise StageSkipped("skipped_strong: the best document by keyword stands out")
        limit_s = self._budget.left_s() - RERANK_SHARE * self._budget.limit_s * self._reranks()
        if limit_s > 0 and backoff.skips(limit_s):
            limit_s = 0.0  # use only the cache
        self._on_stage("expanding the query")
        # The expander enforces its own limit. This one is for the rest of its work.
        work = expander.expand(self._query.text, limit_s=limit_s)
        expansion = await self._budget.within("the expansion model", work, limit_s + _AROUND_S)
        if limit_s > 0 and not expansion.cached and (expansion.goes_on or not expansion.timed_out):
            backoff.learn(limit_s, in_time=not expansion.timed_out)
        elif expansion.timed_out:
            raise StageSkipped(_why_not_expanded(limit_s))
        return expansion

    async def _retrieve(self, searched: _Searched, pool: int = POOL) -> tuple[Retrieved, Fusion]:
        """Return what both retrievers found, fused."""
        read, sources = self._dependencies.read, self._dependencies.sources
        if not sources:
            return await read(lambda connection: self._retrieved(connection, searched, pool))
        started = time.monotonic()
        given = (self._dependencies.nearest, sources, *searched, self._filters)
        found = await joint.retrieve(read, *given, pool=pool, knowledge=self._knowledge(searched))
        return await read(lambda connection: self._fused(connection, searched, found, started))

    def _retrieved(self, connection: Connection, searched: _Searched, pool: int = POOL) -> tuple[Retrieved, Fusion]:
        started = time.monotonic()
        given = (self._dependencies.nearest, *searched, self._filters)
        found = retrieval.retrieve(connection, *given, pool=pool, knowledge=self._knowledge(searched))
        return self._fused(connection, searched, found, started)

    def _knowledge(self, searched: _Searched) -> RetrievalFacts:
        readability, served = self._dependencies.readability, searched.vectors.served if searched.vectors else {}

        def reader(collection: str) -> Readability | None:
            return readability(served[collection]) if collection in served else None

        return RetrievalFacts(self._language, reader)

    def _fused(
        self, connection: Connection, searched: _Searched, found: Retrieved, started: float
    ) -> tuple[Retrieved, Fusion]:
        has_vectors = searched.vectors is not None
        self._budget.note("knn", started, {}, why=None if has_vectors else "no vectors", ran=has_vectors)
        ranking = self._fuse(found)
        return self._with_places(connection, found, ranking), ranking

    def _with_places(self, connection: Connection, found: Retrieved, fused: Fusion) -> Retrieved:
        """Look up the places of those that are shown, as far as that is known yet, or reranked."""
        wanted = max(self._options.limit, self._options.candidates if self._reranks() else 0)
        ids = [each.document_id for each in fused.ranked[:wanted]]
        placed = candidates.placed(connection, [found.near[id_] for id_ in ids if id_ in found.near])
        return found._replace(near=found.near | {each.id: each for each in placed})

    def _reranks(self) -> bool:
        return self._options.rerank and not isinstance(self._dependencies.reranker, UnavailableModel)

    def _fuse(self, found: Retrieved) -> Fusion:
        started = time.monotonic()
        facts = found.documents

        def order(id_: int) -> tuple[str, int]:
            return (facts[id_].docid if id_ in facts else "", id_)

        fused = fusion.fuse(self._options.method, found.evidence, order, found.trust, found.named)
        details: dict[str, object] = {"method": self._options.method, "documents": len(fused.ranked)}
        if fused.vector_share is not None:
            details["vector_share"] = round(fused.vector_share, 3)
        if fused.least:
            details["least"] = round(fused.least, 3)
        if self._language:
            details["language"] = self._language
        if groups := _groups(found, fused):
            details["groups"] = groups
        self._budget.note("fuse", started, details)
        return fused

    def _ranked(
        self,
        connection: Connection,
        found: Retrieved,
        fused: Fusion,
        reranked: RerankedDocuments | None = None,
        behind: tuple[Retrieved, Fusion] | None = None,
    ) -> HybridResult:
        """Return the best documents. `reranked`: None where no model reads. `behind`: the larger pool, whose documents
        follow in their order and with lower scores."""
        if reranked is None:
            reranked = self._note_reranked(time.monotonic(), RerankedDocuments([], [], self._why_not_reranked(), {}))
        blended = reranking.blend([each.score for each in fused.ranked], reranked.scores, fused.least)
        # The sort is stable: equals stay in the fused order.
        order = sorted(range(len(blended)), key=lambda number: -blended[number])
        ranked = [
            _ranked(fused.ranked[number], blended[number], number + 1, found, components)
            for number in order[: self._options.limit]
            for components in [reranked.components[number] if number < len(reranked.components) else {}]
        ]
        compared = [fused.ranked[number].document_id for number in order]
        if behind:
            ranked = without_copies(connection, [*ranked, *_behind(ranked, *behind)])
            compared = [each.id for each in ranked]
        ranked = candidates.placed(connection, ranked[: self._options.limit])
        vectors = self._query_vectors
        left_out = list(dict.fromkeys((*(vectors.left_out if vectors else ()), *self._budget.left_out)))
        least = 0.0 if reranked.scores else fused.least
        stages = self._budget.stages
        result = HybridResult(self._query, ranked, len(compared), stages, vectors, left_out, compared, least)
        enough = [each.score >= self._options.min_score for each in result.shown()]
        return result._replace(ranked=[each for each, is_enough in zip(ranked, enough, strict=True) if is_enough])

    def _why_not_reranked(self) -> str | None:
        reranker = self._dependencies.reranker
        if not self._options.rerank:
            return "turned off"
        return reranker.reason if isinstance(reranker, UnavailableModel) else None

    def _note_reranked(self, started: float, reranked: RerankedDocuments) -> RerankedDocuments:
        self._budget.note("rerank", started, reranked.details, why=reranked.reason, ran=bool(reranked.scores))
        return reranked

    async def _rerank(self, found: Retrieved, fused: Fusion) -> RerankedDocuments | None:
        """Return the reranker's scores of the first documents; None if there is no reranker."""
        reranker = self._dependencies.reranker
        if not self._options.rerank or isinstance(reranker, UnavailableModel):
            return None
        started = time.monotonic()
        self._on_stage("reranking")
        read_first = [
            reranking.RerankCandidate(each.document_id, (span.start, span.end) if span else None)
            for each in fused.ranked[: self._options.candidates]
            for span in [found.near[each.document_id].span if each.document_id in found.near else None]
        ]
        work = reranking.rerank_documents(
            self._dependencies.read,
            reranker,
            self._dependencies.throughput,
            self._query,
            read_first,
            floor=self._options.floor,
            limit_s=self._budget.left_s(),
        )
        try:
            reranked = await self._budget.within("the reranker", work, self._budget.left_s() + MARGIN_S)
        except StageSkipped as skipped:
            reranked = RerankedDocuments([], [], str(skipped), {})
        return self._note_reranked(started, reranked)


def _language_of(query: str) -> str | None:
    """Return the language of a query; None if it is not known, or the query mixes scripts."""
    return detect_query(query) if len({script_of(word) for word in query.split()} - {None}) == 1 else None


def _groups(found: Retrieved, fused: Fusion) -> list[dict[str, object]]:
    """Return the groups of documents for which one retriever says less or more, for explanations."""
    counts = Counter((found.documents[id_][1:3], trust) for id_, trust in found.trust.items())
    shares = fused.vector_shares or {}
    return [
        {
            "collection": collection,
            "language": language,
            "documents": count,
            "vector_share": round(shares.get(trust, 0.0), 3),
            **({"prior": trust.vector} if trust.vector not in (0.0, 1.0) else {}),
            **({"unread": True} if not trust.vector else {}),
        }
        for ((collection, language), trust), count in counts.most_common()
    ]


def _why_not_expanded(limit_s: float) -> str:
    if limit_s > 0:
        return "the model is still writing the variants of an earlier query"
    return "no time left" if limit_s < 0 else "the model timed out recently; gnod will try it again soon"


def _vector_lines(lines: Sequence[QueryLine]) -> list[QueryLine]:
    """Return the lines that have a vector, in the order of the vectors: questions, then passages."""
    return sorted((line for line in lines if not line.is_lexical), key=lambda line: line.subquery.kind == "hyde")


def _ranked(fused: Fused, score: float, rank: int, found: Retrieved, reranked: dict[str, float]) -> RankedDocument:
    id_ = fused.document_id
    known = {"bm25": found.bm25, "similarity": found.similarity}
    raw = {name: values[id_] for name, values in known.items() if id_ in values}
    components = {**raw, **fused.components, "fused": fused.score, "fused_rank": float(rank), **reranked}
    near = found.near.get(id_)
    return RankedDocument(id_, score, near.span if near else None, components, near.unplaced if near else ())


def _behind(ranked: Sequence[RankedDocument], found: Retrieved, fused: Fusion) -> list[RankedDocument]:
    """Return the documents of the larger pool that are not ranked yet."""
    known = {each.id for each in ranked}
    more = [each for each in fused.ranked if each.document_id not in known]
    return [
        _ranked(each, ranked[-1].score * each.score, rank, found, {}) for rank, each in enumerate(more, len(ranked) + 1)
    ]
