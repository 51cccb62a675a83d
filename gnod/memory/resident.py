"""Keep data of memories in RAM while they are unlocked: vectors, topics and types, but no texts.

Ten thousand memories take 20 MB. All methods lock, so searches can run in threads while memories are stored.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.memory.records import Vector
from gnod.search.meaning.vector_matrix import Ids, Matrix
from gnod.store.memory.memories import MemoryRow


class OwnedVector(NamedTuple):
    """`id`: the id of the vector's row in the database."""

    id: int
    memory_id: int
    vector: Vector


class Resident:
    """Call `put`, `put_vectors` and `remove` after each change of the database. Ids are the ids of its rows."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._rows: dict[int, MemoryRow] = {}
        self._by_name: dict[str, int] = {}
        self._by_topic: dict[bytes, set[int]] = {}
        self._topics_of: dict[int, Sequence[bytes]] = {}
        self._vector_ids: dict[int, list[int]] = {}
        self._owners: dict[int, int] = {}
        self._matrix: Matrix | None = None

    @property
    def dimensions(self) -> int | None:
        """Return the length of the vectors; None without vectors."""
        return self._matrix.dimensions if self._matrix is not None else None

    def __len__(self) -> int:
        return len(self._rows)

    def row(self, name: str) -> MemoryRow | None:
        id_ = self._by_name.get(name)
        return None if id_ is None else self._rows[id_]

    def rows(self, namespaces: Collection[int] | None = None) -> list[MemoryRow]:
        """Return the memories of the namespaces (None: all), in the order in which they were stored."""
        with self._lock:
            return [row for row in self._rows.values() if namespaces is None or row.namespace_id in namespaces]

    def of(self, ids: Collection[int]) -> dict[int, MemoryRow]:
        with self._lock:
            return {id_: self._rows[id_] for id_ in ids if id_ in self._rows}

    def fingerprint(self, id_: int) -> bytes:
        """Return the keyed hash of a memory's text; b"" if it was removed meanwhile."""
        row = self._rows.get(id_)
        return row.fingerprint if row else b""

    def types(self, ids: Sequence[int]) -> list[str]:
        """Return the types of memories, in the order of `ids`; "" for a memory that was removed meanwhile."""
        with self._lock:
            return [row.type if (row := self._rows.get(id_)) else "" for id_ in ids]

    def having(self, topics: Sequence[bytes]) -> Collection[int] | None:
        """Return the ids of memories that have all of the topics; None: all memories."""
        with self._lock:
            owners = [self._by_topic.get(topic, set()) for topic in topics]
            return set.intersection(*owners) if owners else None

    @property
    def unembedded(self) -> int:
        """Return the number of memories without vectors."""
        return len(self._rows) - len(self._vector_ids)

    def without_vectors(self) -> list[int]:
        """Return the ids of memories without vectors, the latest first."""
        with self._lock:
            return [id_ for id_ in reversed(self._rows) if id_ not in self._vector_ids]

    def put(self, row: MemoryRow, topics: Sequence[bytes]) -> None:
        with self._lock:
            self._forget_topics(row.id)
            self._rows[row.id] = row  # an existing row keeps its place
            self._by_name[row.name] = row.id
            self._topics_of[row.id] = topics
            for topic in topics:
                self._by_topic.setdefault(topic, set()).add(row.id)

    def change(self, row: MemoryRow) -> None:
        """Replace a row. Its topics do not change."""
        with self._lock:
            if row.id in self._rows:
                self._rows[row.id] = row

    def put_vectors(self, owners: Collection[int], found: Sequence[OwnedVector]) -> None:
        """Replace the vectors of the owners. The new vectors must have higher ids than all others. Vectors of another
        length are dropped: they are useless after the model's file was replaced."""
        with self._lock:
            for owner in owners:
                self._forget_vectors(owner)
            if not found:
                return
            length = len(found[-1].vector)
            found = [owned for owned in found if len(owned.vector) == length]
            if self.dimensions != length:
                self._forget_all_vectors()
                self._matrix = Matrix(length)
            assert self._matrix is not None
            ids = np.asarray([owned.id for owned in found], np.int64)
            self._matrix.add(ids, np.stack([owned.vector for owned in found]))
            for id_, memory_id, _ in found:
                self._owners[id_] = memory_id
                self._vector_ids.setdefault(memory_id, []).append(id_)

    def replace_vectors(self, found: Sequence[OwnedVector]) -> None:
        """Replace all vectors. The new ones may be from another model."""
        with self._lock:
            self._forget_all_vectors()
        self.put_vectors([], found)

    def remove(self, ids: Collection[int]) -> None:
        with self._lock:
            for id_ in ids:
                self._forget_vectors(id_)
                self._forget_row(id_)

    def nearest(self, query: Vector, limit: int, namespaces: Collection[int] | None) -> dict[int, float]:
        """Return up to `limit` memories with the cosine of their nearest vector, nearest first; the older one first if
        they are equal."""
        ids, _ = self.stored(namespaces)
        cosines = self.cosines(query, ids)
        best = np.argsort(-cosines, kind="stable")[: min(limit, np.count_nonzero(~np.isnan(cosines)))]
        return dict(zip(ids[best].tolist(), cosines[best].tolist(), strict=True))

    def vectors_of(self, id_: int) -> list[Vector]:
        """Return the vectors of a memory."""
        with self._lock:
            ids = np.asarray(self._vector_ids.get(id_, []), np.int64)
            return list(self._matrix.reader()(self._matrix.rows_of(ids))) if self._matrix is not None else []

    def stored(self, namespaces: Collection[int] | None) -> tuple[Ids, Ids]:
        """Return the ids of the memories in the namespaces, ascending, and when each was stored, in milliseconds since
        1970."""
        rows = sorted(self.rows(namespaces))
        return np.array([row.id for row in rows], np.int64), np.array([row.created_ms for row in rows], np.int64)

    def cosines(self, query: Vector, ids: Ids) -> NDArray[np.float64]:
        """Return the cosine of the nearest vector of each of the memories, whose ids ascend; NaN without a vector."""
        best = np.full(len(ids), -np.inf)
        with self._lock:
            if self.dimensions == len(query) and self._matrix is not None and len(ids):
                cosines, vectors = self._matrix.cosines(query), self._matrix.ids()
                owners = np.fromiter(map(self._owners.get, vectors.tolist(), repeat(-1)), np.int64, len(vectors))
                rows = np.minimum(np.searchsorted(ids, owners), len(ids) - 1)
                known = ids[rows] == owners
                np.maximum.at(best, rows[known], cosines[known])
        return np.where(np.isinf(best), np.nan, best)

    def first_vectors(self, ids: Sequence[int]) -> dict[int, Vector]:
        """Return the first vector of each of the memories that have one."""
        with self._lock:
            first = {id_: self._vector_ids[id_][0] for id_ in ids if self._vector_ids.get(id_)}
            if self._matrix is None or not first:
                return {}
            row_ids = np.asarray(sorted(first.values()), np.int64)
            values = dict(zip(row_ids.tolist(), self._matrix.reader()(self._matrix.rows_of(row_ids)), strict=True))
        return {id_: values[vector_id] for id_, vector_id in first.items()}

    def topic_weights(self, weights: Mapping[bytes, float], namespaces: Collection[int] | None) -> Mapping[int, float]:
        """Return the sum of the weights of the topics that each memory has, for those that have any."""
        found: dict[int, float] = {}
        with self._lock:
            for topic, weight in weights.items():
                for id_ in self._by_topic.get(topic, ()):
                    if namespaces is None or self._rows[id_].namespace_id in namespaces:
                        found[id_] = found.get(id_, 0.0) + weight
        return found

    def topical(self, topics: Sequence[bytes], limit: int, namespaces: Collection[int] | None) -> list[int]:
        """Return up to `limit` memories with any of the topics; first those with most of them, then the latest."""
        with self._lock:
            counts = self.topic_weights(dict.fromkeys(topics, 1.0), namespaces)
            ranked = sorted(counts, key=lambda id_: (-counts[id_], -self._rows[id_].updated_ms, -id_))
        return ranked[:limit]

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
