"""The transactions that change memories, and encrypt them on the way. They must not depend on the resident data."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from gnod.errors import InvalidParams, MemoryDamaged, MemoryExists, MemoryNotFound
from gnod.memory import records
from gnod.memory.key.sealing import Sealer
from gnod.memory.records import NO_TIMES, Body, Memory, Times, Vector
from gnod.memory.resident import OwnedVector
from gnod.memory_types import DONE, checked_type, is_done
from gnod.store.connection import Connection
from gnod.store.memory import memories as table
from gnod.store.memory.memories import MemoryRow, NewRow

_NAMESPACE = b"namespace:"


class EmbeddedTexts(NamedTuple):
    """The vectors of each text's pieces, and the address of the model that computed them."""

    uri: str
    vectors: Sequence[Sequence[Vector]]


class MemoryDraft(NamedTuple):
    """A memory to store. `created_ms`: 0 means now. `namespace`: empty means the personal one. `supersedes`: names of
    memories. `suggested`: topics; None: take them, and the times at which the memory is true, from the text.

    `updated_ms`: of an imported record. The import does not change a memory with the same text that is at least as new.
    """

    text: str
    type: str
    topics: Sequence[str] = ()
    namespace: str = ""
    created_ms: int = 0
    updated_ms: int = 0
    times: Times = NO_TIMES
    supersedes: Sequence[str] = ()
    suggested: Sequence[str] | None = None


class MemoryChange(NamedTuple):
    """The changes to a memory; None leaves a field unchanged.

    `removed_topics`: topics to remove, given or suggested. `times`: the fields of `Times` to change; None removes one.
    """

    text: str | None = None
    type: str | None = None
    topics: Sequence[str] | None = None
    removed_topics: Sequence[str] = ()
    times: Mapping[str, int | None] = MappingProxyType({})
    supersedes: Sequence[str] = ()

    @property
    def is_of_content(self) -> bool:
        """Return whether anything but links to other memories changes."""
        return any(field is not None for field in (self.text, self.type, self.topics)) or bool(
            self.removed_topics or self.times
        )


class StoredDraft(NamedTuple):
    """`existed`: whether the same text was already stored; then its topics were added, and its type was replaced."""

    memory: Memory
    existed: bool


class WrittenMemories(NamedTuple):
    """The rows that a transaction wrote, for the resident data. `vectors`: None if unchanged. `linked`: other memories
    whose type or link changed."""

    row: MemoryRow
    topics: Sequence[bytes]
    stored: StoredDraft
    vectors: list[OwnedVector] | None
    linked: Sequence[MemoryRow] = ()


class Transactions:
    """Each method takes the connection as its last argument."""

    def __init__(self, sealer: Sealer) -> None:
        self._sealer = sealer

    def store(
        self, ready: Sequence[tuple[MemoryDraft, Body]], vectors: EmbeddedTexts | None, connection: Connection
    ) -> list[WrittenMemories]:
        """Store memories. Raises MemoryNotFound for a memory to supersede that does not exist."""
        written = []
        for at, (draft, body) in enumerate(ready):
            of_text = EmbeddedTexts(vectors.uri, [vectors.vectors[at]]) if vectors else None
            one = self._store_one(draft, body, of_text, connection)
            written.append(self._supersede(one, draft.supersedes, connection) if draft.supersedes else one)
        return written

    def _store_one(
        self, draft: MemoryDraft, body: Body, vectors: EmbeddedTexts | None, connection: Connection
    ) -> WrittenMemories:
        now_ms = time.time_ns() // 1_000_000
        namespace_id = self._namespace_id(connection, draft.namespace, now_ms)
        same = table.find(connection, namespace_id, records.fingerprint(self._sealer, body))
        if same:
            row, sealed = same
            before = self._body_or(body, row.name, sealed)
            if draft.updated_ms and draft.updated_ms <= row.updated_ms:
                memory = memory_of(row, draft.namespace, before)
                lookups = records.topic_lookups(self._sealer, before)
                return WrittenMemories(row, lookups, StoredDraft(memory, existed=True), None)
            times = draft.times.or_else(before.times)
            body = records.checked(body.text, [*before.topics, *body.topics], times, before.suggested)
            updated_ms = draft.updated_ms or now_ms
            new = self._sealed(row.name, namespace_id, draft.type, row.created_ms, updated_ms, body)
            new = _linked(new, row.superseded_by)
            row = table.replace(connection, row.id, new)
        else:
            created_ms = draft.created_ms or now_ms
            new = self._sealed(
                records.new_name(), namespace_id, draft.type, created_ms, draft.updated_ms or created_ms, body
            )
            row = table.insert(connection, new)
        memory = memory_of(row, draft.namespace, body)
        owned = self.put_vectors([memory], vectors, connection) if vectors else None
        return WrittenMemories(row, new.topics, StoredDraft(memory, existed=same is not None), owned)

    def _body_or(self, body: Body, name: str, sealed: bytes) -> Body:
        """Return the stored body, or the new one, which has the same text, if the stored one is damaged."""
        try:
            return records.open_body(self._sealer, name, sealed)
        except MemoryDamaged:
            return body

    def update(
        self,
        before: Memory,
        body: Body,
        type_: str,
        vectors: EmbeddedTexts | None,
        is_changed: bool,
        connection: Connection,
    ) -> WrittenMemories:
        """Replace a memory. `is_changed`: whether its text differs."""
        now_ms = time.time_ns() // 1_000_000
        namespace_id = self._namespace_id(connection, before.namespace, now_ms)
        new = self._sealed(before.name, namespace_id, type_, before.created_ms, now_ms, body)
        new = _linked(new, before.superseded_by)
        same = table.find(connection, namespace_id, new.fingerprint)
        if same and same[0].id != before.id:
            raise MemoryExists(f"memory {same[0].name} already has this text: forget one of the two")
        row = table.replace(connection, before.id, new)
        memory = memory_of(row, before.namespace, body)
        owned = None
        if is_changed:  # remove the vectors of the old text, even if there are no new ones
            owned = self.put_vectors([memory], vectors or EmbeddedTexts("", [[]]), connection)
        return WrittenMemories(row, new.topics, StoredDraft(memory, existed=True), owned)

    def link(self, before: Memory, older: Sequence[str], connection: Connection) -> WrittenMemories:
        """Make a memory supersede others, without any other change. Raises MemoryNotFound."""
        (row,) = table.named(connection, [before.name])
        body = Body(text=before.text, topics=before.topics, suggested=list(before.suggested))
        lookups = records.topic_lookups(self._sealer, body)
        return self._supersede(
            WrittenMemories(row, lookups, StoredDraft(before, existed=True), None), older, connection
        )

    def _supersede(self, written: WrittenMemories, older: Sequence[str], connection: Connection) -> WrittenMemories:
        """Mark the older memories as done, with links to the newer one. The newer memory loses its own link, which
        could form a cycle."""
        row, memory = written.row, written.stored.memory
        if missing := [name for name in older if name not in {old.name for old in table.named(connection, older)}]:
            raise MemoryNotFound(f"there is no memory {', '.join(missing)}", {"missing": missing})
        if row.superseded_by is not None:
            row, memory = table.unlink(connection, row), memory._replace(superseded_by=None)
        now_ms = time.time_ns() // 1_000_000
        linked = []
        for older_row in table.named(connection, older):
            if older_row.id == row.id:
                raise InvalidParams(f"memory {row.name} cannot supersede itself")
            type_ = older_row.type if is_done(older_row.type) else checked_type(older_row.type + DONE)
            changed_ms = older_row.updated_ms if type_ == older_row.type else now_ms
            linked.append(table.supersede(connection, older_row, type_, changed_ms, row.name))
        return written._replace(row=row, stored=written.stored._replace(memory=memory), linked=linked)

    def put_vectors(
        self, memories: Sequence[Memory], vectors: EmbeddedTexts, connection: Connection
    ) -> list[OwnedVector]:
        owned = []
        for memory, of_text in zip(memories, vectors.vectors, strict=True):
            sealed = [records.seal_vector(self._sealer, memory.name, vector) for vector in of_text]
            ids = table.put_vectors(connection, memory.id, vectors.uri, sealed)
            owned += [OwnedVector(id_, memory.id, vector) for id_, vector in zip(ids, of_text, strict=True)]
        return owned

    def _sealed(self, name: str, namespace_id: int, type_: str, created_ms: int, updated_ms: int, body: Body) -> NewRow:
        return NewRow(
            name=name,
            namespace_id=namespace_id,
            type=type_,
            created_ms=created_ms,
            updated_ms=updated_ms,
            fingerprint=records.fingerprint(self._sealer, body),
            body=records.seal_body(self._sealer, name, body),
            topics=records.topic_lookups(self._sealer, body),
        )

    def _namespace_id(self, connection: Connection, name: str, now_ms: int) -> int:
        lookup = self._sealer.lookup("namespace", name)
        return table.add_namespace(connection, lookup, self._sealer.seal(name.encode(), _NAMESPACE + lookup), now_ms)

    def name_of(self, namespace: table.Namespace) -> str:
        """Return the name, or a substitute if it is damaged: the memories may still be readable."""
        try:
            return self._sealer.open(namespace.sealed_name, _NAMESPACE + namespace.lookup).decode()
        except MemoryDamaged:
            return f"damaged-{namespace.id}"


def _linked(new: NewRow, superseded_by: str | None) -> NewRow:
    """Keep the link of a superseded memory, unless it is current again because its type no longer ends in `_done`."""
    return new._replace(superseded_by=superseded_by if is_done(new.type) else None)


def memory_of(row: MemoryRow, namespace: str, body: Body) -> Memory:
    return Memory(
        id=row.id,
        name=row.name,
        namespace=namespace,
        type=row.type,
        created_ms=row.created_ms,
        updated_ms=row.updated_ms,
        text=body.text,
        topics=body.topics,
        times=body.times,
        suggested=body.suggested,
        superseded_by=row.superseded_by,
    )
