"""Storing, changing and reading memories: keeps the database and what is resident in step, and seals on the way.

Made when the memories are unlocked, dropped when they are locked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import accumulate
from typing import NamedTuple, Protocol, TypeVar

from gnod.errors import InvalidName, MemoryDamaged, MemoryLocked, MemoryNotFound, StorageFailed
from gnod.memory import kinds, records
from gnod.memory.keywords import folded
from gnod.memory.records import PERSONAL, Body, Memory
from gnod.memory.resident import OwnedVector, Resident
from gnod.memory.sealing import Sealer
from gnod.memory.transactions import Draft, Embedded, Stored, Transactions, Written, memory_of
from gnod.store import memories as table
from gnod.store.database import Connection, Read
from gnod.store.memories import Row

MAX_NAMESPACE_CHARACTERS = 64
# Queries wait for a batch at most.
_EMBEDDED_AT_A_TIME = 8
_CHARACTERS_AT_A_TIME = 16_000

T = TypeVar("T")


class EmbedTexts(Protocol):
    """Embeds with the model at that address; None: it cannot be asked now. `waits`: whether somebody waits for it."""

    def __call__(self, uri: str, texts: Sequence[str], /, *, waits: bool) -> Awaitable[Embedded | None]: ...


class Storage(NamedTuple):
    """The database for coroutines. `maintain` runs outside any transaction."""

    read: Read
    write: Read
    maintain: Read


class Memories:
    """`load` before anything else. What was stored while no model could be asked, `embed_missing` embeds later.

    A write goes on when the request that asked for it is cancelled: what is resident must follow the database.
    """

    def __init__(self, sealer: Sealer, storage: Storage, embed: EmbedTexts) -> None:
        self.resident = Resident()
        self.sealer = sealer
        # The ids of memories that were found not to open.
        self.damaged: set[int] = set()
        # Of the model whose vectors are resident.
        self.model_uri: str | None = None
        self._storage = storage
        self._transactions = Transactions(sealer)
        self._ask = embed
        self._namespaces: dict[int, str] = {}
        self._writing = asyncio.Lock()
        self._is_closed = False
        self._tasks: set[asyncio.Task[object]] = set()

    async def load(self, model_uri: str | None) -> None:
        """Take what is resident from the database, with the vectors of that model."""
        self.model_uri = model_uri
        await self._storage.read(self._load)

    async def load_vectors(self, model_uri: str | None) -> None:
        """Let another model's vectors be resident."""
        async with self._changing():
            self.model_uri = model_uri
            await self._storage.read(self._load_vectors)

    async def close(self) -> None:
        """Finish what is being written; from then on every change raises MemoryLocked."""
        async with self._writing:
            self._is_closed = True
        while self._tasks:
            await asyncio.wait(self._tasks)

    def namespaces(self) -> list[str]:
        """Return the names of those that exist, the personal one first."""
        return [PERSONAL, *sorted(name for name in self._namespaces.values() if name != PERSONAL)]

    def namespace_ids(self, names: Sequence[str]) -> set[int] | None:
        """Return which namespaces those are; None: all. Raises MemoryNotFound for one that does not exist."""
        if not names:
            return None
        wanted = [folded(name) for name in names]
        if unknown := next((name for name in wanted if name not in self.namespaces()), None):
            raise MemoryNotFound(f"there is no namespace {unknown!r}; there are: {', '.join(self.namespaces())}")
        return {id_ for id_, name in self._namespaces.items() if name in wanted}

    def has_shared(self, ids: Collection[int] | None) -> bool:
        return len(self._namespaces if ids is None else ids) > 1

    async def store(self, drafts: Sequence[Draft]) -> list[Stored]:
        """Store memories, all or none; each is found from then on. Raises LimitExceeded, InvalidName."""
        ready = [checked(draft) for draft in drafts]
        vectors = await self._embed([body.text for _, body in ready], waits=len(ready) <= _EMBEDDED_AT_A_TIME)
        return await self._to_the_end(self._store_all(ready, vectors))

    async def update(
        self, name: str, *, text: str | None = None, kind: str | None = None, topics: Sequence[str] | None = None
    ) -> Memory:
        """Change what is given and keep the rest. Raises MemoryNotFound, MemoryExists, LimitExceeded, InvalidName."""
        return await self._to_the_end(self._update_one(name, text, kind, topics))

    async def retrieve(self, names: Sequence[str]) -> list[Memory]:
        """Return memories whole, in the order asked for. Raises MemoryNotFound and MemoryDamaged, which name those."""
        ids = self._ids(names)
        opened = await self.open_all(ids)
        if damaged := [name for name, id_ in zip(names, ids, strict=True) if id_ in self.damaged]:
            raise MemoryDamaged(_damage(damaged), {"damaged": damaged})
        self._ids(names)  # one may have gone in this moment
        return [opened[id_] for id_ in ids]

    async def forget(self, names: Sequence[str]) -> None:
        """Remove memories, damaged ones too, all or none, and overwrite them. Raises MemoryNotFound."""
        await self._to_the_end(self._forget_all(names))

    async def publish(self, names: Sequence[str], namespace: str) -> list[Stored]:
        """Copy memories into another namespace, which need not exist. Raises MemoryNotFound, InvalidName."""
        memories = await self.retrieve(names)
        return await self.store([Draft(m.text, m.kind, m.topics, namespace, m.created_ms) for m in memories])

    async def open_all(self, ids: Collection[int]) -> Mapping[int, Memory]:
        """Return memories in clear, of the ids that exist and open. Those that do not open are `damaged` from then
        on."""
        rows = self.resident.of(ids)

        def work(connection: Connection) -> tuple[dict[int, Memory], list[int]]:
            opened, failed = {}, []
            for id_, sealed in table.bodies(connection, rows).items():
                try:
                    opened[id_] = self._opened(rows[id_], sealed)
                except MemoryDamaged:
                    failed.append(id_)
            return opened, failed

        opened, failed = await self._storage.read(work)
        self.damaged.difference_update(opened)
        self.damaged.update(failed)
        return opened

    def damage_note(self, ids: Collection[int]) -> str | None:
        """Return what is to be said of those among the ids that do not open."""
        names = [row.name for row in self.resident.of(self.damaged & set(ids)).values()]
        return _damage(names) if names else None

    async def embed_missing(self) -> int:
        """Embed what has no vectors, a few at a time, the latest first. Returns how many are left because no model can
        be asked."""
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
            await self._to_the_end(self._put_missing(chosen, vectors))
        return 0

    async def _store_all(self, ready: Sequence[tuple[Draft, Body]], vectors: Embedded | None) -> list[Stored]:
        async with self._changing():
            if vectors is not None and vectors.uri != self.model_uri:  # another model is wanted since
                vectors = await self._embed([body.text for _, body in ready])
            written = await self._storage.write(partial(self._transactions.store, ready, vectors))
            self._follow(written)
        return [each.stored for each in written]

    async def _update_one(self, name: str, text: str | None, kind: str | None, topics: Sequence[str] | None) -> Memory:
        async with self._changing():
            before = (await self.retrieve([name]))[0]
            body = records.checked(before.text if text is None else text, before.topics if topics is None else topics)
            kind = before.kind if kind is None else kinds.checked(kind)
            is_changed = body.text != before.text
            vectors = await self._embed([body.text]) if is_changed else None
            written = await self._storage.write(
                partial(self._transactions.update, before, body, kind, vectors, is_changed)
            )
            self._follow([written])
            await self._overwrite()
        return written.stored.memory

    async def _forget_all(self, names: Sequence[str]) -> None:
        async with self._changing():
            ids = self._ids(names)
            await self._storage.write(partial(table.delete, ids=ids))
            self.resident.remove(ids)
            self.damaged.difference_update(ids)
            await self._overwrite()

    async def _put_missing(self, memories: Sequence[Memory], vectors: Embedded) -> None:
        async with self._changing():
            rows = self.resident.of([memory.id for memory in memories])
            # Since they were read: another model, a new text.
            at = [n for n, memory in enumerate(memories) if self._is_still(memory, rows.get(memory.id))]
            if vectors.uri != self.model_uri:
                return
            same = [memories[n] for n in at]
            of_same = Embedded(vectors.uri, [vectors.vectors[n] for n in at])
            found = await self._storage.write(partial(self._transactions.put_vectors, same, of_same))
            self.resident.put_vectors([memory.id for memory in same], found)

    def _is_still(self, memory: Memory, row: Row | None) -> bool:
        body = Body(text=memory.text, topics=memory.topics)
        return row is not None and row.fingerprint == records.fingerprint(self.sealer, body)

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        async with self._writing:
            if self._is_closed:
                raise MemoryLocked("the memories are locked: `gnoctl memory unlock`")
            yield

    async def _to_the_end(self, work: Coroutine[object, object, T]) -> T:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _overwrite(self) -> None:
        """Let nothing be left of what was deleted. The log that could not be emptied now is emptied the next time."""
        with suppress(StorageFailed):
            await self._storage.maintain(table.empty_log)

    async def _embed(self, texts: Sequence[str], *, waits: bool = True) -> Embedded | None:
        return await self._ask(self.model_uri, texts, waits=waits) if self.model_uri else None

    def _ids(self, names: Sequence[str]) -> list[int]:
        rows = [self.resident.row(name) for name in names]
        missing = [name for name, row in zip(names, rows, strict=True) if row is None]
        if missing:
            raise MemoryNotFound(f"there is no memory {', '.join(missing)}", {"missing": missing})
        return [row.id for row in rows if row]

    def _follow(self, written: Sequence[Written]) -> None:
        for each in written:
            self.resident.put(each.row, each.topics)
            self.damaged.discard(each.row.id)
            self._namespaces[each.row.namespace_id] = each.stored.memory.namespace
            if each.vectors is not None:
                self.resident.put_vectors([each.row.id], each.vectors)

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
            # A damaged one is as good as none: it is made anew.
            with suppress(MemoryDamaged, KeyError):
                found.append(OwnedVector(id_, memory_id, records.open_vector(self.sealer, names[memory_id], sealed)))
        self.resident.replace_vectors(found)

    def _opened(self, row: Row, sealed: bytes) -> Memory:
        return memory_of(row, self._namespaces[row.namespace_id], records.open_body(self.sealer, row.name, sealed))


def checked(draft: Draft) -> tuple[Draft, Body]:
    namespace = folded(records.check_unicode(draft.namespace, "the name of a namespace")) or PERSONAL
    if len(namespace) > MAX_NAMESPACE_CHARACTERS:
        raise InvalidName(f"the name of a namespace has at most {MAX_NAMESPACE_CHARACTERS} characters")
    body = records.checked(draft.text, draft.topics)
    return draft._replace(kind=kinds.checked(draft.kind), namespace=namespace), body


def _readable_at_once(memories: Sequence[Memory]) -> list[Memory]:
    """Return the first of them, as many as a model reads in a moment, one at least."""
    characters = list(accumulate(len(memory.text) for memory in memories))
    return [memory for n, memory in enumerate(memories) if n == 0 or characters[n] <= _CHARACTERS_AT_A_TIME]


def _damage(names: Sequence[str]) -> str:
    more = "…" if len(names) > 5 else ""
    what = f"memory {names[0]} is" if len(names) == 1 else f"{len(names)} memories ({', '.join(names[:5])}{more}) are"
    return f"{what} damaged on the disk and cannot be read; `gnoctl restore --memories` brings back a backup"
