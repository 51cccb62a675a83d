"""What is kept in the process's memory while the memories are unlocked: vectors, topics and types, but no texts.

Ten thousand memories take 20 MB. Every way in holds the lock, so searches may run in threads while memories are stored.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from gnod.memory.records import Vector
from gnod.pipeline.matrix import Ids, Matrix
from gnod.store.memories import Row


class OwnedVector(NamedTuple):
    """`id`: of the vector's row in the database."""

    id: int
    memory_id: int
    vector: Vector


class Resident:
    """`put`, `put_vectors` and `remove` follow the database. Ids are those of its rows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[int, Row] = {}
        self._by_name: dict[str, int] = {}
        self._by_topic: dict[bytes, set[int]] = {}
        self._topics_of: dict[int, Sequence[bytes]] = {}
        self._vector_ids: dict[int, list[int]] = {}
        self._owners: dict[int, int] = {}
        self._matrix: Matrix | None = None

    @property
    def dimensions(self) -> int | None:
        """Return the length of the vectors; None: there are none."""
        return self._matrix.dimensions if self._matrix is not None else None

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, name: str) -> Row | None:
        id_ = self._by_name.get(name)
        return None if id_ is None else self._rows[id_]

    def rows(self, namespaces: Collection[int] | None = None) -> list[Row]:
        """Return the memories of those namespaces (of all when None), in the order in which they were stored."""
        with self._lock:
            return [row for row in self._rows.values() if namespaces is None or row.namespace_id in namespaces]

    def of(self, ids: Collection[int]) -> dict[int, Row]:
        with self._lock:
            return {id_: self._rows[id_] for id_ in ids if id_ in self._rows}

    def fingerprint(self, id_: int) -> bytes:
        """Return the keyed hash of a memory's text; of one that has gone in this moment, nothing."""
        row = self._rows.get(id_)
        return row.fingerprint if row else b""

    def kinds(self, ids: Collection[int]) -> Mapping[int, str]:
        return {id_: row.kind for id_, row in self.of(ids).items()}

    def having(self, topics: Sequence[bytes]) -> Collection[int] | None:
        """Return the ids of memories that have all of those topics; None, all memories, when there are none."""
        with self._lock:
            owners = [self._by_topic.get(topic, set()) for topic in topics]
            return set.intersection(*owners) if owners else None

    @property
    def unembedded(self) -> int:
        """Return how many `without_vectors` has."""
        return len(self._rows) - len(self._vector_ids)

    def without_vectors(self) -> list[int]:
        """Return the ids of memories that were not embedded, the latest first."""
        with self._lock:
            return [id_ for id_ in reversed(self._rows) if id_ not in self._vector_ids]

    def put(self, row: Row, topics: Sequence[bytes]) -> None:
        with self._lock:
            self._forget_topics(row.id)
            self._rows[row.id] = row  # in its place, where it has one
            self._by_name[row.name] = row.id
            self._topics_of[row.id] = topics
            for topic in topics:
                self._by_topic.setdefault(topic, set()).add(row.id)

    def put_vectors(self, owners: Collection[int], found: Sequence[OwnedVector]) -> None:
        """Replace the vectors of those memories; the new ones have ids above all before. Vectors are all of one length,
        that of the newest: of a model whose file was exchanged, the others are worth nothing."""
        with self._lock:
            for owner in owners:
                self._forget_vectors(owner)
            if not found:
                return
            length = len(found[-1].vector)
            found = [each for each in found if len(each.vector) == length]
            if self.dimensions != length:
                self._forget_all_vectors()
                self._matrix = Matrix(length)
            assert self._matrix is not None
            self._matrix.add(
                np.asarray([each.id for each in found], np.int64), np.stack([each.vector for each in found])
            )
            for each in found:
                self._owners[each.id] = each.memory_id
                self._vector_ids.setdefault(each.memory_id, []).append(each.id)

    def replace_vectors(self, found: Sequence[OwnedVector]) -> None:
        """Have these vectors only: of another model, maybe of another length."""
        with self._lock:
            self._forget_all_vectors()
        self.put_vectors([], found)

    def remove(self, ids: Collection[int]) -> None:
        with self._lock:
            for id_ in ids:
                self._forget_vectors(id_)
                self._forget_row(id_)

    def nearest(self, query: Vector, limit: int, namespaces: Collection[int] | None) -> dict[int, float]:
        """Return up to `limit` memories by their nearest vector, with its cosine, the nearest first; of equal ones the
        older."""
        with self._lock:
            if self.dimensions != len(query) or self._matrix is None or limit <= 0:
                return {}
            cosines, ids = self._matrix.cosines(query), self._matrix.ids()
            if namespaces is not None:
                allowed = self._vectors_in(namespaces)
                rows = np.searchsorted(ids, allowed)
                cosines, ids = cosines[rows], allowed
            wanted = limit
            while True:
                found = self._best_of(cosines, ids, wanted)
                if len(found) >= limit or wanted >= len(ids):
                    return dict(list(found.items())[:limit])
                wanted *= 4  # a long memory has several vectors

    def topical(self, topics: Sequence[bytes], limit: int, namespaces: Collection[int] | None) -> list[int]:
        """Return up to `limit` memories that have any of the topics: those with most of them first, of these the
        latest."""
        with self._lock:
            counts = Counter(id_ for topic in topics for id_ in self._by_topic.get(topic, ()))
            if namespaces is not None:
                counts = Counter({id_: n for id_, n in counts.items() if self._rows[id_].namespace_id in namespaces})
            ranked = sorted(counts, key=lambda id_: (-counts[id_], -self._rows[id_].updated_ms, -id_))
        return ranked[:limit]

    def _vectors_in(self, namespaces: Collection[int]) -> Ids:
        """Return the ids of their vectors, ascending."""
        rows = self._rows
        chosen = [ids for owner, ids in self._vector_ids.items() if rows[owner].namespace_id in namespaces]
        return np.sort(np.fromiter(chain.from_iterable(chosen), np.int64))

    def _best_of(self, cosines: Vector, ids: Ids, wanted: int) -> dict[int, float]:
        best = np.argpartition(-cosines, wanted - 1)[:wanted] if wanted < len(cosines) else np.arange(len(cosines))
        ordered = best[np.lexsort((ids[best], -cosines[best]))]
        found: dict[int, float] = {}
        for row in ordered:
            owner = self._owners.get(int(ids[row]))  # a row that was removed has none
            if owner is not None and owner not in found:
                found[owner] = float(cosines[row])
        return found

    def _forget_row(self, id_: int) -> None:
        if row := self._rows.pop(id_, None):
            del self._by_name[row.name]
        self._forget_topics(id_)

    def _forget_topics(self, id_: int) -> None:
        for topic in self._topics_of.pop(id_, ()):
            owners = self._by_topic[topic]
            owners.discard(id_)
            if not owners:
                del self._by_topic[topic]

    def _forget_all_vectors(self) -> None:
        self._matrix = None
        self._owners.clear()
        self._vector_ids.clear()

    def _forget_vectors(self, id_: int) -> None:
        vector_ids = self._vector_ids.pop(id_, [])
        for vector_id in vector_ids:
            del self._owners[vector_id]
        if self._matrix is not None and vector_ids:
            self._matrix.remove(np.asarray(vector_ids, np.int64))
