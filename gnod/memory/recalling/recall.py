"""Search memories: from a query to ranked memories in clear. `ranking` has the rules and the sizes.

Only the texts of the pool are decrypted, and only in RAM. They go to the reranker (a child process, over its socket)
and into the results.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, datetime
from itertools import starmap
from math import isnan
from typing import NamedTuple

import numpy as np

from gnod.errors import GnoError, QuerySyntaxError
from gnod.memory.key.sealing import Sealer
from gnod.memory.memories import Memories
from gnod.memory.recalling import candidates, ranking
from gnod.memory.recalling.candidates import Floats, MemorySignals
from gnod.memory.recalling.keywords import folded, keywords, lookup_words
from gnod.memory.recalling.ranking import Depth, RecalledMemory
from gnod.memory.recalling.time_expressions import periods
from gnod.memory.records import Memory, Vector
from gnod.memory.validity import TimeSpan, best_validity, validity
from gnod.models.run.roles import Reranker
from gnod.search.hybrid.budget import RerankPlan, ThroughputEstimate
from gnod.search.hybrid.reranking import Reranked, matched_fraction, rerank_within_budget
from gnod.search.query.question_type import expected
from gnod.types import UnavailableModel

# Returns the vector of a query, or why there is none.
Embed = Callable[[str], Awaitable[Vector | UnavailableModel]]

# The weight of a suggested topic, relative to one that somebody gave. It is low because a suggested topic is a word of
# the text, which keyword search already counts.
_SUGGESTED_WEIGHT = 0.1


class RecallDependencies(NamedTuple):
    """The dependencies of a search. `limit_s`: the time limit of the reranker."""

    memories: Memories
    embed: Embed
    reranker: Reranker | UnavailableModel
    throughput: ThroughputEstimate
    limit_s: float


class Recalled(NamedTuple):
    """`found`: number of candidates. `ranked`: number of candidates in the pool. `reranked`: number of these that were
    reranked. `notes`: what was left out, and why."""

    hits: list[RecalledMemory]
    found: int
    ranked: int
    reranked: int
    notes: list[str]


async def recall(
    dependencies: RecallDependencies,
    query: str,
    depth: Depth,
    namespaces: Collection[int] | None,
    as_of: TimeSpan | None = None,
) -> Recalled:
    """Return memories for the query, best first, from the namespaces (None: all). With `as_of`, leave out memories that
    were not true then. Without it, memories that are not true at a time that the query names, or now, rank lower.
    Raises QuerySyntaxError if the query has too few keywords for the depth."""
    words = keywords(query)
    if len(words) < depth.keywords:
        raise QuerySyntaxError(
            f"a deep search needs {depth.keywords} keywords or more, and this query has {len(words)}: add keywords, "
            "or run a normal search"
        )
    vector = await dependencies.embed(query)
    memories = dependencies.memories
    found, named = await asyncio.to_thread(_searched, memories, query, words, vector, namespaces)
    scores = _fused(memories, found, as_of)
    rows, pool, damage = await _pooled(memories, found, scores, depth, as_of)
    reading = await _rerank(dependencies, query, [memory.text for memory in pool], depth)
    has_vector = not isinstance(vector, UnavailableModel)
    ordered = _ordered(found, scores, rows, reading.scores, has_vector=has_vector)
    matched = await asyncio.to_thread(_matched, pool, words)
    valid = [validity(memory, as_of) if as_of else best_validity(memory, named) for memory in pool]
    verified = [at < len(reading.scores) for at in range(len(pool))]
    cosines = [None if isnan(cosine) else min(max(cosine, 0.0), 1.0) for cosine in found.cosines[rows].tolist()]
    columns = zip(pool, ordered, matched, valid, verified, cosines, strict=False)  # without memories, the pool is empty
    hits = ranking.finish(list(starmap(RecalledMemory, columns)))
    hits = ranking.current_first(hits)
    vectors = memories.resident.first_vectors([hit.memory.id for hit in hits])
    notes = [vector.reason if isinstance(vector, UnavailableModel) else None, reading.reason, damage]
    return Recalled(
        hits=ranking.events(hits, vectors)[: depth.results],
        found=int(found.found().sum()),
        ranked=len(pool),
        reranked=len(reading.scores),
        notes=[note for note in notes if note],
    )


def _searched(
    memories: Memories,
    query: str,
    words: Sequence[str],
    vector: Vector | UnavailableModel,
    namespaces: Collection[int] | None,
) -> tuple[MemorySignals, list[TimeSpan]]:
    """Score each memory in the namespaces by vectors, keywords, topics and times. Return the scores and the times that
    the query names: now if it names none."""
    resident, index = memories.resident, memories.index
    ids, times_ms = resident.stored(namespaces)
    nothing = np.full(len(ids), np.nan)
    now, latest = datetime.now(UTC), datetime.fromtimestamp(int(times_ms.max(initial=0)) / 1000, UTC)
    named = periods(query, index.languages, now, latest)
    dates: list[str] = []
    if isinstance(vector, UnavailableModel):  # without a vector, the coverage alone decides whether any memory answers
        dates = re.findall(r"\w+", " ".join(period.text.lower() for period in named))
    signals = candidates.evidence(
        ids,
        times_ms,
        nothing if isinstance(vector, UnavailableModel) else resident.cosines(vector, ids),
        index.search(query, ids.tolist(), dates),
        resident.topic_weights(topic_weights(memories.sealer, words), namespaces),
        named,
        asks_when=expected(query).type == "date",
    )
    now_ms = int(now.timestamp() * 1000)
    return signals, [TimeSpan.of_days(period.start, period.end) for period in named] or [TimeSpan(now_ms, now_ms)]


def _fused(memories: Memories, found: MemorySignals, as_of: TimeSpan | None) -> Floats:
    """Return the scores of the memories, with the boosts of their types; -1 for memories that must not be found."""
    scores = candidates.fused(found)
    likely = np.flatnonzero(scores >= 0)
    types = memories.resident.types(found.ids[likely].tolist())
    scores[likely] = ranking.boosted(scores[likely].tolist(), types)
    if as_of:
        scores[np.isin(found.ids, memories.index.outside(as_of))] = -1.0
    return scores


async def _pooled(
    memories: Memories, found: MemorySignals, scores: Floats, depth: Depth, as_of: TimeSpan | None
) -> tuple[list[int], list[Memory], str | None]:
    """Return the rows of the pool, its memories, and a note about damaged ones."""
    limit = len(scores) if as_of else depth.pool
    rows = candidates.pool(found, scores, memories.resident.fingerprint, limit)
    ids = found.ids[rows].tolist()
    opened = await _opened(memories, ids, depth.pool, as_of)
    rows = [row for row, id_ in zip(rows, ids, strict=True) if id_ in opened][: depth.pool]
    return rows, [opened[id_] for id_ in found.ids[rows].tolist()], memories.damage_note(ids)


async def _opened(memories: Memories, ids: Sequence[int], limit: int, as_of: TimeSpan | None) -> dict[int, Memory]:
    """Open the first memories, up to the limit; with `as_of`, only those that may have been true then."""
    found: dict[int, Memory] = {}
    for start in range(0, len(ids), limit):
        batch = await memories.open_all(ids[start : start + limit])
        found |= {
            id_: memory
            for id_, memory in batch.items()
            if as_of is None or validity(memory, as_of) in ("holds", "unknown")
        }
        if len(found) >= limit:
            break
    return found


def topic_weights(sealer: Sealer, words: Sequence[str]) -> dict[bytes, float]:
    """Return the weights of the topics that the words name, given or suggested, by keyed hash."""
    looked_up = lookup_words(words)
    given = dict.fromkeys((sealer.lookup("topic", word) for word in looked_up), 1.0)
    return given | dict.fromkeys((sealer.lookup("suggested", word) for word in looked_up), _SUGGESTED_WEIGHT)


def _ordered(
    found: MemorySignals, scores: Floats, rows: Sequence[int], read: Sequence[float], *, has_vector: bool
) -> list[float]:
    """Return the scores of the pool, from the reranker or, for memories that it did not read, computed; empty if no
    memory answers the query. For a memory without a vector, a topic of the query is enough."""
    if not read and not _is_stored(found, rows, has_vector=has_vector):
        return []
    by_topic = np.where(np.isnan(found.cosines) & (found.topics > 0), 1.0, 0.0)
    unread = rows[len(read) :]
    strength = np.maximum(found.strength(), by_topic)[unread]
    rest = map(ranking.synthetic, scores[unread].tolist(), strength.tolist())
    return ranking.reranked(read, list(rest))


def _is_stored(found: MemorySignals, rows: Sequence[int], *, has_vector: bool) -> bool:
    """Return whether any candidate has enough evidence. A topic that somebody gave a memory is enough."""
    if (found.topics[rows] >= 1.0).any():
        return True
    return bool(found.strength()[rows].max(initial=0.0) >= candidates.floor(len(found.ids), has_vector=has_vector))


def _matched(memories: Sequence[Memory], words: Sequence[str]) -> list[float]:
    """Return the fraction of the words that each memory has in its text or topics. Topics count because the reranker
    reads only the text."""
    return [matched_fraction(folded("\n".join((memory.text, *memory.topics))), words) for memory in memories]


async def _rerank(dependencies: RecallDependencies, query: str, texts: Sequence[str], depth: Depth) -> Reranked:
    """Rerank the pool in one pass, as far as the time allows."""
    reranker = dependencies.reranker
    if not texts or (len(texts) < ranking.FEW and not depth.always_reranks):
        return Reranked([], 0, None, None)
    if isinstance(reranker, UnavailableModel):
        return Reranked([], 0, None, reranker.reason)

    async def shown(plan: RerankPlan) -> Sequence[str]:
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
