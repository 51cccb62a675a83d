"""A Milvus server for each test module, and a port without a server."""

from __future__ import annotations

import socket
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


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Yield a port without a listener, which no other process can get in the meantime."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
