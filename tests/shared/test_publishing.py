"""A published collection equals the one in the index after any events."""

from __future__ import annotations

from base64 import b85decode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from gnod.errors import AlreadyPublished, EngineFailed
from gnod.shared import payload
from gnod.shared.engine import Former, Restriction, SharedDocument
from gnod.shared.milvus.engine import MilvusEngine
from gnod.store.tables import changes
from tests.shared.milvus_server import MilvusServer, connect_to
from tests.shared.published import MODEL, URI, Published
from tests.small_index import SmallIndex, vector_of

pytestmark = pytest.mark.slow
TEXTS = {f"folder/{i}.md": f"# Note {i}\n\nThe refund number{i} is paid.\n\n## More\n\nText {i}." for i in range(30)}


@pytest.fixture
def published(small_index: SmallIndex, milvus: MilvusServer, tmp_path: Path) -> Iterator[Published]:
    small_index.add(TEXTS)
    small_index.embed(URI)
    engine = milvus.engine("notes")
    made = Published(small_index, engine, tmp_path / "ledger.sqlite")
    yield made
    made.stop()
    engine.drop()
    engine.close()


@pytest.mark.stress
def test_everything_is_published_and_then_each_change(published: Published) -> None:
    published.sync()
    published.check()
    index = published.index
    index.add({"folder/3.md": "# Other\n\nAnother text.", "new.md": "# New\n\nA new one."})
    index.remove("folder/7.md", "folder/8.md")
    assert published.go_on() == 2
    published.check()
    index.embed(URI)
    assert published.go_on() == 2
    published.check()
    assert published.go_on() == 1  # there is nothing to send
    index.add({"folder/9.md": TEXTS["folder/9.md"]})  # written again without a change
    published.go_on()
    published.check()
    header = published.engine.header()
    assert header
    assert (header.model, header.model_hash, header.dimensions) == (MODEL.name, MODEL.hash, 8)


@pytest.mark.stress
def test_the_mean_length_drifts(published: Published) -> None:
    published.sync()
    before = published.engine.header()
    published.index.add({f"long/{i}.md": "# Long\n\n" + f"many words {i} " * 300 for i in range(5)})
    published.go_on()
    published.check()
    after = published.engine.header()
    assert before
    assert after
    assert after.average > 2 * before.average


def test_weights_that_an_earlier_version_made_are_sent_again(published: Published) -> None:
    published.sync()
    keys = dict(published.engine.keys())
    earlier = [
        msgspec.structs.replace(document, weights={id_: 2 * weight for id_, weight in document.weights.items()})
        for document in published.engine.documents(keys)
    ]
    published.engine.reweigh(earlier)
    published.ledger.state.weighing = "(1.0, 1.0, 1.0) 1.2 0.75"
    published.ledger.save()
    published.stop()
    published.start()
    published.sync()
    published.check()
    published.stop()
    published.start()
    assert published.sync() == 1


@pytest.mark.stress
def test_another_model(published: Published) -> None:
    published.sync()
    published.stop()
    other = "file:/models/two.gguf"
    published.index.embed(other, dimensions=16)
    published.model = MODEL._replace(uri=other)
    published.start()
    published.sync()
    published.check()
    query = vector_of(other, "query", 16)
    assert len(published.engine.nearest(query, Restriction(), 5)) == 5


def test_without_a_model(published: Published) -> None:
    published.stop()
    published.model = None
    published.start()
    published.sync()
    published.check()
    header = published.engine.header()
    assert header
    assert (header.model, header.dimensions, header.pieces) == (None, None, 0)


def test_one_daemon_publishes(published: Published, tmp_path: Path) -> None:
    published.sync()
    index = SmallIndex(tmp_path / "other.sqlite")
    try:
        index.add({**dict(list(TEXTS.items())[:20]), "folder/3.md": "changed", "mine.md": "# Mine\n\nOnly here."})
        index.embed(URI)
        other = Published(index, published.engine, tmp_path / "other-ledger.sqlite")
        with pytest.raises(
            AlreadyPublished, match=r"ann's laptop publishes this collection, and was last seen \d+ s ago"
        ):
            other.sync()
        other.sync(take_over=True)
        other.check()
        published.index.add({"folder/1.md": "an edit after that"})
        with pytest.raises(AlreadyPublished):
            published.go_on()
        other.check()
        other.stop()
    finally:
        index.close()


@pytest.mark.stress
def test_a_lost_ledger_a_restored_index_and_a_dropped_collection(published: Published, tmp_path: Path) -> None:
    published.sync()
    published.stop()
    (tmp_path / "ledger.sqlite").write_bytes(b"damaged")
    published.index.remove("folder/2.md")
    published.engine.set_frequencies({12345: 7})
    published.start()
    published.sync(take_over=True)
    published.check()
    published.index.database.submit_write(changes.make_readers_start_over).result()
    published.index.remove("folder/4.md")
    published.go_on()
    published.check()
    published.engine.drop()
    published.index.remove("folder/5.md")
    with pytest.raises(EngineFailed, match="the shared collection was removed"):
        published.go_on()
    published.sync()
    published.check()


class Choosy(MilvusEngine):
    """Refuses a document, and all documents in the same request."""

    def put(self, documents: Sequence[SharedDocument], *, former: Former = "any") -> None:
        if any(document.path == "bad.md" for document in documents):
            raise EngineFailed("too large")
        super().put(documents, former=former)


def test_a_document_that_the_engine_refuses_does_not_stop_the_others(
    small_index: SmallIndex, milvus: MilvusServer, tmp_path: Path
) -> None:
    small_index.add({"bad.md": "text", "good.md": "text"})
    engine = Choosy(connect_to(milvus.address("choosy")))
    published = Published(small_index, engine, tmp_path / "ledger.sqlite", None)
    published.sync()
    assert published.ledger.failures() == {"bad.md": "too large"}
    assert [document.path for document in engine.listed("", 9)] == ["good.md"]
    small_index.remove("bad.md")
    published.go_on()
    published.check()
    assert published.ledger.failures() == {}
    published.stop()
    engine.drop()
    engine.close()


class Silent(MilvusEngine):
    """Stores frequencies, but may lose the reply."""

    loses_replies = False

    def set_frequencies(self, frequencies: Mapping[int, int]) -> None:
        super().set_frequencies(frequencies)
        if self.loses_replies:
            raise EngineFailed("no reply")


def test_a_frequency_whose_reply_was_lost_is_sent_again(
    small_index: SmallIndex, milvus: MilvusServer, tmp_path: Path
) -> None:
    small_index.add({"a.md": "text"})
    engine = Silent(connect_to(milvus.address("silent")))
    published = Published(small_index, engine, tmp_path / "ledger.sqlite", None)
    published.sync()
    engine.loses_replies = True
    small_index.add({"b.md": "quokka"})
    with pytest.raises(EngineFailed):
        published.go_on()
    engine.loses_replies = False
    small_index.remove("b.md")  # the number is the one that was confirmed before
    published.go_on()
    published.check()
    published.stop()
    engine.drop()
    engine.close()


@pytest.mark.stress
def test_a_newer_format_is_not_changed(published: Published) -> None:
    published.sync()
    header = published.engine.header()
    assert header
    published.engine.set_header(msgspec.structs.replace(header, format=99))
    with pytest.raises(EngineFailed, match="a newer gnod"):
        published.sync()


@pytest.mark.stress
def test_no_local_path_is_on_the_server_and_nothing_is_left(
    published: Published, milvus: MilvusServer, tmp_path: Path
) -> None:
    """Read all data of a server with Milvus' own client. docs/SECURITY.md says what they must not contain."""
    from pymilvus import MilvusClient

    published.sync()
    reading = MilvusClient(f"http://127.0.0.1:{milvus.port}", db_name="team", dedicated=True)
    names = reading.list_collections()
    rows = [row for name in names for row in reading.query(name, filter="", output_fields=["*"], limit=1000)]
    texts = [row["text"] for row in rows if row.get("document") and "text" in row]
    stored = repr(rows) + "".join(repr(payload.decode(b85decode(text))) for text in texts)
    assert len(texts) == len(TEXTS)
    assert "The refund number7 is paid" in stored
    for local in ("/data/notes", "/home/ann", str(tmp_path)):
        assert local not in stored
    published.engine.drop()
    assert reading.list_collections() == []
    assert set(published.engine.count().values()) == {0}
    reading.close()
