"""The privileges of a token in docs/SECURITY.md. Milvus' protocol names the privilege of each request.

`milvus-lite` has no users, so these tests cannot check the refusals of a server.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from gnod.analysis.terms import VERSION
from gnod.shared.engine import FORMAT, CollectionHeader, PublishedPiece, Restriction, SharedDocument, key_of
from gnod.shared.weights import term_id
from tests.shared.milvus_server import MilvusServer

DOCS = Path(__file__).resolve().parents[2] / "docs"


def script(page: str) -> str:
    """Return the Python code of a page."""
    return (DOCS / page).read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]


# https://milvus.io/docs/privilege_group.md, read on 2026-11-24.
COLLECTION_READ_ONLY = {
    "Query", "Search", "IndexDetail", "GetFlushState", "GetLoadState", "GetLoadingProgress", "HasPartition",
    "ShowPartitions", "ListAliases", "DescribeCollection", "DescribeAlias", "GetStatistics",
}  # fmt: skip
COLLECTION_ADMIN = COLLECTION_READ_ONLY | {
    "CreateIndex", "DropIndex", "CreatePartition", "DropPartition", "Load", "Release", "Insert", "Delete", "Upsert",
    "Import", "Flush", "Compaction", "LoadBalance", "CreateAlias", "DropAlias",
}  # fmt: skip
DATABASE_ADMIN = {"ShowCollections", "DescribeDatabase", "CreateCollection", "DropCollection", "AlterDatabase"}

VECTOR = np.array([1.0, 0.0], np.float32)
WEIGHTS = {term_id("word"): 1.0}
DOCUMENT = SharedDocument(
    key=key_of("a.md"),
    version="1",
    path="a.md",
    title="A",
    language="en",
    doc_type=None,
    author=None,
    tags=(),
    dated=0.0,
    weights=WEIGHTS,
    payload=b"payload",
    pieces=(PublishedPiece(0, 0, None, 0, None, VECTOR.tobytes()),),
)
HEADER = CollectionHeader(
    format=FORMAT,
    analysis=VERSION,
    model="file:/m.gguf",
    model_hash=None,
    dimensions=len(VECTOR),
    languages=("en",),
    documents=1,
    pieces=1,
    tokens=1,
    average=1.0,
    publisher="p",
    publisher_label="",
    behind=0,
    published_at=0.0,
    change=1,
)


class Recorder(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
    """Records the privileges that the requests of a channel demand."""

    def __init__(self) -> None:
        self.demanded: set[str] = set()

    def intercept_unary_unary(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        from pymilvus.grpc_gen import common_pb2

        options = request.DESCRIPTOR.GetOptions()
        if options.HasExtension(common_pb2.privilege_ext_obj):
            number = options.Extensions[common_pb2.privilege_ext_obj].object_privilege
            self.demanded.add(common_pb2.ObjectPrivilege.Name(number).removeprefix("Privilege"))
        return continuation(details, request)


@pytest.mark.stress
def test_a_reader_needs_read_access_and_a_publisher_one_database(
    milvus: MilvusServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = grpc.insecure_channel

    def recording() -> Recorder:
        recorder = Recorder()
        monkeypatch.setattr(grpc, "insecure_channel", lambda *a, **k: grpc.intercept_channel(opened(*a, **k), recorder))
        return recorder

    of_publisher, publisher = recording(), milvus.engine("privileges")
    publisher.create(HEADER)
    publisher.put([DOCUMENT])
    publisher.set_frequencies({term_id("word"): 1, term_id("other"): 0})
    publisher.keep(lambda key, version: (key, version) == (DOCUMENT.key, DOCUMENT.version))
    of_reader, reader = recording(), milvus.engine("privileges")
    assert reader.header() == HEADER
    assert reader.frequencies(["word"]) == {"word": 1}
    within = Restriction(languages=("en",), path_prefix="a")
    assert [found.key for found in reader.by_words(WEIGHTS, within, 5)] == [DOCUMENT.key]
    assert [found.key for found in reader.nearest(VECTOR, within, 5)] == [DOCUMENT.key]
    assert len(reader.documents([DOCUMENT.key])) == len(reader.listed("", 5)) == 1
    publisher.remove([DOCUMENT.key])
    publisher.drop()
    assert sum(publisher.count().values()) == 0
    reader.close()
    publisher.close()

    assert {"Query", "Search"} <= of_reader.demanded <= COLLECTION_READ_ONLY
    of_publisher.demanded.discard("CreateDatabase")  # on the page, the administrator creates it
    assert {"Upsert", "Delete", "DropCollection"} <= of_publisher.demanded <= COLLECTION_ADMIN | DATABASE_ADMIN


@pytest.mark.slow
def test_the_names_of_milvus_collections_in_the_pages(milvus: MilvusServer) -> None:
    names = set(milvus.engine("handbook")._names.values())
    assert set(re.findall(r'"(gnod_\w+)"', script("SECURITY.md"))) == names
    assert set(re.findall(r'"(gnod_\w+)"', script("shared.md"))) <= names


@pytest.mark.parametrize("page", ["SECURITY.md", "shared.md"])
def test_the_commands_of_the_pages_are_those_of_the_client(page: str) -> None:
    """Read the client's source, because importing it takes a second."""
    spec = find_spec("pymilvus")
    assert spec
    assert spec.origin
    known: dict[str, set[str]] = {}
    for module in ("milvus_client.py", "base.py", "index.py"):
        source = (Path(spec.origin).parent / "milvus_client" / module).read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef):
                arguments = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
                known.setdefault(node.name, set()).update(arguments)
    called = [node for node in ast.walk(ast.parse(script(page))) if isinstance(node, ast.Call)]
    methods = [(call.func.attr, call.keywords) for call in called if isinstance(call.func, ast.Attribute)]
    assert len(methods) >= 5
    for name, keywords in methods:
        assert {keyword.arg for keyword in keywords} - {"replica_number", "metric_type", "params"} <= known[name], name
