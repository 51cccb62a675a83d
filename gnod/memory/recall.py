"""The search: from a question to memories in clear, ranked. `ranking` has the rules, `pool` the sizes.

Texts are opened for the pool only, in memory, and go no further than the cross-encoder (a child process, over its
socket) and the previews.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from gnod.errors import GnoError, QuerySyntaxError
from gnod.memory import pool, ranking
from gnod.memory.keywords import folded, keywords, lookup_words
from gnod.memory.pool import Depth
from gnod.memory.ranking import Ranked
from gnod.memory.records import Memory, Vector
from gnod.memory.resident import Resident
from gnod.memory.sealing import Sealer
from gnod.models.reranker import Reranker
from gnod.pipeline.literal import matched_fraction
from gnod.pipeline.pace import FRAME_CHARACTERS, MIN_DOCUMENTS, Pace

# Bodies of memories, opened, by id.
OpenAll = Callable[[Collection[int]], Awaitable[Mapping[int, Memory]]]
# The vector of a query, or why there is none.
Embed = Callable[[str], Awaitable[Vector | str]]


class Tools(NamedTuple):
    """What a search asks. `damage_note`: what is to be said of memories that `open_all` left out. `reranker`: or why
    there is none. `limit_s`: for the cross-encoder."""

    sealer: Sealer
    resident: Resident
    open_all: OpenAll
    damage_note: Callable[[Collection[int]], str | None]
    embed: Embed
    reranker: Reranker | str
    pace: Pace
    limit_s: float


class Hit(NamedTuple):
    """`score` orders, `cosine` is what the vectors say, where they found it; both in [0, 1]."""

    memory: Memory
    score: float
    cosine: float | None


class Recalled(NamedTuple):
    """`found`: candidates of both lists together. `ranked`: those of them in the pool, of which `reranked` were read by
    the cross-encoder. `notes`: what was left out and why."""

    hits: list[Hit]
    found: int
    ranked: int
    reranked: int
    notes: list[str]


class _Reading(NamedTuple):
    """Scores of the first candidates, as many as the time allowed; why not all."""

    scores: list[float]
    why: str | None


async def recall(
    tools: Tools, query: str, depth: Depth, namespaces: Collection[int] | None, *, has_shared: bool
) -> Recalled:
    """Return what is remembered of the query, best first, in those namespaces (in all when None).

    Raises QuerySyntaxError when it has too few keywords for that depth.
    """
    words = keywords(query)
    if len(words) < depth.keywords:
        raise QuerySyntaxError(
            f"a deep search needs {depth.keywords} keywords or more, and this query has {len(words)}; name more of "
            "what you look for, or use the normal search"
        )
    vector = await tools.embed(query)
    lookups = [tools.sealer.lookup("topic", word) for word in lookup_words(words)]
    resident = tools.resident
    cosines: dict[int, float] = {}

    def nearest(limit: int) -> Sequence[int]:
        if isinstance(vector, str):
            return []
        found = resident.nearest(vector, limit, namespaces)
        cosines.update(found)
        return list(found)

    def topical(limit: int) -> Sequence[int]:
        return resident.topical(lookups, limit, namespaces)

    by_meaning, by_topic = await asyncio.gather(
        asyncio.to_thread(pool.distinct, nearest, depth.pool, resident.fingerprint, has_shared=has_shared),
        asyncio.to_thread(pool.distinct, topical, depth.topics, resident.fingerprint, has_shared=has_shared),
    )
    by_topic = pool.united(by_meaning, by_topic, resident.fingerprint)
    kinds = resident.kinds([*by_meaning, *by_topic])
    by_meaning = [id_ for id_ in by_meaning if id_ in kinds]  # one may be gone in this moment
    fused = ranking.fuse(by_meaning, [id_ for id_ in by_topic if id_ in kinds], kinds)
    memories = await tools.open_all([id_ for id_, _ in fused[: depth.pool]])
    chosen = [(id_, score) for id_, score in fused[: depth.pool] if id_ in memories]
    reading = await _read(tools, query, [memories[id_].text for id_, _ in chosen], depth)
    # The cosine counts for what the vectors' list has, not for what they were asked about beyond it.
    known = {id_: min(max(cosines[id_], 0.0), 1.0) for id_ in by_meaning}
    rest = [ranking.synthetic(score, known.get(id_)) for id_, score in chosen[len(reading.scores) :]]
    scores = ranking.reranked(reading.scores, rest)
    matched = await asyncio.to_thread(_matched, [memories[id_] for id_, _ in chosen], words)
    finished = ranking.finish(
        [
            Ranked(id_, score, memories[id_].kind, fraction)
            for (id_, _), score, fraction in zip(chosen, scores, matched, strict=True)
        ]
    )
    notes = [vector if isinstance(vector, str) else None, reading.why]
    notes.append(tools.damage_note([id_ for id_, _ in fused[: depth.pool]]))
    return Recalled(
        hits=[Hit(memories[each.id], each.score, known.get(each.id)) for each in finished[: depth.results]],
        found=len(fused),
        ranked=len(chosen),
        reranked=len(reading.scores),
        notes=[note for note in notes if note],
    )


def _matched(memories: Sequence[Memory], words: Sequence[str]) -> list[float]:
    """Topics count, too: what was filed under a name must not be lost for a model that reads the text."""
    return [matched_fraction(folded("\n".join((each.text, *each.topics))), words) for each in memories]


async def _read(tools: Tools, query: str, texts: Sequence[str], depth: Depth) -> _Reading:
    """Let the cross-encoder read the pool in one pass, as far as the time goes."""
    if len(texts) < pool.FEW and not depth.always_reranks:
        return _Reading([], None)
    if isinstance(tools.reranker, str):
        return _Reading([], tools.reranker)
    if not texts:
        return _Reading([], None)
    plan = tools.pace.plan(len(texts), query, tools.reranker.window_characters, tools.limit_s)
    if plan is None:
        return _Reading([], f"no time to rerank: {tools.limit_s:.1f} s would do for less than {MIN_DOCUMENTS} memories")
    shown = [text[: plan.characters] for text in texts[: plan.documents]]
    started = time.monotonic()
    try:
        scores = await tools.reranker.score(query, shown, limit_s=tools.limit_s)
    except GnoError as error:
        return _Reading([], error.message)
    done = len(scores.values)
    characters = sum(len(text) + len(query) + FRAME_CHARACTERS for text in shown[:done])
    tools.pace.learn(characters, scores.took_s if done else time.monotonic() - started)
    why = None if done == len(texts) else f"the time was enough to rerank {done} of {len(texts)}"
    return _Reading(scores.values, why)
