"""Store, change and read memories: keeps the database and the resident data equal, and encrypts on the way.

Exists while the memories are unlocked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import accumulate
from typing import Protocol, TypeVar

from gnod.errors import InvalidName, MemoryDamaged, MemoryLocked, MemoryNotFound, StorageFailed
from gnod.memory import records
from gnod.memory.keywords import folded
from gnod.memory.records import PERSONAL, Body, Memory
from gnod.memory.resident import OwnedVector, Resident
from gnod.memory.sealing import Sealer
from gnod.memory.transactions import Draft, Embedded, Stored, Transactions, Written, memory_of
from gnod.memory_types import checked_type
from gnod.store import memories as table
from gnod.store.database import Connection, Database
from gnod.store.memories import Row

MAX_NAMESPACE_CHARACTERS = 64
# Small batches: a search may have to wait for one.
_EMBEDDED_AT_A_TIME = 8
_CHARACTERS_AT_A_TIME = 16_000

T = TypeVar("T")


class EmbedTexts(Protocol):
    """Embeds with the model at that address; None: the model is missing or fails. `waits`: a request waits for it."""

    def __call__(self, uri: str, texts: Sequence[str], /, *, waits: bool) -> Awaitable[Embedded | None]: ...


class Memories:
    """Call `load` first. `embed_missing` embeds what was stored while there was no model.

    A write completes even if its request is cancelled: the resident data must follow the database.
    """

    def __init__(self, sealer: Sealer, database: Database, embed: EmbedTexts) -> None:
        self.resident = Resident()
        self.sealer = sealer
        # The ids of memories that cannot be decrypted.
        self.damaged: set[int] = set()
        # The model whose vectors are resident.
        self.model_uri: str | None = None
        self._database = database
        self._transactions = Transactions(sealer)
        self._embed_texts = embed
        self._namespaces: dict[int, str] = {}
        self._writing = asyncio.Lock()
        self._is_closed = False
        self._tasks: set[asyncio.Task[object]] = set()

    async def load(self, model_uri: str | None) -> None:
        """Read the resident data from the database, with the vectors of that model."""
        self.model_uri = model_uri
        await self._database.read(self._load)

    async def load_vectors(self, model_uri: str | None) -> None:
        """Replace the resident vectors by those of another model."""
        async with self._changing():
            self.model_uri = model_uri
            await self._database.read(self._load_vectors)

    async def close(self) -> None:
        """Complete what is being written; after that, every change raises MemoryLocked."""
        async with self._writing:
            self._is_closed = True
        while self._tasks:
            await asyncio.wait(self._tasks)

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces, the personal one first."""
        return [PERSONAL, *sorted(name for name in self._namespaces.values() if name != PERSONAL)]

    def namespace_ids(self, names: Sequence[str]) -> set[int] | None:
        """Return the ids of namespaces; None: all. Raises MemoryNotFound for one that does not exist."""
        if not names:
            return None
        folded_names = [folded(name) for name in names]
        if unknown := next((name for name in folded_names if name not in self.namespaces()), None):
            raise MemoryNotFound(f"there is no namespace {unknown!r}; there are: {', '.join(self.namespaces())}")
        return {id_ for id_, name in self._namespaces.items() if name in folded_names}

    def has_shared(self, ids: Collection[int] | None) -> bool:
        return len(self._namespaces if ids is None else ids) > 1

    async def store(self, drafts: Sequence[Draft]) -> list[Stored]:
        """Store memories, all or none. They can be found at once. Raises LimitExceeded, InvalidName."""
        ready = [checked(draft) for draft in drafts]
        vectors = await self._embed([body.text for _, body in ready], waits=len(ready) <= _EMBEDDED_AT_A_TIME)
        return await self._complete(self._store_all(ready, vectors))

    async def update(
        self, name: str, *, text: str | None = None, type_: str | None = None, topics: Sequence[str] | None = None
    ) -> Memory:
        """Change what is given and keep the rest. Raises MemoryNotFound, MemoryExists, LimitExceeded, InvalidName."""
        return await self._complete(self._update_one(name, text, type_, topics))

    async def retrieve(self, names: Sequence[str]) -> list[Memory]:
        """Return memories in the order of `names`. Raises MemoryNotFound and MemoryDamaged, which list the names."""
        ids = self._ids(names)
        opened = await self.open_all(ids)
        if damaged := [name for name, id_ in zip(names, ids, strict=True) if id_ in self.damaged]:
            raise MemoryDamaged(_damage(damaged), {"damaged": damaged})
        self._ids(names)  # one may have been removed meanwhile
        return [opened[id_] for id_ in ids]

    async def forget(self, names: Sequence[str]) -> None:
        """Remove and overwrite memories, also damaged ones, all or none. Raises MemoryNotFound."""
        await self._complete(self._forget_all(names))

    async def publish(self, names: Sequence[str], namespace: str) -> list[Stored]:
        """Copy memories into another namespace, which need not exist. Raises MemoryNotFound, InvalidName."""
        memories = await self.retrieve(names)
        return await self.store([Draft(m.text, m.type, m.topics, namespace, m.created_ms) for m in memories])

    async def open_all(self, ids: Collection[int]) -> Mapping[int, Memory]:
        """Return the memories that exist and can be decrypted; the others are `damaged`."""
        rows = self.resident.of(ids)

        def work(connection: Connection) -> tuple[dict[int, Memory], list[int]]:
            opened, failed = {}, []
            for id_, sealed in table.bodies(connection, rows).items():
                try:
                    opened[id_] = self._opened(rows[id_], sealed)
                except MemoryDamaged:
                    failed.append(id_)
            return opened, failed

        opened, failed = await self._database.read(work)
        self.damaged.difference_update(opened)
        self.damaged.update(failed)
        return opened

    def damage_note(self, ids: Collection[int]) -> str | None:
        """Return a sentence about those of the ids that are damaged; None: none are."""
        names = [row.name for row in self.resident.of(self.damaged & set(ids)).values()]
        return _damage(names) if names else None

    async def embed_missing(self) -> int:
        """Embed what has no vectors, a few at a time, the latest first. Returns how many are left without a model."""
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
            await self._complete(self._put_missing(chosen, vectors))
        return 0

    async def _store_all(self, ready: Sequence[tuple[Draft, Body]], vectors: Embedded | None) -> list[Stored]:
        async with self._changing():
            if vectors is not None and vectors.uri != self.model_uri:  # the model has changed meanwhile
                vectors = await self._embed([body.text for _, body in ready])
            written = await self._database.write(partial(self._transactions.store, ready, vectors))
            self._follow(written)
        return [each.stored for each in written]

    async def _update_one(self, name: str, text: str | None, type_: str | None, topics: Sequence[str] | None) -> Memory:
        async with self._changing():
            before = (await self.retrieve([name]))[0]
            body = records.checked(before.text if text is None else text, before.topics if topics is None else topics)
            type_ = before.type if type_ is None else checked_type(type_)
            is_changed = body.text != before.text
            vectors = await self._embed([body.text]) if is_changed else None
            written = await self._database.write(
                partial(self._transactions.update, before, body, type_, vectors, is_changed)
            )
            self._follow([written])
            await self._overwrite()
        return written.stored.memory

    async def _forget_all(self, names: Sequence[str]) -> None:
        async with self._changing():
            ids = self._ids(names)
            await self._database.write(partial(table.delete, ids=ids))
            self.resident.remove(ids)
            self.damaged.difference_update(ids)
            await self._overwrite()

    async def _put_missing(self, memories: Sequence[Memory], vectors: Embedded) -> None:
        async with self._changing():
            rows = self.resident.of([memory.id for memory in memories])
            # Meanwhile the model or a text may have changed.
            at = [n for n, memory in enumerate(memories) if self._is_still(memory, rows.get(memory.id))]
            if vectors.uri != self.model_uri:
                return
            same = [memories[n] for n in at]
            of_same = Embedded(vectors.uri, [vectors.vectors[n] for n in at])
            found = await self._database.write(partial(self._transactions.put_vectors, same, of_same))
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

    async def _complete(self, work: Coroutine[object, object, T]) -> T:
        """Run `work` to the end even if the request is cancelled."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _overwrite(self) -> None:
        """Remove deleted data from the write-ahead log, now or the next time."""
        with suppress(StorageFailed):
            await self._database.maintain(table.empty_log)

    async def _embed(self, texts: Sequence[str], *, waits: bool = True) -> Embedded | None:
        return await self._embed_texts(self.model_uri, texts, waits=waits) if self.model_uri else None

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
            # A damaged vector is ignored; `embed_missing` replaces it.
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
    return draft._replace(type=checked_type(draft.type), namespace=namespace), body


def _readable_at_once(memories: Sequence[Memory]) -> list[Memory]:
    """Return the first memories, at least one, and at most as many as a model reads quickly."""
    characters = list(accumulate(len(memory.text) for memory in memories))
    return [memory for n, memory in enumerate(memories) if n == 0 or characters[n] <= _CHARACTERS_AT_A_TIME]


def _damage(names: Sequence[str]) -> str:
    more = "…" if len(names) > 5 else ""
    what = f"memory {names[0]} is" if len(names) == 1 else f"{len(names)} memories ({', '.join(names[:5])}{more}) are"
    return f"{what} damaged on the disk and cannot be read: `gnoctl restore --memories` restores a backup"
