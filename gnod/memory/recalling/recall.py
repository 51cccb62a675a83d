"""The search: from a query to ranked memories in clear. `ranking` has the rules and the sizes.

Only the texts of the pool are decrypted, in RAM. They go to the reranker (a child process, over its socket) and into
the results.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from math import isnan
from typing import NamedTuple

import numpy as np

from gnod.errors import GnoError, QuerySyntaxError
from gnod.memory.key.sealing import Sealer
from gnod.memory.recalling import candidates, events, ranking
from gnod.memory.recalling.candidates import Floats, MemorySignals
from gnod.memory.recalling.keyword_index import KeywordIndex
from gnod.memory.recalling.keywords import folded, keywords, lookup_words
from gnod.memory.recalling.ranking import Depth, RankedMemory
from gnod.memory.recalling.time_expressions import periods
from gnod.memory.records import Memory, Vector
from gnod.memory.resident import Resident
from gnod.memory.validity import TimeSpan, Validity, best_validity, validity
from gnod.models.run.roles import Reranker
from gnod.search.hybrid.budget import RerankPlan, ThroughputEstimate
from gnod.search.hybrid.exact_match import matched_fraction
from gnod.search.hybrid.reranking import Reranked, rerank_within_budget
from gnod.search.query.question_type import AnswerType, expected
from gnod.types import UnavailableModel

# Opens memories by id.
OpenAll = Callable[[Collection[int]], Awaitable[Mapping[int, Memory]]]
# Returns the vector of a query, or why there is none.
Embed = Callable[[str], Awaitable[Vector | UnavailableModel]]

# The weight of a suggested topic, relative to one that somebody gave. It is a word of the text, and keywords count that
# already.
_SUGGESTED_WEIGHT = 0.1


class RecallDependencies(NamedTuple):
    """What a search works with. `damage_note` describes memories that `open_all` could not open. `limit_s`: for the
    reranker."""

    sealer: Sealer
    resident: Resident
    keyword_index: KeywordIndex
    open_all: OpenAll
    damage_note: Callable[[Collection[int]], str | None]
    embed: Embed
    reranker: Reranker | UnavailableModel
    throughput: ThroughputEstimate
    limit_s: float


class RecalledMemory(NamedTuple):
    """`score` orders the hits. `cosine`: to the query, if it has a vector. Both in [0, 1]. `folded`: others of the same
    event, best first, which have no hits of their own. `validity`: at the time that is asked for."""

    memory: Memory
    score: float
    cosine: float | None
    folded: list[Memory]
    validity: Validity


class Recalled(NamedTuple):
    """`found`: candidates of both lists. `ranked`: those in the pool, of which `reranked` were reranked. `notes`: what
    was left out, and why."""

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
    """Return memories for the query, best first, from the namespaces (None: all). `as_of`: without those that were not
    true then. Otherwise those rank lower that are not true at a time that the query names, or now. Raises
    QuerySyntaxError when the query has too few keywords for the depth."""
    words = keywords(query)
    if len(words) < depth.keywords:
        raise QuerySyntaxError(
            f"a deep search needs {depth.keywords} keywords or more, and this query has {len(words)}: add keywords, "
            "or run a normal search"
        )
    vector = await dependencies.embed(query)
    found, named = await asyncio.to_thread(_searched, dependencies, query, words, vector, namespaces)
    scores = candidates.fused(found)
    likely = np.flatnonzero(scores >= 0)
    types = dependencies.resident.types(found.ids[likely].tolist())
    scores[likely] = ranking.boosted(scores[likely].tolist(), types)
    if as_of:
        scores[np.isin(found.ids, dependencies.keyword_index.outside(as_of))] = -1.0
    rows = candidates.pool(found, scores, dependencies.resident.fingerprint, len(scores) if as_of else depth.pool)
    ids = [int(found.ids[row]) for row in rows]
    memories = await _opened(dependencies, ids, depth.pool, as_of)
    damage = dependencies.damage_note(ids)
    rows = [row for row in rows if int(found.ids[row]) in memories][: depth.pool]
    valid = {id_: validity(each, as_of) if as_of else best_validity(each, named) for id_, each in memories.items()}
    chosen = [memories[int(found.ids[row])] for row in rows]
    reading = await _rerank(dependencies, query, [memory.text for memory in chosen], depth)
    strength = _strength(found)
    unread = rows[len(reading.scores) :]
    rest = [ranking.synthetic(float(scores[row]), float(strength[row])) for row in unread]
    is_stored = bool(reading.scores) or _is_stored(found, rows, has_vector=not isinstance(vector, UnavailableModel))
    ordered = ranking.reranked(reading.scores, rest) if is_stored else []
    matched = await asyncio.to_thread(_matched, chosen, words)
    finished = ranking.finish(
        [
            RankedMemory(
                *(memory.id, score, memory.type, fraction),
                verified=at < len(reading.scores),
                holds=valid[memory.id] == "holds",
            )
            for at, (memory, score, fraction) in enumerate(zip(chosen, ordered, matched, strict=False))
        ]
    )
    finished = _current_first(finished, {memory.id: memory for memory in chosen})
    vectors = dependencies.resident.first_vectors([each.id for each in finished])
    grouped = events.groups([memories[each.id] for each in finished], vectors)
    scored = {each.id: each.score for each in finished}
    known = {int(found.ids[row]): min(max(float(found.cosines[row]), 0.0), 1.0) for row in rows}
    notes = [vector.reason if isinstance(vector, UnavailableModel) else None, reading.reason, damage]
    return Recalled(
        hits=[
            RecalledMemory(
                memories[each.id],
                scored[each.id],
                None if isnan(known[each.id]) else known[each.id],
                [memories[id_] for id_ in each.folded],
                valid[each.id],
            )
            for each in grouped[: depth.results]
        ],
        found=int(found.found().sum()),
        ranked=len(chosen),
        reranked=len(reading.scores),
        notes=[note for note in notes if note],
    )


def _current_first(ranked: Sequence[RankedMemory], memories: Mapping[int, Memory]) -> list[RankedMemory]:
    """Return the list with each memory before those that it supersedes, with at least their score. A memory that is
    not true at the time that is asked for does not come before one that is."""
    by_name = {memories[each.id].name: each for each in ranked}
    placed: dict[int, RankedMemory] = {}
    for each in ranked:
        chain = []
        next_: RankedMemory | None = each
        while next_ is not None and next_.id not in placed:
            chain.append(next_._replace(score=max(next_.score, each.score)))
            newer = by_name.get(memories[next_.id].superseded_by or "")
            next_ = newer if newer and newer.holds >= next_.holds else None
        placed.update((one.id, one) for one in reversed(chain))
    return list(placed.values())


def _searched(
    dependencies: RecallDependencies,
    query: str,
    words: Sequence[str],
    vector: Vector | UnavailableModel,
    namespaces: Collection[int] | None,
) -> tuple[MemorySignals, list[TimeSpan]]:
    """Return what vectors, keywords, topics and times say of each memory in the namespaces, and the times that the
    query names: now if there are none."""
    resident, index = dependencies.resident, dependencies.keyword_index
    ids, times_ms = resident.stored(namespaces)
    nothing = np.full(len(ids), np.nan)
    now, latest = datetime.now(UTC), datetime.fromtimestamp(int(times_ms.max(initial=0)) / 1000, UTC)
    named = periods(query, index.languages, now, latest)
    dates: list[str] = []
    if isinstance(vector, UnavailableModel):  # the coverage alone decides whether the answer is stored
        dates = re.findall(r"\w+", " ".join(period.text.lower() for period in named))
    signals = candidates.evidence(
        ids,
        times_ms,
        nothing if isinstance(vector, UnavailableModel) else resident.cosines(vector, ids),
        index.search(query, None if namespaces is None else ids.tolist(), dates),
        resident.topic_weights(topic_weights(dependencies.sealer, words), namespaces),
        named,
        asks_when=expected(query).type is AnswerType.DATE,
    )
    now_ms = int(now.timestamp() * 1000)
    return signals, [TimeSpan.of_days(each.start, each.end) for each in named] or [TimeSpan(now_ms, now_ms)]


async def _opened(
    dependencies: RecallDependencies, ids: Sequence[int], limit: int, as_of: TimeSpan | None
) -> dict[int, Memory]:
    """Open the first memories, up to the limit; with `as_of` those that may have been true then."""
    found: dict[int, Memory] = {}
    for start in range(0, len(ids), limit):
        batch = await dependencies.open_all(ids[start : start + limit])
        found |= {
            id_: memory
            for id_, memory in batch.items()
            if as_of is None or validity(memory, as_of) in ("holds", "unknown")
        }
        if len(found) >= limit:
            break
    return found


def topic_weights(sealer: Sealer, words: Sequence[str]) -> dict[bytes, float]:
    """Return the weights of the topics that words name: those that somebody gave, and those that were suggested."""
    looked_up = lookup_words(words)
    given = dict.fromkeys((sealer.lookup("topic", word) for word in looked_up), 1.0)
    return given | dict.fromkeys((sealer.lookup("suggested", word) for word in looked_up), _SUGGESTED_WEIGHT)


def _strength(found: MemorySignals) -> Floats:
    """Return how much speaks for each memory; a topic that somebody gave it is enough."""
    return np.maximum(found.strength(), np.where(np.isnan(found.cosines) & (found.topics > 0), 1.0, 0.0))


def _is_stored(found: MemorySignals, rows: Sequence[int], *, has_vector: bool) -> bool:
    """Tell whether enough speaks for any of the candidates. What is found by topic is what somebody filed there."""
    if (found.topics[rows] >= 1.0).any():
        return True
    return bool(found.strength()[rows].max(initial=0.0) >= candidates.floor(len(found.ids), has_vector=has_vector))


def _matched(memories: Sequence[Memory], words: Sequence[str]) -> list[float]:
    """Return the fraction of the words in each memory. Topics count as well, because the reranker reads only the
    text."""
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
