"""The hybrid query: words and meaning together, in other words where a model can write them, reranked where one can.

    lexical ─┬─────────────► expansion ─► variants ─┐
    vectors ─┴──────────────────────────────────────┴─► fusion ─► reranking

Every stage may be missing: what is not there, takes too long or fails is left out, and the stages of the answer say so.
Words alone always answer. Knows no wire and no snippets; what it runs with is given to it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from math import exp
from typing import NamedTuple, Protocol

import numpy as np

from gnod.models.reranker import Reranker
from gnod.pipeline import fusion, reranking, retrieval, subqueries
from gnod.pipeline.budget import MARGIN_S, Budget, Skipped, Stage
from gnod.pipeline.expanding.expansion import LIMIT_S as EXPANSION_LIMIT_S
from gnod.pipeline.expanding.expansion import Expander, Expansion
from gnod.pipeline.fusion import Fused, Fusion, Method
from gnod.pipeline.lexical import LexicalSurvey
from gnod.pipeline.nearest import Nearest
from gnod.pipeline.pace import Pace, Patience
from gnod.pipeline.retrieval import Line, Retrieved, Vectors
from gnod.pipeline.vector import Ranked as Near
from gnod.store import documents
from gnod.store.database import Connection, Read
from gnod.store.filters import Filters

BUDGET_S = 2.0
# What is left of the budget for the reranker while a generator thinks, if there is one.
_RERANK_SHARE = 0.4
# Reading what is kept, and telling the language of a query: the first time it takes that long.
_AROUND_S = 0.5
# The best document by keyword is plainly the one: no other words are needed. Constants: DESIGN §7.
_STRONG_TOP, _STRONG_GAP, _STRONG_RANKS = 0.84, 0.14, 5


class Embed(Protocol):
    """Returns the vectors of queries, and below them those of passages, by each model that answers for a collection of
    the filters. Raises GnoError."""

    def __call__(self, queries: Sequence[str], passages: Sequence[str]) -> Awaitable[Vectors]: ...


class Tools(NamedTuple):
    """What a query runs with. A text in the place of a model says why there is none. `pace` and `patience`: what is
    known of how fast the reranker and the expander are."""

    read: Read
    nearest: Nearest
    embed: Embed | str
    expander: Expander | str
    reranker: Reranker | str
    pace: Pace
    patience: Patience


class Wishes(NamedTuple):
    """`candidates`: how many documents the reranker looks at. `budget_s` bounds the stages that need a model. `floor`:
    what has the query's own words keeps a score under the reranker. `skip_strong`: no other wordings where the best
    document by keyword stands out."""

    limit: int = 10
    min_score: float = 0.0
    candidates: int = reranking.CANDIDATES
    expand: bool = True
    rerank: bool = True
    floor: bool = True
    skip_strong: bool = True
    method: Method = "convex"
    budget_s: float = BUDGET_S


class Ranked(NamedTuple):
    """`score` is in [0, 1]. `near`: the document's best part by meaning; None: it was found by words only."""

    document_id: int
    score: float
    near: Near | None
    components: dict[str, float]


class Found(NamedTuple):
    """`total`: documents that were compared. `vectors`: of the query; None: nothing was searched by meaning."""

    ranked: list[Ranked]
    total: int
    stages: list[Stage]
    vectors: Vectors | None


async def search(
    tools: Tools, query: str, filters: Filters, wishes: Wishes, tell: Callable[[str], None] = lambda _: None
) -> Found:
    """Return the best documents. `tell` is called with what begins, where that may take a second or more.

    Raises QuerySyntaxError; a model that is missing or fails is a stage left out.
    """
    return await _Search(tools, filters, wishes, tell).run(query)


class _Search:
    """One query on its way."""

    def __init__(self, tools: Tools, filters: Filters, wishes: Wishes, tell: Callable[[str], None]) -> None:
        self._tools = tools
        self._tell = tell
        self._filters = filters
        self._wishes = wishes
        self._budget = Budget(wishes.budget_s)

    async def run(self, query: str) -> Found:
        structured = subqueries.parse(query)
        lines = retrieval.asked(query, structured)
        originals = asyncio.create_task(self._vectors(lines, "embed"))
        try:
            words = await self._words(lines, "bm25")
            variants = await self._variants(query, lines if structured is None else None, words)
            vectors = await originals
        finally:
            originals.cancel()
        more = await self._more_vectors(vectors, variants)
        more_words = await self._words(variants, "bm25 variants") if variants else []
        meanings = _meanings(lines) + (_meanings(variants) if more else [])
        found = await self._retrieve(words + more_words, meanings, _together(vectors, more))
        fused = await self._fuse(found)
        ranked = await self._rerank(lines, found, fused)
        kept = [each for each in ranked[: self._wishes.limit] if each.score >= self._wishes.min_score]
        return Found(kept, len(ranked), self._budget.stages, vectors)

    async def _words(self, lines: Sequence[Line], stage: str) -> list[tuple[Line, LexicalSurvey]]:
        started = time.monotonic()
        said = await self._tools.read(lambda connection: retrieval.survey_words(connection, lines, self._filters))
        if said:
            self._budget.note(stage, started, {"matches": [len(each.scores) for _, each in said]})
        return said

    async def _vectors(self, lines: Sequence[Line], stage: str) -> Vectors | None:
        """Return the vectors of the lines that have a meaning; None when there are none, which is noted."""
        queries = [line.query.text for line in lines if line.query.kind == "vec"]
        passages = [line.query.text for line in lines if line.query.kind == "hyde"]
        if not queries and not passages:
            return None
        started = time.monotonic()
        try:
            if isinstance(self._tools.embed, str):
                raise Skipped(self._tools.embed)
            vectors = await self._budget.within("the embedding model", self._tools.embed(queries, passages))
        except Skipped as skipped:
            self._budget.note(stage, started, {}, why=str(skipped), ran=False)
            return None
        self._budget.note(stage, started, {"models": sorted(vectors.rows), "texts": len(queries) + len(passages)})
        return vectors

    async def _more_vectors(self, originals: Vectors | None, variants: Sequence[Line]) -> Vectors | None:
        """Return the vectors of variants, of the same models as those of the originals."""
        if originals is None or not variants:
            return None
        more = await self._vectors(variants, "embed variants")
        return more if more and more.rows.keys() == originals.rows.keys() else None

    async def _variants(
        self, query: str, lines: Sequence[Line] | None, words: Sequence[tuple[Line, LexicalSurvey]]
    ) -> list[Line]:
        """Return the searches that a model adds. `lines`: None when the query itself says what to search."""
        started = time.monotonic()
        try:
            expansion = await self._expand(query, lines, words)
        except Skipped as skipped:
            self._budget.note("expand", started, {}, why=str(skipped), ran=False)
            return []
        why = "the model did not finish within the time budget" if expansion.timed_out else None
        details: dict[str, object] = {
            "cached": expansion.cached,
            "language": expansion.language,
            "variants": [f"{each.kind}: {each.text}" for each in expansion.variants],
            "dropped": [f"{each.kind}: {each.text} ({reason})" for each, reason in expansion.dropped],
        }
        self._budget.note("expand", started, details, why=why)
        return retrieval.varied(expansion.variants)

    async def _expand(
        self, query: str, lines: Sequence[Line] | None, words: Sequence[tuple[Line, LexicalSurvey]]
    ) -> Expansion:
        if not self._wishes.expand:
            raise Skipped("not wanted")
        if lines is None:
            raise Skipped("the query says itself what to search")
        if isinstance(self._tools.expander, str):
            raise Skipped(self._tools.expander)
        if self._wishes.skip_strong and any(_is_strong(said) for _, said in words):
            raise Skipped("skipped_strong: the best document by keyword stands out")
        reranks = self._wishes.rerank and not isinstance(self._tools.reranker, str)
        limit_s = min(EXPANSION_LIMIT_S, self._budget.left_s() - _RERANK_SHARE * self._budget.limit_s * reranks)
        if limit_s > 0 and self._tools.patience.is_over(limit_s):
            limit_s = 0.0  # what is known of before is used
        self._tell("asking in other words")
        # The expander keeps its limit itself; this is for the rest of what it does.
        expansion = await self._budget.within(
            "the model that expands", self._tools.expander.expand(query, limit_s=limit_s), limit_s + _AROUND_S
        )
        if limit_s > 0 and not expansion.cached:
            self._tools.patience.learn(limit_s, in_time=not expansion.timed_out)
        elif expansion.timed_out:
            raise Skipped("no time left" if limit_s < 0 else "the model was too slow of late; it is tried again soon")
        return expansion

    async def _retrieve(
        self, words: Sequence[tuple[Line, LexicalSurvey]], meanings: Sequence[Line], vectors: Vectors | None
    ) -> Retrieved:
        started = time.monotonic()
        depth = self._wishes.limit

        def work(connection: Connection) -> Retrieved:
            return retrieval.retrieve(
                connection, self._tools.nearest, words, meanings, vectors, self._filters, depth=depth
            )

        found = await self._tools.read(work)
        self._budget.note("knn", started, {}, why=None if vectors else "no vectors", ran=vectors is not None)
        return found

    async def _fuse(self, found: Retrieved) -> Fusion:
        started = time.monotonic()
        ids = {id_ for each in found.evidence for id_ in each.scores}
        docids = await self._tools.read(lambda connection: documents.docids(connection, ids))
        # A document that left between two reads has no docid, and no place.
        fused = fusion.fuse(self._wishes.method, found.evidence, lambda id_: (docids.get(id_, ""), id_))
        fused = fused._replace(ranked=[each for each in fused.ranked if each.document_id in docids])
        details: dict[str, object] = {"method": self._wishes.method, "documents": len(fused.ranked)}
        if fused.vector_share is not None:
            details["vector_share"] = round(fused.vector_share, 3)
        self._budget.note("fuse", started, details)
        return fused

    async def _rerank(self, lines: Sequence[Line], found: Retrieved, fused: Fusion) -> list[Ranked]:
        started = time.monotonic()
        try:
            read = await self._read_again(lines, found, fused.ranked)
        except Skipped as skipped:
            read = reranking.ReadAgain([], [], str(skipped), {})
        self._budget.note("rerank", started, read.details, why=read.why, ran=bool(read.scores))
        blended = reranking.blend([each.score for each in fused.ranked], read.scores)
        ranked = [
            _ranked(each, new, rank, found, read.components[rank - 1] if rank <= len(read.components) else {})
            for rank, (each, new) in enumerate(zip(fused.ranked, blended, strict=True), 1)
        ]
        return sorted(ranked, key=lambda each: -each.score)  # stable: of equals, the fused order

    async def _read_again(self, lines: Sequence[Line], found: Retrieved, fused: Sequence[Fused]) -> reranking.ReadAgain:
        if not self._wishes.rerank:
            raise Skipped("not wanted")
        if isinstance(self._tools.reranker, str):
            raise Skipped(self._tools.reranker)
        self._tell("reading the best again")
        candidates = [
            reranking.Candidate(each.document_id, (near.start, near.end) if near else None)
            for each in fused[: self._wishes.candidates]
            for near in [found.near.get(each.document_id)]
        ]
        return await self._budget.within(
            "the reranker",
            reranking.read_again(
                self._tools.read,
                self._tools.reranker,
                self._tools.pace,
                _question(lines),
                next((line.query.text for line in lines if line.query.kind == "lex"), _question(lines)),
                candidates,
                floor=self._wishes.floor,
                limit_s=self._budget.left_s(),
            ),
            self._budget.left_s() + MARGIN_S,
        )


def _is_strong(said: LexicalSurvey) -> bool:
    best = [1 / (1 + exp(-(abs(score) - 4.5) / 2.8)) for score in list(said.scores.values())[:_STRONG_RANKS]]
    return bool(best) and best[0] >= _STRONG_TOP and best[0] - (best[1] if len(best) > 1 else 0.0) >= _STRONG_GAP


def _meanings(lines: Sequence[Line]) -> list[Line]:
    """Return the lines that have a vector, in the order of the vectors: questions, then passages."""
    return sorted((line for line in lines if line.query.kind != "lex"), key=lambda line: line.query.kind == "hyde")


def _together(vectors: Vectors | None, more: Vectors | None) -> Vectors | None:
    if vectors is None or more is None:
        return vectors
    return vectors._replace(rows={uri: np.concatenate([rows, more.rows[uri]]) for uri, rows in vectors.rows.items()})


def _question(lines: Sequence[Line]) -> str:
    """Return what a document has to answer: the question of whoever asks, else the words."""
    original = [line.query for line in lines if line.is_original]
    chosen = next((each for kind in ("vec", "lex", "hyde") for each in original if each.kind == kind), original[0])
    return retrieval.plain(chosen.text) if chosen.kind == "lex" else chosen.text


def _ranked(fused: Fused, score: float, rank: int, found: Retrieved, reranked: dict[str, float]) -> Ranked:
    known = {"bm25": found.bm25, "similarity": found.similarity}
    raw = {name: values[fused.document_id] for name, values in known.items() if fused.document_id in values}
    components = {**raw, **fused.components, "fused": fused.score, "fused_rank": float(rank), **reranked}
    return Ranked(fused.document_id, score, found.near.get(fused.document_id), components)
