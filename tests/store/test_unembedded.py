"""Texts left to embed. They are known without reading the embedded ones, and stay correct after any change."""

from __future__ import annotations

import re
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
from gnod.store.documents import collections, writing
from gnod.store.documents.collections import Folder
from gnod.store.tables import counts
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import SHARE, PendingCounts
from tests.small_index import SmallIndex

T = TypeVar("T")

ONE, TWO = "file:/models/one.gguf", "file:/models/two.gguf"


def test_the_newest_texts_are_embedded_first(small_index: SmallIndex) -> None:
    small_index.add({f"{n}.md": f"text {n}" for n in range(9)})
    small_index.embed(ONE, limit=1)
    small_index.add({"new.md": "new"})
    assert vectors.count_pending(small_index.reader, ONE, ["notes"]) == 9
    (chunk,) = vectors.pending(small_index.reader, ONE, ["notes"], 1)
    assert chunk.text == "new"


LONG = "\n\n".join(f"# Part {n}\n\n" + f"word{n} " * 900 for n in range(3))


def test_the_beginnings_of_all_documents_come_first_newest_before_oldest(small_index: SmallIndex) -> None:
    small_index.add({"seed.md": "seed"}, mtime_s="1")
    small_index.embed(ONE)
    for name, mtime_s in (("middle", "200"), ("new", "300"), ("old", "100")):
        small_index.add({f"{name}.md": LONG.replace("word", name)}, mtime_s=mtime_s)
    texts = [c.text for c in vectors.pending(small_index.reader, ONE, ["notes"], 100)]
    order = [re.findall(r"(new|middle|old)(\d)", text)[0] for text in texts]
    assert order[:3] == [("new", "0"), ("middle", "0"), ("old", "0")]
    names = [name for name, _ in order[3:]]
    assert names == sorted(names, key=["new", "middle", "old"].index)


def test_before_the_first_vector_of_a_model_the_beginnings_come_first_too(small_index: SmallIndex) -> None:
    small_index.add({"a.md": LONG, "b.md": LONG.replace("word", "other")})
    due = [c.brief_due for c in vectors.pending(small_index.reader, ONE, ["notes"], 100)]
    assert due == sorted(due, reverse=True)
    assert sum(due) == 2


def test_a_brief_vector_represents_a_text_until_it_is_embedded_in_full(small_index: SmallIndex) -> None:
    small_index.add({"a.md": LONG})
    chunks = vectors.count_pending(small_index.reader, ONE, ["notes"])
    assert small_index.embed_in_brief(ONE) == 1
    assert vectors.count_pending(small_index.reader, ONE, ["notes"]) == chunks
    assert small_index.embed_in_brief(ONE) == 0
    assert small_index.rows("SELECT start, end, is_brief FROM content_vectors") == [(0, None, 1)]
    assert small_index.embed(ONE) == chunks
    assert small_index.rows("SELECT count(*) FROM content_vectors WHERE is_brief") == [(0,)]
    assert vectors.count_pending(small_index.reader, ONE, ["notes"]) == 0


def test_a_text_that_begins_a_new_document_gets_its_brief_vector_early(small_index: SmallIndex) -> None:
    small_index.add({"seed.md": "seed"})
    small_index.embed(ONE)
    small_index.add({"a.md": LONG})
    last = next(c.text for c in vectors.pending(small_index.reader, ONE, ["notes"], 100) if "Part 2" in c.text)
    small_index.add({"b.md": last})
    assert small_index.embed_in_brief(ONE) == 2


def test_a_wait_for_what_is_pending_embeds_it_in_full_in_the_order_of_arrival(small_index: SmallIndex) -> None:
    small_index.add({"seed.md": "seed"})
    small_index.embed(ONE)
    small_index.add({"a.md": LONG})
    small_index.add({"b.md": "short"})
    waiting = vectors.pending(small_index.reader, ONE, ["notes"], 100, oldest_first=True)
    assert [c.brief_due for c in waiting] == [False] * len(waiting)
    assert waiting[-1].text == "short"


def test_a_count_that_took_long_is_kept_for_a_while(small_index: SmallIndex) -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 0.1
        return now

    counted = PendingCounts(clock)

    def count() -> int:
        return counted.of(small_index.reader, ONE, ["notes"])

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
def test_an_edit_costs_the_same_in_large_and_small_indexes(small_index: SmallIndex, ask: Callable[..., object]) -> None:
    costs = []
    for folder in ("few", "many"):
        small_index.add({f"{folder}/{n}.md": f"{folder} {n}" for n in range(20 if folder == "few" else 400)})
        small_index.embed(ONE)
        small_index.add({"new.md": folder})
        costs.append(_steps(lambda c: ask(c, ONE, ["notes"]), small_index.reader))
        small_index.embed(ONE)
    assert costs[1] < costs[0] * 1.2


def _steps(work: Callable[[Connection], object], connection: Connection) -> int:
    """Return the number of steps of SQLite's virtual machine."""
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
_texts = st.sampled_from(
    ["zebra", "lion", "# Zebra\n\nzebra", "# Two\n\n" + "words " * 900, "# Figures\n\n" + "0.25 " * 1500]
)
_folders = st.sampled_from(["one", "two"])
_uris = st.sampled_from([ONE, TWO])


# Texts with a wrong `brief_due`, and texts that still have a brief vector after they were embedded in full.
_WRONGLY_BRIEF = """
    SELECT u.embed_hash FROM unembedded u JOIN embeddable e USING (embed_hash, model_id) WHERE u.brief_due < e.brief_due
    UNION ALL
    SELECT v.embed_hash FROM content_vectors v JOIN unembedded u USING (embed_hash, model_id) WHERE u.brief_due
    UNION ALL SELECT embed_hash FROM content_vectors v WHERE is_brief AND EXISTS (
        SELECT 1 FROM content_vectors w
        WHERE w.embed_hash = v.embed_hash AND w.model_id = v.model_id AND w.id <> v.id
    )
"""


class Life(RuleBasedStateMachine):
    """Two collections, two models, and all operations that change the texts left to embed."""

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

    @rule(uri=_uris, collection=_folders, limit=st.integers(1, 3))
    def embed_in_brief(self, uri: str, collection: str, limit: int) -> None:
        self.index.embed_in_brief(uri, collection, limit=limit)

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
        self._write(writing.purge)

    @invariant()
    def what_is_left_is_right(self) -> None:
        for these, those in (("unembedded", "embeddable"), ("embeddable", "unembedded")):
            pairs = "SELECT model_id, embed_hash FROM"
            assert self.index.rows(f"{pairs} {these} EXCEPT {pairs} {those}") == []
        for uri in (ONE, TWO):
            assert len(self._pending(uri)) == self._read(partial(_count, uri))
        assert self.index.rows(_WRONGLY_BRIEF) == []

    @invariant()
    def the_documents_that_are_found_by_meaning_are_right(self) -> None:
        for uri in (ONE, TWO):
            if self.index.rows(f"SELECT 1 FROM embedding_models WHERE uri = '{uri}'"):
                for each in self._read(lambda c, uri=uri: vectors.coverage(c, {"one": uri, "two": uri})):  # type: ignore[misc]
                    assert each.in_full == self._documents_without(each.collection, uri, "1")
                    assert each.in_brief == self._documents_without(each.collection, uri, "u.brief_due AND k.seq = 0")

    def _documents_without(self, collection: str, uri: str, what: str) -> int:
        """Return how many documents have no unembedded chunk that meets a condition."""
        rows = self.index.rows(
            f"SELECT count(*) FROM documents d JOIN collections c ON c.id = d.collection_id AND c.name = '{collection}'"
            " WHERE d.active AND NOT EXISTS (SELECT 1 FROM chunks k JOIN unembedded u ON u.embed_hash = k.embed_hash"
            f" JOIN embedding_models m ON m.id = u.model_id AND m.uri = '{uri}'"
            f" WHERE k.mirror_hash = d.mirror_hash AND {what})"
        )
        return cast(int, rows[0][0])

    @invariant()
    def the_counts_are_right(self) -> None:
        counted = self._read(counts.of_collections)
        assert {name: (each.documents, each.chunks) for name, each in counted.items()} == self._counted("1")
        wordless = self._counted("k.embed_hash = ''")
        for uri in (ONE, TWO):
            embedded = self._counted(
                "k.embed_hash IN (SELECT embed_hash FROM content_vectors v JOIN embedding_models m ON m.id = v.model_id"
                " AND NOT v.is_brief"
                f" WHERE m.uri = '{uri}')"
            )
            for each in self._read(lambda c, uri=uri: vectors.coverage(c, {"one": uri, "two": uri})):  # type: ignore[misc]
                assert each.chunks == counted.get(each.collection, counts.CollectionCounts()).chunks
                assert each.embedded == embedded.get(each.collection, (0, 0))[1]
                assert each.wordless == wordless.get(each.collection, (0, 0))[1]

    def _counted(self, where: str) -> dict[str, tuple[int, int]]:
        """Return the numbers of documents of each collection, and of their chunks that meet a condition."""
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
        self.index.write(work)


def _count(uri: str, connection: Connection) -> int:
    return vectors.count_pending(connection, uri, ["one", "two"])


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=25, stateful_step_count=25)
TestLife = pytest.mark.slow(TestLife)
