"""What is left to embed: known without looking at what is embedded, and right after whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar, cast

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gnod.store.connection import Connection
from gnod.store.documents import collections, maintenance
from gnod.store.documents.collections import Folder
from gnod.store.tables import counts
from gnod.store.vectors import vectors
from gnod.store.vectors.pending_counts import SHARE, PendingCounts
from tests.small_index import SmallIndex

T = TypeVar("T")

ONE, TWO = "file:/models/one.gguf", "file:/models/two.gguf"


def test_what_came_last_is_embedded_first(small_index: SmallIndex) -> None:
    small_index.add({f"{n}.md": f"text {n}" for n in range(9)})
    small_index.embed(ONE, limit=1)
    small_index.add({"new.md": "new"})
    assert small_index.database.submit_read(lambda c: vectors.count_pending(c, ONE, ["notes"])).result() == 9
    (chunk,) = small_index.database.submit_read(lambda c: vectors.pending(c, ONE, ["notes"], 1)).result()
    assert chunk.text == "new"


def test_a_count_that_took_long_is_kept_for_a_while(small_index: SmallIndex) -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 0.1
        return now

    counted = PendingCounts(clock)

    def count() -> int:
        return small_index.database.submit_read(lambda c: counted.of(c, ONE, ["notes"])).result()

    small_index.add({f"{n}.md": f"text {n}" for n in range(9)})
    small_index.embed(ONE, limit=1)
    assert count() == 8
    small_index.embed(ONE)
    assert count() == 8
    now += 0.1 / SHARE
    assert count() == 0
    small_index.add({"new.md": "new"})
    assert count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("ask", [vectors.count_pending, partial(vectors.pending, limit=100)])
def test_an_edit_in_a_large_index_costs_what_it_costs_in_a_small_one(
    small_index: SmallIndex, ask: Callable[..., object]
) -> None:
    costs = []
    for folder in ("few", "many"):
        small_index.add({f"{folder}/{n}.md": f"{folder} {n}" for n in range(20 if folder == "few" else 400)})
        small_index.embed(ONE)
        small_index.add({"new.md": folder})
        costs.append(small_index.database.submit_read(partial(_steps, lambda c: ask(c, ONE, ["notes"]))).result())
        small_index.embed(ONE)
    assert costs[1] < costs[0] * 1.2


def _steps(work: Callable[[Connection], object], connection: Connection) -> int:
    """Return how many steps of its virtual machine SQLite takes."""
    taken = 0

    def count() -> bool:
        nonlocal taken
        taken += 1
        return False

    connection.set_progress_handler(count, 1)
    work(connection)
    connection.set_progress_handler(None)
    return taken


_paths = st.sampled_from(["a.md", "b.md", "c.md"])
_texts = st.sampled_from(["zebra", "lion", "# Zebra\n\nzebra", "# Two\n\n" + "words " * 900])
_folders = st.sampled_from(["one", "two"])
_uris = st.sampled_from([ONE, TWO])


class Life(RuleBasedStateMachine):
    """Two collections, two models, and all that changes what is left."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.index = SmallIndex(Path(self.folder.name, "i.db"), use_knn=False)

    def teardown(self) -> None:
        self.index.close()
        self.folder.cleanup()

    @rule(path=_paths, text=_texts, collection=_folders)
    def save(self, path: str, text: str, collection: str) -> None:
        self.index.add({path: text}, collection=collection)

    @rule(path=_paths, collection=_folders)
    def remove(self, path: str, collection: str) -> None:
        if collection in self._names():
            self.index.remove(path, collection=collection)

    @rule(collection=_folders)
    def drop(self, collection: str) -> None:
        left = [Folder(name, f"/data/{name}", None) for name in self._names() if name != collection]
        self._write(lambda c: collections.mirror(c, left, []))

    @rule(uri=_uris, collection=_folders, limit=st.integers(1, 3))
    def embed(self, uri: str, collection: str, limit: int) -> None:
        self.index.embed(uri, collection, limit=limit)

    @rule(uri=_uris)
    def fail(self, uri: str) -> None:
        if chunks := self._pending(uri):
            self._write(lambda c: vectors.note_failed(c, uri, chunks[0].embed_hash, "no"))

    @rule()
    def lose_a_vector(self) -> None:
        self._write(lambda c: c.execute("DELETE FROM content_vectors WHERE id = (SELECT max(id) FROM content_vectors)"))

    @rule(uri=_uris)
    def try_again(self, uri: str) -> None:
        self._write(lambda c: vectors.forget_failed(c, uri))

    @rule(uri=_uris)
    def forget_the_other_model(self, uri: str) -> None:
        self._write(lambda c: vectors.drop_unserved(c, [uri]))

    @rule()
    def clean_up(self) -> None:
        self._write(maintenance.purge)

    @invariant()
    def what_is_left_is_right(self) -> None:
        for these, those in (("unembedded", "embeddable"), ("embeddable", "unembedded")):
            pairs = "SELECT model_id, embed_hash FROM"
            assert self.index.rows(f"{pairs} {these} EXCEPT {pairs} {those}") == []
        for uri in (ONE, TWO):
            assert len(self._pending(uri)) == self._read(partial(_count, uri))

    @invariant()
    def the_counts_are_right(self) -> None:
        counted = self._read(counts.of_collections)
        assert {name: (each.documents, each.chunks) for name, each in counted.items()} == self._counted("1")
        for uri in (ONE, TWO):
            embedded = self._counted(
                "k.embed_hash IN (SELECT embed_hash FROM content_vectors v JOIN embedding_models m ON m.id = v.model_id"
                f" WHERE m.uri = '{uri}')"
            )
            for each in self._read(lambda c, uri=uri: vectors.coverage(c, {"one": uri, "two": uri})):  # type: ignore[misc]
                assert each.chunks == counted.get(each.collection, counts.CollectionCounts()).chunks
                assert each.embedded == embedded.get(each.collection, (0, 0))[1]

    def _counted(self, where: str) -> dict[str, tuple[int, int]]:
        """Return the documents of each collection, and their chunks with a condition."""
        rows = self.index.rows(
            f"SELECT c.name, count(DISTINCT d.id), total({where} AND k.seq IS NOT NULL) FROM documents d"
            " JOIN collections c ON c.id = d.collection_id LEFT JOIN chunks k ON k.mirror_hash = d.mirror_hash"
            " WHERE d.active GROUP BY c.name"
        )
        return {str(name): (cast(int, n), cast(int, chunks)) for name, n, chunks in rows}

    def _pending(self, uri: str) -> list[vectors.PendingChunk]:
        return self._read(lambda c: vectors.pending(c, uri, ["one", "two"], 1000))

    def _names(self) -> list[str]:
        return [c.name for c in self._read(collections.all_collections)]

    def _read(self, work: Callable[[Connection], T]) -> T:
        return self.index.database.submit_read(work).result()

    def _write(self, work: Callable[[Connection], object]) -> None:
        self.index.database.submit_write(work).result()


def _count(uri: str, connection: Connection) -> int:
    return vectors.count_pending(connection, uri, ["one", "two"])


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=25, stateful_step_count=25)
TestLife = pytest.mark.slow(TestLife)
