"""All that a server holds after publishing, read with Milvus' own client: docs/SECURITY.md says what is not in it."""

from __future__ import annotations

from base64 import b85decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gnod.shared import payload
from tests.shared.milvus_server import MilvusServer
from tests.shared.published import URI, Published
from tests.small_index import SmallIndex

pytestmark = pytest.mark.slow

TEXTS = {
    "deploy.md": "# Deploy\n\nRestart the server.\n",
    "a/b.md": "---\ntags: [ops]\n---\n# B\n\nSee [it](../deploy.md).\n",
}


@pytest.fixture
def client(milvus: MilvusServer, small_index: SmallIndex, tmp_path: Path) -> Iterator[tuple[Any, Published]]:
    from pymilvus import MilvusClient

    small_index.add(TEXTS)
    small_index.embed(URI)
    engine = milvus.engine("notes")
    published = Published(small_index, engine, tmp_path / "ledger.sqlite")
    published.sync()
    client = MilvusClient(f"http://127.0.0.1:{milvus.port}", db_name="team", dedicated=True)
    yield client, published
    client.close()
    published.stop()
    engine.close()


@pytest.mark.stress
def test_no_local_path_is_on_the_server_and_nothing_is_left(client: tuple[Any, Published], tmp_path: Path) -> None:
    reading, published = client
    names = reading.list_collections()
    rows = [row for name in names for row in reading.query(name, filter="", output_fields=["*"], limit=1000)]
    texts = [row["text"] for row in rows if row.get("document") and "text" in row]
    stored = repr(rows) + "".join(repr(payload.decode(b85decode(text))) for text in texts)
    assert len(texts) == len(TEXTS)
    assert "Restart the server" in stored
    for local in ("/data/notes", "/home/ann", str(tmp_path)):
        assert local not in stored
    published.engine.drop()
    assert reading.list_collections() == []
    assert set(published.engine.count().values()) == {0}
