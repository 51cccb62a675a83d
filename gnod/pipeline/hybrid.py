"""The hybrid query: keyword and vector search in one ranking, expanded and reranked where there are models for it.

    keywords ─┬─────────────► expansion ─► variants ─┐
    vectors  ─┴──────────────────────────────────────┴─► fusion ─► reranking

Every stage may be missing: one that has no model, takes too long or fails is left out, and the stages of the result say
so. Keywords alone always answer. Knows no wire and no snippets.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from math import exp
from typing import NamedTuple, Protocol

from gnod.analysis.short_texts import detect_query
from gnod.models.readability import Readability, is_read_by_every_model, script_of
from gnod.models.reranker import Reranker
from gnod.pipeline import candidates, fusion, joint, reranking, retrieval
from gnod.pipeline.budget import MARGIN_S, Backoff, Budget, Skipped, Stage, ThroughputEstimate
from gnod.pipeline.distinct import without_copies
from gnod.pipeline.expansion.expander import Expander, Expansion
from gnod.pipeline.fusion import Fused, Fusion
from gnod.pipeline.joint import Source
from gnod.pipeline.lexical import LexicalSurvey
from gnod.pipeline.nearest import Nearest
from gnod.pipeline.query import ParsedQuery, QueryLine, variant_lines
from gnod.pipeline.ranked import RankedDocument
from gnod.pipeline.reranking import RerankedDocuments
from gnod.pipeline.retrieval import LARGE_POOL, POOL, Knowledge, Retrieved
from gnod.pipeline.vector import QueryVectors
from gnod.store.database import Connection, Read
from gnod.store.documents.filters import Filters
from gnod.types import Unavailable

BUDGET_S = 2.0
# What is left of the budget for the reranker while a generator writes, if there is one.
RERANK_SHARE = 0.4
# Reading the cache, and detecting the language of a query: the first time it takes this long.
_AROUND_S = 0.5
# The best document by keyword is clearly the one: no expansion is needed. See `is_strong`.
STRONG_CENTRE, STRONG_WIDTH = 4.5, 2.8
STRONG_TOP, STRONG_GAP, STRONG_RANKS = 0.84, 0.14, 5

OnStage = Callable[[str], None]


class Embed(Protocol):
    """Returns the vectors of queries, and below them those of passages, by each model that answers for a collection of
    the filters. Raises GnoError."""

    def __call__(self, queries: Sequence[str], passages: Sequence[str]) -> Awaitable[QueryVectors]: ...


class SearchDependencies(NamedTuple):
    """What a query runs with. `read`: all reads must see one snapshot. `throughput` of the reranker, `backoff` of the
    expander: what is known of how fast they are. `readability` of a model, by its address; called in a thread.
    `sources`: other indexes; `read` is joined to them."""

    read: Read
    nearest: Nearest
    embed: Embed | Unavailable
    expander: Expander | Unavailable
    reranker: Reranker | Unavailable
    throughput: ThroughputEstimate
    backoff: Backoff
    readability: Callable[[str], Readability | None] = lambda _: None
    sources: Sequence[Source] = ()


class SearchOptions(NamedTuple):
    """`candidates`: how many documents the reranker may read. `budget_s` bounds the stages that need a model. `floor`:
    a text with the query's own words keeps a minimum score in reranking. `method`: a key of
    gnod.pipeline.fusion.METHODS."""

    limit: int = 10
    min_score: float = 0.0
    candidates: int = reranking.CANDIDATES
    expand: bool = True
    rerank: bool = True
    floor: bool = True
    method: str = "convex"
    budget_s: float = BUDGET_S


class HybridResult(NamedTuple):
    """`total`: documents that were compared, `compared`: which. `vectors`: of the query; None: there was no vector
    search. `left_out`: what model servers were not asked for, or failed to do, and why. Neither order nor scores depend
    on the limit. `least`: as in `fusion.Fusion`; it is in the scores already where the documents were reranked."""

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


async def search(
    dependencies: SearchDependencies,
    query: ParsedQuery,
    filters: Filters,
    options: SearchOptions,
    on_stage: OnStage = lambda _: None,
) -> HybridResult:
    """Return the best documents. `on_stage` is called with stages that may take a second or more, as they begin.

    Raises QuerySyntaxError; a model that is missing or fails is a stage left out.
    """
    return await _Search(dependencies, query, filters, options, on_stage).run()


def embedded_texts(lines: Sequence[QueryLine]) -> tuple[list[str], list[str]]:
    """Return the queries and the passages among the lines that have a vector."""
    queries = [line.subquery.text for line in lines if line.subquery.kind == "vec"]
    return queries, [line.subquery.text for line in lines if line.subquery.kind == "hyde"]


def is_strong(survey: LexicalSurvey) -> bool:
    """Tell whether the best document by keyword stands out: by its score after a sigmoid, and its lead."""
    scores = list(survey.scores.values())[:STRONG_RANKS]
    best = [1 / (1 + exp(-(abs(score) - STRONG_CENTRE) / STRONG_WIDTH)) for score in scores]
    return bool(best) and best[0] >= STRONG_TOP and best[0] - (best[1] if len(best) > 1 else 0.0) >= STRONG_GAP


class _Search:
    """One query while it runs."""

    def __init__(
        self,
        dependencies: SearchDependencies,
        query: ParsedQuery,
        filters: Filters,
        options: SearchOptions,
        on_stage: OnStage,
    ) -> None:
        self._dependencies = dependencies
        self._query = query
        self._filters = filters
        self._options = options
        self._on_stage = on_stage
        self._budget = Budget(options.budget_s)
        self._language: str | None = None

    async def run(self) -> HybridResult:
        lines = self._query.lines
        embedding = asyncio.create_task(self._vectors(lines, "embed"))
        try:
            words = await self._survey_words(lines, "bm25")
            variants = await self._variants(words)
            vectors = await embedding
        finally:
            embedding.cancel()
        more = await self._variant_vectors(vectors, variants)
        more_words = await self._survey_words(variants, "bm25 variants") if variants else []
        vector_lines = _vector_lines(lines) + (_vector_lines(variants) if more else [])
        lists = ([*words, *more_words], vector_lines, vectors.joined(more) if vectors else None)
        found, fused = await self._retrieve(*lists)
        ranked, compared, least = await self._rerank(found, fused)
        if self._options.limit > len(compared) >= POOL:
            ranked = await self._with_those_behind(ranked, *await self._retrieve(*lists, LARGE_POOL))
            compared = [each.id for each in ranked]
        left_out = list(dict.fromkeys((*(vectors.left_out if vectors else ()), *self._budget.left_out)))
        best = await self._placed(ranked[: self._options.limit])
        result = HybridResult(best, len(compared), self._budget.stages, vectors, left_out, compared, least)
        enough = [each.score >= self._options.min_score for each in result.shown()]
        return result._replace(ranked=[each for each, is_enough in zip(best, enough, strict=True) if is_enough])

    async def _survey_words(self, lines: Sequence[QueryLine], stage: str) -> list[tuple[QueryLine, LexicalSurvey]]:
        started = time.monotonic()
        read, sources = self._dependencies.read, self._dependencies.sources

        def surveyed(connection: Connection) -> list[tuple[QueryLine, LexicalSurvey]]:
            self._detect_language()  # here, since each change of threads waits
            return retrieval.survey_words(connection, lines, self._filters)

        if sources:
            await asyncio.to_thread(self._detect_language)
            surveys = await joint.survey_words(read, sources, lines, self._filters)
        else:
            surveys = await read(surveyed)
        if surveys:
            self._budget.note(stage, started, {"matches": [len(survey.scores) for _, survey in surveys]})
        return surveys

    def _detect_language(self) -> None:
        """In a thread: the first time it takes long."""
        if self._language is None:
            self._language = _language_of(self._query.text)

    async def _vectors(self, lines: Sequence[QueryLine], stage: str) -> QueryVectors | None:
        """Return the vectors of the lines that have one; None, which is noted, when there are none."""
        queries, passages = embedded_texts(lines)
        if not queries and not passages:
            return None
        started = time.monotonic()
        try:
            if isinstance(self._dependencies.embed, Unavailable):
                raise Skipped(self._dependencies.embed.reason)
            work = self._dependencies.embed(queries, passages)
            found = await self._budget.within("the embedding model", work)
            vectors = await self._readable(found, "\n".join((*queries, *passages)))
        except Skipped as skipped:
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
        # In a thread: it may read a file, or measure the model.
        known = {uri: await asyncio.to_thread(self._dependencies.readability, uri) for uri in vectors.rows}
        unread = [uri for uri, readability in known.items() if readability and not readability.can_read(text)]
        kept = vectors.without(unread)
        if not kept.rows:
            named = f"the model {', '.join(unread)} cannot read this script ({str(script).lower()})"
            raise Skipped(f"{named}: `gnoctl models list` shows what other models read")
        return kept

    async def _variant_vectors(
        self, originals: QueryVectors | None, variants: Sequence[QueryLine]
    ) -> QueryVectors | None:
        """Return the vectors of variants, of the same models as those of the originals."""
        if originals is None or not variants:
            return None
        more = await self._vectors(variants, "embed variants")
        return more if more and more.rows.keys() == originals.rows.keys() else None

    async def _variants(self, words: Sequence[tuple[QueryLine, LexicalSurvey]]) -> list[QueryLine]:
        """Return the searches that a model adds."""
        started = time.monotonic()
        try:
            expansion = await self._expand(words)
        except Skipped as skipped:
            self._budget.note("expand", started, {}, why=str(skipped), ran=False)
            return []
        why = None
        if expansion.timed_out:
            why = "the model did not finish within the time budget"
            why += "; it goes on, so that the same query has its variants next time" if expansion.goes_on else ""
        details: dict[str, object] = {
            "cached": expansion.cached,
            "language": expansion.language,
            "variants": [f"{each.kind}: {each.text}" for each in expansion.variants],
            "dropped": [f"{each.kind}: {each.text} ({reason})" for each, reason in expansion.dropped],
        }
        self._budget.note("expand", started, details, why=why)
        return variant_lines(expansion.variants)

    async def _expand(self, words: Sequence[tuple[QueryLine, LexicalSurvey]]) -> Expansion:
        expander, backoff = self._dependencies.expander, self._dependencies.backoff
        if not self._options.expand:
            raise Skipped("turned off")
        if self._query.is_structured:
            raise Skipped("the query itself says what to search")
        if isinstance(expander, Unavailable):
            raise Skipped(expander.reason)
        if any(is_strong(survey) for _, survey in words):
            raise Skipped("skipped_strong: the best document by keyword stands out")
        limit_s = self._budget.left_s() - RERANK_SHARE * self._budget.limit_s * self._reranks()
        if limit_s > 0 and backoff.skips(limit_s):
            limit_s = 0.0  # only the cache is used
        self._on_stage("expanding the query")
        # The expander keeps its limit itself; this is for the rest of its work.
        work = expander.expand(self._query.text, limit_s=limit_s)
        expansion = await self._budget.within("the expansion model", work, limit_s + _AROUND_S)
        if limit_s > 0 and not expansion.cached and (expansion.goes_on or not expansion.timed_out):
            backoff.learn(limit_s, in_time=not expansion.timed_out)
        elif expansion.timed_out:
            raise Skipped(_why_not_expanded(limit_s))
        return expansion

    async def _retrieve(
        self,
        words: Sequence[tuple[QueryLine, LexicalSurvey]],
        vector_lines: Sequence[QueryLine],
        vectors: QueryVectors | None,
        pool: int = POOL,
    ) -> tuple[Retrieved, Fusion]:
        """Return what both retrievers found, fused. On the reader's thread in one go: each change of threads waits."""
        started = time.monotonic()
        nearest = self._dependencies.nearest
        readability, served = self._dependencies.readability, vectors.served if vectors else {}

        def reader(collection: str) -> Readability | None:
            return readability(served[collection]) if collection in served else None

        def fused(connection: Connection, found: Retrieved) -> tuple[Retrieved, Fusion]:
            self._budget.note("knn", started, {}, why=None if vectors else "no vectors", ran=vectors is not None)
            ranking = self._fuse(found)
            return self._with_places(connection, found, ranking), ranking

        knowledge = Knowledge(self._language, reader)
        given = (words, vector_lines, vectors, self._filters)
        read, sources = self._dependencies.read, self._dependencies.sources
        if sources:
            found = await joint.retrieve(read, nearest, sources, *given, pool=pool, knowledge=knowledge)
            return await read(lambda connection: fused(connection, found))
        return await read(
            lambda connection: fused(
                connection, retrieval.retrieve(connection, nearest, *given, pool=pool, knowledge=knowledge)
            )
        )

    def _with_places(self, connection: Connection, found: Retrieved, fused: Fusion) -> Retrieved:
        """Look up the places of those that are shown, as far as that is known yet, or reranked."""
        wanted = max(self._options.limit, self._options.candidates if self._reranks() else 0)
        ids = [each.document_id for each in fused.ranked[:wanted]]
        placed = candidates.placed(connection, [found.near[id_] for id_ in ids if id_ in found.near])
        return found._replace(near=found.near | {each.id: each for each in placed})

    async def _placed(self, ranked: list[RankedDocument]) -> list[RankedDocument]:
        if not any(each.unplaced for each in ranked):
            return ranked
        return await self._dependencies.read(lambda connection: candidates.placed(connection, ranked))

    def _reranks(self) -> bool:
        return self._options.rerank and not isinstance(self._dependencies.reranker, Unavailable)

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

    async def _rerank(self, found: Retrieved, fused: Fusion) -> tuple[list[RankedDocument], list[int], float]:
        """Return the best `limit` documents, the ids of all in their order, and the `least` that is not in the scores
        yet."""
        started = time.monotonic()
        try:
            reranked = await self._reranked(found, fused.ranked)
        except Skipped as skipped:
            reranked = RerankedDocuments([], [], str(skipped), {})
        self._budget.note("rerank", started, reranked.details, why=reranked.reason, ran=bool(reranked.scores))
        blended = reranking.blend([each.score for each in fused.ranked], reranked.scores, fused.least)
        # Stable: of equals, the fused order.
        order = sorted(range(len(blended)), key=lambda number: -blended[number])
        ranked = [
            _ranked(fused.ranked[number], blended[number], number + 1, found, components)
            for number in order[: self._options.limit]
            for components in [reranked.components[number] if number < len(reranked.components) else {}]
        ]
        compared = [fused.ranked[number].document_id for number in order]
        return ranked, compared, 0.0 if reranked.scores else fused.least

    async def _with_those_behind(
        self, ranked: list[RankedDocument], found: Retrieved, fused: Fusion
    ) -> list[RankedDocument]:
        """Append the documents of the larger pool, in their order and with lower scores."""
        known = {each.id for each in ranked}
        more = [each for each in fused.ranked if each.document_id not in known]
        behind = [
            _ranked(each, ranked[-1].score * each.score, rank, found, {})
            for rank, each in enumerate(more, len(ranked) + 1)
        ]
        return await self._dependencies.read(lambda connection: without_copies(connection, [*ranked, *behind]))

    async def _reranked(self, found: Retrieved, fused: Sequence[Fused]) -> RerankedDocuments:
        reranker = self._dependencies.reranker
        if not self._options.rerank:
            raise Skipped("turned off")
        if isinstance(reranker, Unavailable):
            raise Skipped(reranker.reason)
        self._on_stage("reranking")
        read_first = [
            reranking.Candidate(each.document_id, (span.start, span.end) if span else None)
            for each in fused[: self._options.candidates]
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
        return await self._budget.within("the reranker", work, self._budget.left_s() + MARGIN_S)


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
        return "the model still writes the variants of an earlier query"
    return "no time left" if limit_s < 0 else "the model timed out recently; it is tried again soon"


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
