"""`memory.*`: store, search and change memories; lock and unlock them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import UNSET

from gnod.errors import InvalidParams
from gnod.handlers.wire_types import iso
from gnod.memory import listing
from gnod.memory.listing import preview
from gnod.memory.memories import Memories
from gnod.memory.recalling.ranking import DEEP_SEARCH, SEARCH, Depth, RecalledMemory
from gnod.memory.recalling.recall import Recalled
from gnod.memory.records import PERSONAL, Memory, Times
from gnod.memory.service import MemoryService
from gnod.memory.transactions import MemoryChange, MemoryDraft, StoredDraft
from gnod.memory.validity import TimeSpan
from gnod.protocol import memory as m
from gnod.protocol.base import NoParams, copied
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.query.filter_dates import period

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_MS = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
_LAST_MS = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)


def handlers(service: MemoryService) -> Mapping[str, Handler]:
    async def memory_store(params: m.MemoryStoreParams, _: Call) -> m.MemoryStoreResult:
        memories = await service.memories()
        draft = MemoryDraft(
            params.text,
            params.type,
            params.topics,
            params.namespace,
            times=Times(**_times(params)),
            supersedes=params.supersedes,
        )
        (stored,) = await memories.store([draft])
        return _stored(stored, await memories.proposals(stored.memory))

    async def memory_search(params: m.MemorySearchParams, _: Call) -> m.MemorySearchResult:
        return await _searched(params, SEARCH)

    async def memory_deep_search(params: m.MemoryDeepSearchParams, _: Call) -> m.MemorySearchResult:
        return await _searched(params, DEEP_SEARCH)

    async def _searched(params: m.MemorySearchParams, depth: Depth) -> m.MemorySearchResult:
        as_of = None if params.as_of is None else _span("as_of", params.as_of)
        recalled = await service.recall(params.query, depth, params.namespaces, params.budget_s, as_of)
        return _found(recalled, recalled.hits[: params.limit], depth)

    async def memory_retrieve(params: m.MemoryIdsParams, _: Call) -> m.MemoryRecordsResult:
        memories = await service.memories()
        return m.MemoryRecordsResult(memories=_records(memories, await memories.retrieve(params.ids)))

    async def memory_history(params: m.MemoryHistoryParams, _: Call) -> m.MemoryHistoryResult:
        memories = await service.memories()
        return m.MemoryHistoryResult(memories=_records(memories, await memories.history(params.id)))

    async def memory_update(params: m.MemoryUpdateParams, _: Call) -> m.MemoryRecord:
        change = MemoryChange(
            params.text,
            params.type,
            params.topics,
            params.remove_topics,
            _times(params),
            supersedes=params.supersedes,
        )
        if not (change.is_of_content or change.supersedes):
            raise InvalidParams("nothing to change: give a text, a type, topics, a time or superseded memories")
        memories = await service.memories()
        (record,) = _records(memories, [await memories.update(params.id, change)])
        return record

    async def memory_forget(params: m.MemoryIdsParams, _: Call) -> m.MemoryForgetResult:
        memories = await service.memories()
        await memories.forget(params.ids)
        return m.MemoryForgetResult(forgotten=len(set(params.ids)))

    async def memory_list(params: m.MemoryListParams, _: Call) -> m.MemoryListResult:
        memories = await service.memories()
        page = await listing.page(
            memories,
            namespaces=params.namespaces,
            types=params.types,
            topics=params.topics,
            since_ms=None if params.since is None else _span("since", params.since).first_ms,
            limit=params.limit,
            cursor=params.cursor,
        )
        records = _records(memories, page.memories, whole=params.whole)
        return m.MemoryListResult(memories=records, total=page.total, cursor=page.cursor, notes=page.notes)

    async def memory_publish(params: m.MemoryPublishParams, _: Call) -> m.MemoryManyResult:
        memories = await service.memories()
        return _many(await memories.publish(params.ids, params.namespace))

    async def memory_import(params: m.MemoryImportParams, _: Call) -> m.MemoryManyResult:
        drafts = [_draft(at, record) for at, record in enumerate(params.records)]
        memories = await service.memories()
        return _many(await memories.store(drafts))

    async def memory_lock(_: NoParams, __: Call) -> m.MemoryStatusResult:
        await service.lock()
        return await _status()

    async def memory_unlock(params: m.MemoryUnlockParams, _: Call) -> m.MemoryStatusResult:
        await service.unlock(params.passphrase, in_file=params.key_file)
        return await _status()

    async def memory_move_key(params: m.MemoryMoveKeyParams, _: Call) -> m.MemoryStatusResult:
        await service.move_key(params.passphrase, params.new_passphrase, in_file=params.key_file)
        return await _status()

    async def memory_status(_: NoParams, __: Call) -> m.MemoryStatusResult:
        return await _status()

    async def _status() -> m.MemoryStatusResult:
        problem = await service.keyring_problem()
        state = await service.state()
        return copied(
            m.MemoryStatusResult,
            state,
            unlocked=state.is_unlocked,
            opens_by_itself=not service.is_locked_by_hand
            and (state.key in ("keyring", "file") or (state.key is None and problem is None)),
            keyring_problem=problem,
            namespaces=list(state.namespaces),
        )

    return named(
        *(memory_store, memory_search, memory_deep_search, memory_retrieve, memory_history, memory_update),
        *(memory_forget, memory_list, memory_publish, memory_import),
        *(memory_lock, memory_unlock, memory_move_key, memory_status),
    )


def _found(recalled: Recalled, hits: Sequence[RecalledMemory], depth: Depth) -> m.MemorySearchResult:
    topics = Counter(topic for hit in hits for topic in hit.memory.topics)
    return m.MemorySearchResult(
        results=[_hit(hit, rank, depth) for rank, hit in enumerate(hits)],
        counts=_counts(recalled, len(hits)),
        topics=dict(topics.most_common()),
        notes=recalled.notes,
    )


def _counts(recalled: Recalled, returned: int) -> str:
    """Return the numbers as a sentence.

    >>> _counts(Recalled(hits=[], found=81, ranked=64, reranked=64, notes=[]), 32)
    'Reranked 64 of 81, returned 32'
    """
    if recalled.reranked:
        return f"Reranked {recalled.reranked:,} of {recalled.found:,}, returned {returned:,}"
    return f"Ranked {recalled.ranked:,} of {recalled.found:,} without a reranker, returned {returned:,}"


def _hit(hit: RecalledMemory, rank: int, depth: Depth) -> m.MemoryFound:
    memory = hit.memory
    text, is_complete = preview(memory.text, hit.score, rank, depth.whole)
    return m.MemoryFound(
        id=memory.name,
        text=text,
        vector=None if hit.cosine is None else round(hit.cosine, 3),
        rerank=round(hit.score, 3),
        type=memory.type,
        time=iso(memory.updated_ms / 1000),
        topics=memory.topics,
        complete=is_complete,
        folded=[other.name for other in hit.folded] or UNSET,
        namespace=UNSET if memory.namespace == PERSONAL else memory.namespace,
        suggested=list(memory.suggested) or UNSET,
        superseded_by=memory.superseded_by or UNSET,
        validity=UNSET if hit.validity == "holds" else hit.validity,
        **{name: UNSET if time is None else time for name, time in _shown_times(memory).items()},
    )


def _records(memories: Memories, listed: Sequence[Memory], *, whole: bool = True) -> list[m.MemoryRecord]:
    older = memories.superseded([memory.name for memory in listed])
    return [_record(each, older[each.name], *((each.text, True) if whole else preview(each.text))) for each in listed]


def _record(memory: Memory, older: list[str], text: str, is_complete: bool) -> m.MemoryRecord:
    return copied(
        m.MemoryRecord,
        memory,
        id=memory.name,
        text=text,
        created=_iso_ms(memory.created_ms),
        updated=_iso_ms(memory.updated_ms),
        complete=is_complete,
        suggested=list(memory.suggested),
        supersedes=older,
        **_shown_times(memory),
    )


def _shown_times(memory: Memory) -> dict[str, str | None]:
    """Return the times of a memory by the names of their fields."""
    when_ms, valid_from_ms, valid_until_ms = memory.times
    known = {"when": when_ms, "valid_from": valid_from_ms, "valid_until": valid_until_ms}
    known["superseded_at"] = memory.superseded_ms
    return {name: None if time is None else _iso_ms(time) for name, time in known.items()}


def _stored(stored: StoredDraft, proposals: Sequence[tuple[Memory, str]] = ()) -> m.MemoryStoreResult:
    shown = [
        m.MemoryProposal(id=memory.name, text=preview(memory.text)[0], reason=reason, time=_iso_ms(memory.happened_ms))
        for memory, reason in proposals
    ]
    return m.MemoryStoreResult(id=stored.memory.name, existed=stored.existed, proposals=shown)


def _many(stored: Sequence[StoredDraft]) -> m.MemoryManyResult:
    return m.MemoryManyResult(memories=[_stored(each) for each in stored])


def _draft(at: int, record: m.NewMemory) -> MemoryDraft:
    created_ms = _milliseconds(f"records[{at}].created", record.created)
    updated_ms = _milliseconds(f"records[{at}].updated", record.updated) or created_ms
    return MemoryDraft(
        record.text,
        record.type,
        record.topics,
        record.namespace,
        created_ms or updated_ms,
        updated_ms,
        Times(**_times(record, f"records[{at}].")),
        suggested=record.suggested,
    )


def _iso_ms(milliseconds: int) -> str:
    """Return a time as ISO 8601 in UTC, to the millisecond, so that an import restores it exactly.

    >>> _iso_ms(1_763_728_496_042)
    '2025-11-21T12:34:56.042Z'
    """
    seconds, rest = divmod(milliseconds, 1000)
    moment = _EPOCH + timedelta(seconds=seconds, milliseconds=rest)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _times(given: m.MemoryStoreParams | m.MemoryUpdateParams | m.NewMemory, within: str = "") -> dict[str, int | None]:
    """Return the given times by their names in `Times`; None for "". Raises InvalidParams."""
    texts = {"when": given.when, "valid_from": given.valid_from, "valid_until": given.valid_until}
    return {
        f"{name}_ms": _time_ms(name, text, within) if text else None for name, text in texts.items() if text is not None
    }


def _time_ms(name: str, text: str, within: str) -> int:
    if name == "when":
        return _parsed(within + name, text)
    span = _span(within + name, text)
    return span.first_ms if name == "valid_from" else span.last_ms


def _span(name: str, text: str) -> TimeSpan:
    """Return the span of a year, a month, a day, a moment or an age. Raises InvalidParams."""
    try:
        first, last = period(text.strip(), datetime.now(UTC))
    except InvalidParams:
        raise InvalidParams(
            f"parameter '{name}': {text[:40]!r} is not a time: use a year, a month or a day (2026, 2026-02, "
            "2026-02-14), an ISO 8601 time, or an age like 7d"
        ) from None
    return TimeSpan(
        _known(name, text, round(first * 1e6) // 1000), _known(name, text, min(round(last * 1e6) // 1000, _LAST_MS))
    )


def _milliseconds(name: str, time: str | None) -> int:
    """Return a time of storage in milliseconds since 1970; 0 for None. Raises InvalidParams."""
    milliseconds = 0 if time is None else _parsed(name, time)
    if time is not None and milliseconds <= 0:
        raise InvalidParams(f"parameter '{name}': {time[:40]!r} is before 1970")
    return milliseconds


def _parsed(name: str, time: str) -> int:
    try:
        moment = datetime.fromisoformat(time)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except ValueError:
        raise InvalidParams(f"parameter '{name}': {time[:40]!r} is not an ISO 8601 date or time") from None
    return _known(name, time, round((moment - _EPOCH) / timedelta(milliseconds=1)))


def _known(name: str, time: str, milliseconds: int) -> int:
    """Return the time. Raises InvalidParams if it is in the year 0 or 10000 in UTC, which cannot be shown."""
    if not _FIRST_MS <= milliseconds <= _LAST_MS:
        raise InvalidParams(f"parameter '{name}': {time[:40]!r} is not in the years 1 to 9999 in UTC")
    return milliseconds
