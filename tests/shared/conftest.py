"""A server of Milvus for each module of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.shared.milvus_server import MilvusServer


@pytest.fixture(scope="module")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    server = MilvusServer(tmp_path_factory.mktemp("milvus"))
    try:
        server.start()
        yield server
    finally:
        server.kill()
