"""Storing, changing and reading memories: keeps the database and what is resident in step, and seals on the way.

Made when the memories are unlocked, dropped when they are locked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from gnod.errors import InvalidName, MemoryExists, MemoryNotFound
from gnod.memory import kinds, records
from gnod.memory.keywords import folded
from gnod.memory.records import PERSONAL, Body, Memory, Vector
from gnod.memory.resident import OwnedVector, Resident
from gnod.memory.sealing import Sealer
from gnod.store import memories as table
from gnod.store.database import Connection, Read
from gnod.store.memories import NewRow, Row

MAX_NAMESPACE_CHARACTERS = 64
# Queries wait for a batch at most.
_EMBEDDED_AT_A_TIME = 8

_NAMESPACE = b"namespace"


class Embedded(NamedTuple):
    """The vectors of the pieces of each text, and the address of the model that made them."""

    uri: str
    vectors: Sequence[Sequence[Vector]]


# None: no model can be asked now.
EmbedTexts = Callable[[Sequence[str]], Awaitable[Embedded | None]]


class Draft(NamedTuple):
    """What somebody wants to be remembered. Times as in Memory; 0: now. `namespace`: the personal one when empty."""

    text: str
    kind: str
    topics: Sequence[str] = ()
    namespace: str = ""
    created_ms: int = 0
    updated_ms: int = 0


class Stored(NamedTuple):
    """`existed`: the same text was there before; its topics were added, and its type is the new one."""

    memory: Memory
    existed: bool


class _Written(NamedTuple):
    """What a transaction wrote, for what is resident to follow. `vectors`: None: they are as they were."""

    row: Row
    topics: Sequence[bytes]
    stored: Stored
    vectors: list[OwnedVector] | None


class Memories:
    """`load` before anything else. What was stored while no model could be asked, `embed_missing` embeds later."""

    def __init__(self, sealer: Sealer, read: Read, write: Read, embed: EmbedTexts) -> None:
        self.resident = Resident()
        self.sealer = sealer
        self._read = read
        self._write = write
        self._embed = embed
        self._namespaces: dict[int, str] = {}
        self._writing = asyncio.Lock()

    async def load(self, model_uri: str | None) -> None:
        """Take what is resident from the database, with the vectors of that model."""
        await self._read(partial(self._load, model_uri))

    async def load_vectors(self, model_uri: str | None) -> None:
        """Let another model's vectors be resident."""
        async with self._writing:
            await self._read(partial(self._load_vectors, model_uri))

    def namespaces(self) -> list[str]:
        """Return the names of those that exist, the personal one first."""
        return [PERSONAL, *sorted(name for name in self._namespaces.values() if name != PERSONAL)]

    def namespace_ids(self, names: Sequence[str]) -> set[int] | None:
        """Return which namespaces those are; None: all. Raises MemoryNotFound for one that does not exist."""
        if not names:
            return None
        if unknown := next((name for name in names if name not in self.namespaces()), None):
            raise MemoryNotFound(f"there is no namespace {unknown!r}; there are: {', '.join(self.namespaces())}")
        return {id_ for id_, name in self._namespaces.items() if name in names}

    def has_shared(self, ids: Collection[int] | None) -> bool:
        return len(self._namespaces if ids is None else ids) > 1

    async def store(self, drafts: Sequence[Draft]) -> list[Stored]:
        """Store memories, all or none; each is found from then on. Raises LimitExceeded, InvalidName."""
        ready = [_checked(draft) for draft in drafts]
        vectors = await self._embed([body.text for _, body in ready])
        async with self._writing:
            written = await self._write(partial(self._store, ready, vectors))
            self._follow(written)
        return [each.stored for each in written]

    async def update(
        self, name: str, *, text: str | None = None, kind: str | None = None, topics: Sequence[str] | None = None
    ) -> Memory:
        """Change what is given and keep the rest. Raises MemoryNotFound, MemoryExists, LimitExceeded, InvalidName."""
        async with self._writing:
            before = (await self.retrieve([name]))[0]
            body = records.checked(before.text if text is None else text, before.topics if topics is None else topics)
            kind = before.kind if kind is None else kinds.checked(kind)
            is_changed = body.text != before.text
            vectors = await self._embed([body.text]) if is_changed else None
            written = await self._write(partial(self._update, before, body, kind, vectors, is_changed))
            self._follow([written])
        return written.stored.memory

    async def retrieve(self, names: Sequence[str]) -> list[Memory]:
        """Return memories whole, in the order asked for. Raises MemoryNotFound, naming those that are not there."""
        rows = [self.resident.row(name) for name in names]
        opened = await self.open_all([row.id for row in rows if row])
        missing = [name for name, row in zip(names, rows, strict=True) if row is None or row.id not in opened]
        if missing:
            raise MemoryNotFound(f"there is no memory {', '.join(missing)}", {"missing": missing})
        return [opened[row.id] for row in rows if row]

    async def forget(self, names: Sequence[str]) -> None:
        """Remove memories, all or none. Raises MemoryNotFound."""
        async with self._writing:
            ids = [memory.id for memory in await self.retrieve(names)]
            await self._write(partial(table.delete, ids=ids))
            self.resident.remove(ids)

    async def publish(self, names: Sequence[str], namespace: str) -> list[Stored]:
        """Copy memories into another namespace, which need not exist. Raises MemoryNotFound, InvalidName."""
        memories = await self.retrieve(names)
        return await self.store([Draft(m.text, m.kind, m.topics, namespace, m.created_ms) for m in memories])

    async def open_all(self, ids: Collection[int]) -> Mapping[int, Memory]:
        """Return memories in clear, of the ids that exist. Raises MemoryDamaged."""
        rows = self.resident.of(ids)

        def work(connection: Connection) -> dict[int, Memory]:
            sealed = table.bodies(connection, rows)
            return {id_: self._opened(row, sealed[id_]) for id_, row in rows.items() if id_ in sealed}

        return await self._read(work)

    async def embed_missing(self) -> int:
        """Embed what has no vectors, a few at a time, the latest first. Returns how many are left because no model can
        be asked."""
        while missing := self.resident.without_vectors():
            async with self._writing:
                opened = list((await self.open_all(missing[:_EMBEDDED_AT_A_TIME])).values())
                vectors = await self._embed([memory.text for memory in opened])
                if vectors is None:
                    return len(missing)
                found = await self._write(partial(self._put_vectors, opened, vectors))
                self.resident.put_vectors([memory.id for memory in opened], found)
        return 0

    def _follow(self, written: Sequence[_Written]) -> None:
        for each in written:
            self.resident.put(each.row, each.topics)
            self._namespaces[each.row.namespace_id] = each.stored.memory.namespace
            if each.vectors is not None:
                self.resident.put_vectors([each.row.id], each.vectors)

    def _load(self, model_uri: str | None, connection: Connection) -> None:
        self._namespaces = {
            each.id: self.sealer.open(each.sealed_name, _NAMESPACE).decode() for each in table.namespaces(connection)
        }
        topics: dict[int, list[bytes]] = {}
        for lookup, id_ in table.topics(connection):
            topics.setdefault(id_, []).append(lookup)
        for row in table.rows(connection):
            self.resident.put(row, topics.get(row.id, []))
        self._load_vectors(model_uri, connection)

    def _load_vectors(self, model_uri: str | None, connection: Connection) -> None:
        names = {row.id: row.name for row in self.resident.rows()}
        found = [
            OwnedVector(id_, memory_id, records.open_vector(self.sealer, names[memory_id], sealed))
            for id_, memory_id, sealed in (table.vectors(connection, model_uri) if model_uri else ())
            if memory_id in names
        ]
        self.resident.replace_vectors(found)

    def _store(
        self, ready: Sequence[tuple[Draft, Body]], vectors: Embedded | None, connection: Connection
    ) -> list[_Written]:
        written = []
        for at, (draft, body) in enumerate(ready):
            of_text = Embedded(vectors.uri, [vectors.vectors[at]]) if vectors else None
            written.append(self._store_one(draft, body, of_text, connection))
        return written

    def _store_one(self, draft: Draft, body: Body, vectors: Embedded | None, connection: Connection) -> _Written:
        now_ms = time.time_ns() // 1_000_000
        namespace_id = self._namespace_id(connection, draft.namespace, now_ms)
        found = table.find(connection, namespace_id, records.fingerprint(self.sealer, body))
        if found:
            row, sealed = found
            topics = [*records.open_body(self.sealer, row.name, sealed).topics, *body.topics]
            body = records.checked(body.text, topics)
            new = self._sealed(row.name, namespace_id, draft.kind, row.created_ms, now_ms, body)
            row = table.replace(connection, row.id, new)
        else:
            created_ms = draft.created_ms or now_ms
            new = self._sealed(
                records.new_name(), namespace_id, draft.kind, created_ms, draft.updated_ms or created_ms, body
            )
            row = table.insert(connection, new)
        memory = _memory(row, draft.namespace, body)
        owned = self._put_vectors([memory], vectors, connection) if vectors else None
        return _Written(row, new.topics, Stored(memory, existed=found is not None), owned)

    def _update(
        self, before: Memory, body: Body, kind: str, vectors: Embedded | None, is_changed: bool, connection: Connection
    ) -> _Written:
        now_ms = time.time_ns() // 1_000_000
        namespace_id = self._namespace_id(connection, before.namespace, now_ms)
        new = self._sealed(before.name, namespace_id, kind, before.created_ms, now_ms, body)
        same = table.find(connection, namespace_id, new.fingerprint)
        if same and same[0].id != before.id:
            raise MemoryExists(f"memory {same[0].name} says that already; forget one of them")
        row = table.replace(connection, before.id, new)
        memory = _memory(row, before.namespace, body)
        owned = None
        if is_changed:  # those of the text before must not answer for it, whether there are new ones or not
            owned = self._put_vectors([memory], vectors or Embedded("", [[]]), connection)
        return _Written(row, new.topics, Stored(memory, existed=True), owned)

    def _put_vectors(self, memories: Sequence[Memory], vectors: Embedded, connection: Connection) -> list[OwnedVector]:
        owned = []
        for memory, of_text in zip(memories, vectors.vectors, strict=True):
            sealed = [records.seal_vector(self.sealer, memory.name, vector) for vector in of_text]
            ids = table.put_vectors(connection, memory.id, vectors.uri, sealed)
            owned += [OwnedVector(id_, memory.id, vector) for id_, vector in zip(ids, of_text, strict=True)]
        return owned

    def _sealed(self, name: str, namespace_id: int, kind: str, created_ms: int, updated_ms: int, body: Body) -> NewRow:
        return NewRow(
            name=name,
            namespace_id=namespace_id,
            kind=kind,
            created_ms=created_ms,
            updated_ms=updated_ms,
            fingerprint=records.fingerprint(self.sealer, body),
            body=records.seal_body(self.sealer, name, body),
            topics=records.topic_lookups(self.sealer, body),
        )

    def _opened(self, row: Row, sealed: bytes) -> Memory:
        return _memory(row, self._namespaces[row.namespace_id], records.open_body(self.sealer, row.name, sealed))

    def _namespace_id(self, connection: Connection, name: str, now_ms: int) -> int:
        lookup = self.sealer.lookup("namespace", name)
        return table.add_namespace(connection, lookup, self.sealer.seal(name.encode(), _NAMESPACE), now_ms)


def _checked(draft: Draft) -> tuple[Draft, Body]:
    namespace = folded(draft.namespace) or PERSONAL
    if len(namespace) > MAX_NAMESPACE_CHARACTERS:
        raise InvalidName(f"the name of a namespace has at most {MAX_NAMESPACE_CHARACTERS} characters")
    body = records.checked(draft.text, draft.topics)
    return draft._replace(kind=kinds.checked(draft.kind), namespace=namespace), body


def _memory(row: Row, namespace: str, body: Body) -> Memory:
    return Memory(
        id=row.id,
        name=row.name,
        namespace=namespace,
        kind=row.kind,
        created_ms=row.created_ms,
        updated_ms=row.updated_ms,
        text=body.text,
        topics=body.topics,
    )
