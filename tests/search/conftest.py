"""Fixtures of the hybrid query's tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.tiny_ranker import SEED, CrossEncoder
from tests.search.hybrid_bench import NOTES, embed_all
from tests.small_index import SmallIndex


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory, minilm_onnx: Path) -> Iterator[SmallIndex]:
    """The notes with their vectors, for tests that only read."""
    index = SmallIndex(tmp_path_factory.mktemp("hybrid") / "i.sqlite")
    index.add(NOTES, language="en")
    asyncio.run(embed_all(index, minilm_onnx))
    yield index
    index.close()


@pytest.fixture(scope="session")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return CrossEncoder(SEED).write(tmp_path_factory.mktemp("ranker") / "tiny.gguf")
