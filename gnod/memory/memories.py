"""Store, change and read memories: keep the database and the resident data equal, and encrypt on the way.

`Memories` exists while they are unlocked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial, wraps
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar, cast

from gnod.errors import InvalidName, InvalidParams, MemoryDamaged, MemoryLocked, MemoryNotFound, StorageFailed
from gnod.memory import records, superseding
from gnod.memory.key.sealing import Sealer
from gnod.memory.recalling.keyword_index import KeywordIndex
from gnod.memory.recalling.keywords import folded, topic_words
from gnod.memory.records import PERSONAL, Body, Memory, Times
from gnod.memory.resident import OwnedVector, Resident
from gnod.memory.suggestions import suggest
from gnod.memory.transactions import (
    EmbeddedTexts,
    MemoryChange,
    MemoryDraft,
    StoredDraft,
    Transactions,
    WrittenMemories,
    memory_of,
)
from gnod.memory.validity_in_text import times_in
from gnod.memory_types import checked_type, is_done
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.memory import memories as table
from gnod.store.memory import memory_schema
from gnod.store.memory.memories import MemoryRow, StoredBody

MAX_NAMESPACE_CHARACTERS = 64
# Batches are small because a search may have to wait for one.
_EMBEDDED_AT_A_TIME = 8
_CHARACTERS_AT_A_TIME = 16_000
# Compare a new memory with this many of the nearest ones, and this many with the same topics.
_COMPARED = 24
_PROPOSED_AT_MOST = 3
# A word is no longer suggested as a topic when this many memories, and at least one in fifty, have it.
_RARE_AT_MOST = 4
_INDEXED_AT_A_TIME = 100
_READERS = 2

M = TypeVar("M", bound=Callable[..., Coroutine[Any, Any, Any]])


def open_database(path: Path) -> Database:
    """Open or create the database of the memories. Raises as `Database` does. A damaged file is kept: it cannot be
    rebuilt."""
    return Database(path, schema=memory_schema.SCHEMA, readers=_READERS, use_knn=False)


EmbedTexts = Callable[[str, Sequence[str], bool], Awaitable[EmbeddedTexts | None]]
"""Embeds texts with the model at that address; returns None if the model is missing or fails. The last argument:
whether a request waits for the result."""


def unbroken(method: M) -> M:
    """Make a method run to its end even if the request that calls it is cancelled. Its object must have a set
    `_tasks`."""

    @wraps(method)
    async def run(self: Any, *given: Any, **named: Any) -> Any:
        task = asyncio.create_task(method(self, *given, **named))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    return cast("M", run)


class Memories:
    """Call `load` first. `embed_missing` embeds the memories that were stored without a model.

    A write completes even if its request is cancelled: the resident data must follow the database.
    """

    def __init__(self, sealer: Sealer, database: Database, embed: EmbedTexts) -> None:
        self.resident = Resident()
        self.index = KeywordIndex()
        self.sealer = sealer
        # The ids of memories that cannot be decrypted
        self.damaged: set[int] = set()
        # The address of the model whose vectors are resident.
        self.model_uri: str | None = None
        self._database = database
        self._transactions = Transactions(sealer)
        self._embed_texts = embed
        self._namespaces: dict[int, str] = {}
        self._writing = asyncio.Lock()
        self._is_closed = False
        self._tasks: set[asyncio.Task[Any]] = set()

    async def load(self, model_uri: str | None) -> None:
        """Read the resident data from the database, with the vectors of that model."""
        self.model_uri = model_uri
        await self._database.read(self._load)

    async def load_vectors(self, model_uri: str | None) -> None:
        """Replace the resident vectors with those of another model."""
        async with self._changing():
            self.model_uri = model_uri
            await self._database.read(self._load_vectors)

    async def close(self) -> None:
        """Complete the writes in progress; after that, every change raises MemoryLocked."""
        async with self._writing:
            self._is_closed = True
        while self._tasks:
            await asyncio.wait(self._tasks)
        self.index.wipe()

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces, the personal one first."""
        return [PERSONAL, *sorted(name for name in self._namespaces.values() if name != PERSONAL)]

    def namespace_ids(self, names: Sequence[str]) -> set[int] | None:
        """Return the ids of namespaces; None if `names` is empty, for all of them. Raises MemoryNotFound for a
        namespace that does not exist."""
        if not names:
            return None
        folded_names = [folded(name) for name in names]
        if unknown := next((name for name in folded_names if name not in self.namespaces()), None):
            raise MemoryNotFound(f"there is no namespace {unknown!r}; there are: {', '.join(self.namespaces())}")
        return {id_ for id_, name in self._namespaces.items() if name in folded_names}

    async def store(self, drafts: Sequence[MemoryDraft]) -> list[StoredDraft]:
        """Store memories, all or none. Searches find them at once. Raises LimitExceeded, InvalidName, and
        MemoryNotFound for a memory to supersede."""
        ready = await asyncio.to_thread(lambda: [self._with_suggestions(*checked(draft)) for draft in drafts])
        vectors = await self._embed([body.text for _, body in ready], waits=len(ready) <= _EMBEDDED_AT_A_TIME)
        return await self._store_all(ready, vectors)

    async def proposals(self, memory: Memory) -> list[tuple[Memory, str]]:
        """Return the older memories of the same namespace that this one may supersede because it states another value,
        each with the reason; the nearest first."""
        if is_done(memory.type):
            return []
        rows = self.resident.of(await asyncio.to_thread(self._nearest_to, memory))
        opened = await self.open_all([id_ for id_, row in rows.items() if not is_done(row.type)])
        older = [opened[id_] for id_ in rows if id_ in opened and opened[id_].happened_ms <= memory.happened_ms]
        older = [candidate for candidate in older if candidate.id != memory.id]
        differences = await asyncio.to_thread(
            lambda: [superseding.difference(candidate.text, memory.text) for candidate in older]
        )
        found = [(candidate, how.sentence()) for candidate, how in zip(older, differences, strict=True) if how]
        return found[:_PROPOSED_AT_MOST]

    def _nearest_to(self, memory: Memory) -> list[int]:
        """Return the ids of the memories nearest in meaning, then of those that share topics."""
        row = self.resident.of([memory.id]).get(memory.id)
        if row is None:  # it was removed meanwhile
            return []
        words = dict.fromkeys(word for topic in [*memory.topics, *memory.suggested] for word in topic_words(topic))
        lookups = [self.sealer.lookup(subject, word) for word in words for subject in ("topic", "suggested")]
        nearest = [
            id_
            for vector in self.resident.vectors_of(memory.id)
            for id_ in self.resident.nearest(vector, _COMPARED, {row.namespace_id})
        ]
        return list(dict.fromkeys([*nearest, *self.resident.topical(lookups, _COMPARED, {row.namespace_id})]))

    async def update(self, name: str, change: MemoryChange) -> Memory:
        """Change the given fields and keep the rest. Raises MemoryNotFound, MemoryExists, LimitExceeded, InvalidName,
        and InvalidParams for a topic to remove that the memory does not have."""
        await self._update_one(name, change)
        (memory,) = await self.retrieve([name])
        return memory

    async def retrieve(self, names: Sequence[str]) -> list[Memory]:
        """Return memories in the order of `names`. Raises MemoryNotFound and MemoryDamaged, both with the names."""
        ids = self._ids(names)
        opened = await self.open_all(ids)
        if damaged := [name for name, id_ in zip(names, ids, strict=True) if id_ in self.damaged]:
            raise MemoryDamaged(_damage(damaged), {"damaged": damaged})
        self._ids(names)  # one may have been removed meanwhile
        return [opened[id_] for id_ in ids]

    @unbroken
    async def forget(self, names: Sequence[str]) -> None:
        """Remove and overwrite memories, including damaged ones, all or none. Raises MemoryNotFound."""
        async with self._changing():
            ids = self._ids(names)
            relinked = await self._database.write(partial(table.delete, ids=ids))
            self.resident.remove(ids)
            self.index.remove(ids)
            for row in relinked:
                self.resident.change(row)
            self.damaged.difference_update(ids)
            await self._overwrite()

    async def publish(self, names: Sequence[str], namespace: str) -> list[StoredDraft]:
        """Copy memories into another namespace. Creates it if it does not exist. Raises MemoryNotFound, InvalidName."""
        memories = await self.retrieve(list(dict.fromkeys(names)))
        stored = await self.store(
            [
                MemoryDraft(m.text, m.type, m.topics, namespace, m.created_ms, times=m.times, suggested=m.suggested)
                for m in memories
            ]
        )
        copies = {memory.name: copy for memory, copy in zip(memories, stored, strict=True)}
        for memory in memories:
            if newer := copies.get(memory.superseded_by or ""):
                await self.update(newer.memory.name, MemoryChange(supersedes=[copies[memory.name].memory.name]))
        return [copies[name] for name in names]

    def superseded(self, names: Collection[str]) -> dict[str, list[str]]:
        """Return the names of the memories that each of these supersedes, the latest first."""
        found: dict[str, list[str]] = {name: [] for name in names}
        for row in reversed(self.resident.rows()):
            if row.superseded_by in found:
                found[row.superseded_by].append(row.name)
        return found

    async def history(self, name: str) -> list[Memory]:
        """Return the memories that supersede this one and the memories that those supersede, the current one first.
        Raises MemoryNotFound, and MemoryDamaged if one cannot be decrypted."""
        (id_,) = self._ids([name])
        newest = self.resident.of([id_])[id_]
        while newest.superseded_by and (newer := self.resident.row(newest.superseded_by)):
            newest = newer
        chain, older = [newest.name], [newest.name]
        while older := [name for names in self.superseded(older).values() for name in names]:
            chain += older
        return await self.retrieve(chain)

    async def open_all(self, ids: Collection[int]) -> Mapping[int, Memory]:
        """Return the memories that exist and can be decrypted. Adds the ids of those that cannot to `damaged`."""
        rows = self.resident.of(ids)

        def work(connection: Connection) -> tuple[dict[int, Memory], list[int]]:
            opened, failed = {}, []
            for id_, stored in table.bodies(connection, rows).items():
                try:
                    opened[id_] = self._opened(rows[id_], stored)
                except MemoryDamaged:
                    failed.append(id_)
            return opened, failed

        opened, failed = await self._database.read(work)
        self.damaged.difference_update(opened)
        self.damaged.update(failed)
        return opened

    def damage_note(self, ids: Collection[int]) -> str | None:
        """Return a sentence that names the damaged memories among the ids; None if none is damaged."""
        names = [row.name for row in self.resident.of(self.damaged & set(ids)).values()]
        return _damage(names) if names else None

    async def embed_missing(self) -> int:
        """Embed the memories without vectors, a few at a time, the latest first. Returns how many remain because the
        model is missing."""
        tried: set[int] = set()
        while missing := [id_ for id_ in self.resident.without_vectors() if id_ not in tried]:
            batch = missing[:_EMBEDDED_AT_A_TIME]
            opened = await self.open_all(batch)
            tried.update(set(batch) - set(opened))
            chosen = _readable_at_once([opened[id_] for id_ in batch if id_ in opened])
            if not chosen:
                continue
            vectors = await self._embed([memory.text for memory in chosen], waits=False)
            if vectors is None:
                return len(missing)
            tried.update(memory.id for memory in chosen)
            await self._put_missing(chosen, vectors)
        return 0

    async def index_all(self) -> None:
        """Put all memories into the keyword index, a few at a time. Start with the latest, because they are searched
        most."""
        left = [row.id for row in reversed(self.resident.rows())]
        while left:
            batch, left = left[:_INDEXED_AT_A_TIME], left[_INDEXED_AT_A_TIME:]
            async with self._changing():  # an opened memory must not change before it is indexed
                opened = await self.open_all([id_ for id_ in batch if id_ not in self.index])
                await asyncio.to_thread(self.index.put, list(opened.values()))

    @unbroken
    async def _store_all(
        self, ready: Sequence[tuple[MemoryDraft, Body]], vectors: EmbeddedTexts | None
    ) -> list[StoredDraft]:
        async with self._changing():
            if vectors is not None and vectors.uri != self.model_uri:  # the model has changed meanwhile
                vectors = await self._embed([body.text for _, body in ready])
            written = await self._database.write(partial(self._transactions.store, ready, vectors))
            self._follow(written)
            await asyncio.to_thread(self.index.put, [draft.stored.memory for draft in written])
        return [draft.stored for draft in written]

    @unbroken
    async def _update_one(self, name: str, change: MemoryChange) -> None:
        async with self._changing():
            before = (await self.retrieve([name]))[0]
            self._ids(change.supersedes)
            if change.is_of_content:
                written = await self._rewrite(before, change)
                self._follow([written])
                before = written.stored.memory
                await asyncio.to_thread(self.index.put, [before])
                await self._overwrite()
            if change.supersedes:
                written = await self._database.write(partial(self._transactions.link, before, change.supersedes))
                self._follow([written])

    async def _rewrite(self, before: Memory, change: MemoryChange) -> WrittenMemories:
        body = await asyncio.to_thread(self._changed_body, before, change)
        type_ = before.type if change.type is None else checked_type(change.type)
        is_changed = body.text != before.text
        vectors = await self._embed([body.text]) if is_changed else None
        return await self._database.write(partial(self._transactions.update, before, body, type_, vectors, is_changed))

    def _changed_body(self, before: Memory, change: MemoryChange) -> Body:
        text = before.text if change.text is None else change.text
        topics = before.topics if change.topics is None else change.topics
        suggested = list(before.suggested)
        if change.text is not None:
            # A suggested topic that the user removed must stay removed.
            removed = set(self._suggested(before.text)) - set(before.suggested)
            suggested = [topic for topic in self._suggested(change.text) if topic not in removed]
        gone = {folded(topic) for topic in change.removed_topics}
        if unknown := gone - {folded(topic) for topic in [*topics, *suggested]}:
            raise InvalidParams(f"memory {before.name} has no topic {', '.join(sorted(unknown))}")
        return records.checked(
            text,
            [topic for topic in topics if folded(topic) not in gone],
            _changed_times(before, change),
            [topic for topic in suggested if folded(topic) not in gone],
        )

    def _with_suggestions(self, draft: MemoryDraft, body: Body) -> tuple[MemoryDraft, Body]:
        if draft.suggested is not None:
            return draft, body
        times = draft.times
        if times.valid_from_ms is None and times.valid_until_ms is None:
            stored_ms = draft.created_ms or time.time_ns() // 1_000_000
            times = times_in(body.text, stored_ms if times.when_ms is None else times.when_ms).or_else(times)
        return draft, records.checked(body.text, body.topics, times, self._suggested(body.text))

    def _suggested(self, text: str) -> list[str]:
        """Return topics for a text. A topic that many memories have says little about one of them."""
        common = max(_RARE_AT_MOST, len(self.resident) // 50)

        def is_rare(word: str) -> bool:
            having = self.resident.having([self.sealer.lookup("suggested", word)])
            return having is None or len(having) < common

        return suggest(text, is_rare)

    @unbroken
    async def _put_missing(self, memories: Sequence[Memory], vectors: EmbeddedTexts) -> None:
        async with self._changing():
            rows = self.resident.of([memory.id for memory in memories])
            # The model or a text may have changed meanwhile.
            at = [n for n, memory in enumerate(memories) if self._is_still(memory, rows.get(memory.id))]
            if vectors.uri != self.model_uri:
                return
            same = [memories[n] for n in at]
            of_same = EmbeddedTexts(vectors.uri, [vectors.vectors[n] for n in at])
            found = await self._database.write(partial(self._transactions.put_vectors, same, of_same))
            self.resident.put_vectors([memory.id for memory in same], found)

    def _is_still(self, memory: Memory, row: MemoryRow | None) -> bool:
        body = Body(text=memory.text, topics=memory.topics)
        return row is not None and row.fingerprint == records.fingerprint(self.sealer, body)

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        async with self._writing:
            if self._is_closed:
                raise MemoryLocked("the memories are locked: run `gnoctl memory unlock`")
            yield

    async def _overwrite(self) -> None:
        """Remove deleted data from the write-ahead log, now or the next time."""
        with suppress(StorageFailed):
            await self._database.maintain(table.empty_log)

    async def _embed(self, texts: Sequence[str], *, waits: bool = True) -> EmbeddedTexts | None:
        return await self._embed_texts(self.model_uri, texts, waits) if self.model_uri else None

    def _ids(self, names: Sequence[str]) -> list[int]:
        rows = [self.resident.row(name) for name in names]
        missing = [name for name, row in zip(names, rows, strict=True) if row is None]
        if missing:
            raise MemoryNotFound(f"there is no memory {', '.join(missing)}", {"missing": missing})
        return [row.id for row in rows if row]

    def _follow(self, written: Sequence[WrittenMemories]) -> None:
        for each in written:
            self.resident.put(each.row, each.topics)
            self.damaged.discard(each.row.id)
            self._namespaces[each.row.namespace_id] = each.stored.memory.namespace
            if each.vectors is not None:
                self.resident.put_vectors([each.row.id], each.vectors)
            for row in each.linked:
                self.resident.change(row)

    def _load(self, connection: Connection) -> None:
        self._namespaces = {each.id: self._transactions.name_of(each) for each in table.namespaces(connection)}
        topics: dict[int, list[bytes]] = {}
        for lookup, id_ in table.topics(connection):
            topics.setdefault(id_, []).append(lookup)
        for row in table.rows(connection):
            self.resident.put(row, topics.get(row.id, []))
        self._load_vectors(connection)

    def _load_vectors(self, connection: Connection) -> None:
        names = {row.id: row.name for row in self.resident.rows()}
        found = []
        for id_, memory_id, sealed in table.vectors(connection, self.model_uri) if self.model_uri else ():
            # Ignore a damaged vector; `embed_missing` replaces it.
            with suppress(MemoryDamaged, KeyError):
                found.append(OwnedVector(id_, memory_id, records.open_vector(self.sealer, names[memory_id], sealed)))
        self.resident.replace_vectors(found)

    def _opened(self, row: MemoryRow, stored: StoredBody) -> Memory:
        body = records.open_body(self.sealer, row.name, stored.body)
        memory = memory_of(row, self._namespaces[row.namespace_id], body)
        return memory._replace(supersedes=bool(stored.has_older), superseded_ms=self._superseded_ms(stored))

    def _superseded_ms(self, stored: StoredBody) -> int | None:
        """Return the time from which the newer memory is true: the stated time, or when it happened or was stored."""
        if stored.newer_name is None or stored.newer_body is None:
            return None
        with suppress(MemoryDamaged):
            times = records.open_body(self.sealer, stored.newer_name, stored.newer_body).times
            return next((ms for ms in (times.valid_from_ms, times.when_ms) if ms is not None), stored.newer_ms)
        return stored.newer_ms


def checked(draft: MemoryDraft) -> tuple[MemoryDraft, Body]:
    namespace = folded(records.check_unicode(draft.namespace, "the name of a namespace")) or PERSONAL
    if len(namespace) > MAX_NAMESPACE_CHARACTERS:
        raise InvalidName(f"the name of a namespace has at most {MAX_NAMESPACE_CHARACTERS} characters")
    body = records.checked(draft.text, draft.topics, draft.times, draft.suggested or ())
    return draft._replace(type=checked_type(draft.type), namespace=namespace), body


def _changed_times(before: Memory, change: MemoryChange) -> Times:
    """Return the times of a changed memory. Times that were read from the old text are read again from the new one."""
    times = before.times
    if change.text is not None and times[1:] == times_in(before.text, before.happened_ms)[1:]:
        times = times_in(change.text, before.happened_ms)._replace(when_ms=times.when_ms)
    return times._replace(**change.times)


def _readable_at_once(memories: Sequence[Memory]) -> list[Memory]:
    """Return the first memories: at least one, and at most as many as a model reads quickly."""
    characters = list(accumulate(len(memory.text) for memory in memories))
    return [memory for n, memory in enumerate(memories) if n == 0 or characters[n] <= _CHARACTERS_AT_A_TIME]


def _damage(names: Sequence[str]) -> str:
    more = "…" if len(names) > 5 else ""
    what = f"memory {names[0]} is" if len(names) == 1 else f"{len(names)} memories ({', '.join(names[:5])}{more}) are"
    return f"{what} damaged on the disk and cannot be read: run `gnoctl restore --memories` to restore a backup"
