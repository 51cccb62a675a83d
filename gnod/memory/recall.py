"""The search: from a query to ranked memories in clear. `ranking` has the rules and the sizes.

Only the texts of the pool are decrypted, in RAM. They go to the reranker (a child process, over its socket) and into
the results.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from gnod.errors import GnoError, QuerySyntaxError
from gnod.memory import ranking
from gnod.memory.keywords import folded, keywords, lookup_words
from gnod.memory.ranking import Depth, Ranked
from gnod.memory.records import Memory, Vector
from gnod.memory.resident import Resident
from gnod.memory.sealing import Sealer
from gnod.models.reranker import Reranker
from gnod.pipeline.budget import Plan, ThroughputEstimate
from gnod.pipeline.exact_match import matched_fraction
from gnod.pipeline.reranking import Reranked, rerank_within_budget
from gnod.types import Unavailable

# Decrypted memories by id.
OpenAll = Callable[[Collection[int]], Awaitable[Mapping[int, Memory]]]
# The vector of a query, or why there is none.
Embed = Callable[[str], Awaitable[Vector | Unavailable]]


class RecallDependencies(NamedTuple):
    """What a search works with. `damage_note` describes memories that `open_all` could not open. `limit_s`: for the
    reranker."""

    sealer: Sealer
    resident: Resident
    open_all: OpenAll
    damage_note: Callable[[Collection[int]], str | None]
    embed: Embed
    reranker: Reranker | Unavailable
    throughput: ThroughputEstimate
    limit_s: float


class Hit(NamedTuple):
    """`score` orders the hits. `cosine`: to the query, if vectors found it. Both in [0, 1]."""

    memory: Memory
    score: float
    cosine: float | None


class Recalled(NamedTuple):
    """`found`: candidates of both lists. `ranked`: those in the pool, of which `reranked` were reranked. `notes`: what
    was left out, and why."""

    hits: list[Hit]
    found: int
    ranked: int
    reranked: int
    notes: list[str]


async def recall(
    dependencies: RecallDependencies, query: str, depth: Depth, namespaces: Collection[int] | None, *, has_shared: bool
) -> Recalled:
    """Return memories for the query, best first, from the namespaces (None: all). Raises QuerySyntaxError when the
    query has too few keywords for the depth."""
    words = keywords(query)
    if len(words) < depth.keywords:
        raise QuerySyntaxError(
            f"a deep search needs {depth.keywords} keywords or more, and this query has {len(words)}: add keywords, "
            "or use the normal search"
        )
    vector = await dependencies.embed(query)
    lookups = [dependencies.sealer.lookup("topic", word) for word in lookup_words(words)]
    resident = dependencies.resident
    cosines: dict[int, float] = {}

    def nearest(limit: int) -> Sequence[int]:
        if isinstance(vector, Unavailable):
            return []
        found = resident.nearest(vector, limit, namespaces)
        cosines.update(found)
        return list(found)

    suggested = [dependencies.sealer.lookup("suggested", word) for word in lookup_words(words)]

    def topical(limit: int) -> Sequence[int]:
        return resident.topical(lookups, limit, namespaces, suggested)

    by_meaning, by_topic = await asyncio.gather(
        asyncio.to_thread(ranking.distinct, nearest, depth.pool, resident.fingerprint, has_shared=has_shared),
        asyncio.to_thread(ranking.distinct, topical, depth.topics, resident.fingerprint, has_shared=has_shared),
    )
    by_topic = ranking.united(by_meaning, by_topic, resident.fingerprint)
    types = resident.types([*by_meaning, *by_topic])
    by_meaning = [id_ for id_ in by_meaning if id_ in types]  # some may have been removed meanwhile
    fused = ranking.fuse(by_meaning, [id_ for id_ in by_topic if id_ in types], types)
    memories = await dependencies.open_all([id_ for id_, _ in fused[: depth.pool]])
    chosen = [(id_, score) for id_, score in fused[: depth.pool] if id_ in memories]
    reading = await _rerank(dependencies, query, [memories[id_].text for id_, _ in chosen], depth)
    # Only for candidates of the vector list: more cosines may be known.
    known = {id_: min(max(cosines[id_], 0.0), 1.0) for id_ in by_meaning}
    rest = [ranking.synthetic(score, known.get(id_)) for id_, score in chosen[len(reading.scores) :]]
    scores = ranking.reranked(reading.scores, rest)
    matched = await asyncio.to_thread(_matched, [memories[id_] for id_, _ in chosen], words)
    finished = ranking.finish(
        [
            Ranked(id_, score, memories[id_].type, fraction, verified=at < len(reading.scores))
            for at, ((id_, _), score, fraction) in enumerate(zip(chosen, scores, matched, strict=True))
        ]
    )
    finished = _current_first(finished, memories)
    notes = [vector.reason if isinstance(vector, Unavailable) else None, reading.reason]
    notes.append(dependencies.damage_note([id_ for id_, _ in fused[: depth.pool]]))
    return Recalled(
        hits=[Hit(memories[each.id], each.score, known.get(each.id)) for each in finished[: depth.results]],
        found=len(fused),
        ranked=len(chosen),
        reranked=len(reading.scores),
        notes=[note for note in notes if note],
    )


def _current_first(ranked: Sequence[Ranked], memories: Mapping[int, Memory]) -> list[Ranked]:
    """Return the list with each memory before those that it supersedes, with at least their score."""
    by_name = {memories[each.id].name: each for each in ranked}
    placed: dict[int, Ranked] = {}
    for each in ranked:
        chain = []
        next_: Ranked | None = each
        while next_ is not None and next_.id not in placed:
            chain.append(next_._replace(score=max(next_.score, each.score)))
            next_ = by_name.get(memories[next_.id].superseded_by or "")
        placed.update((one.id, one) for one in reversed(chain))
    return list(placed.values())


def _matched(memories: Sequence[Memory], words: Sequence[str]) -> list[float]:
    """Return the fraction of the words in each memory; topics count, too, because the reranker reads only the text."""
    return [matched_fraction(folded("\n".join((each.text, *each.topics))), words) for each in memories]


async def _rerank(dependencies: RecallDependencies, query: str, texts: Sequence[str], depth: Depth) -> Reranked:
    """Rerank the pool in one pass, as far as the time allows."""
    reranker = dependencies.reranker
    if not texts or (len(texts) < ranking.FEW and not depth.always_reranks):
        return Reranked([], 0, None, None)
    if isinstance(reranker, Unavailable):
        return Reranked([], 0, None, reranker.reason)

    async def shown(plan: Plan) -> Sequence[str]:
        return [text[: plan.characters] for text in texts[: plan.documents]]

    try:
        return await rerank_within_budget(
            reranker,
            dependencies.throughput,
            query,
            len(texts),
            shown,
            limit_s=dependencies.limit_s,
            noun="memories",
        )
    except GnoError as error:
        return Reranked([], 0, None, error.message)
