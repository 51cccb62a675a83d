"""A small reranker in a real worker, as the daemon uses it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gnod.errors import ModelNotPulled, ModelRejected
from gnod.models.files import ModelFiles
from gnod.models.run.inference import Inference
from gnod.models.run.roles import Reranker, RerankScores
from tests.models.tiny_ranker import SEED, CrossEncoder

pytestmark = pytest.mark.slow

DOCUMENTS = ["boats", "the tide turns", "blue book, blue boats!", ""]
MANY = [f"boat {number} leaves before the tide turns" for number in range(50_000)]


@asynccontextmanager
async def asked(path: Path) -> AsyncIterator[Reranker]:
    inference = Inference(idle_unload_s=60)
    try:
        yield Reranker(f"file:{path}", files=ModelFiles(path.parent), inference=inference, gpu=False, threads=2)
    finally:
        await inference.close()


async def test_every_document_gets_its_score(tmp_path: Path) -> None:
    model = CrossEncoder(SEED)
    async with asked(model.write(tmp_path / "tiny.gguf")) as reranker:
        scores = await reranker.score("who counts the boats", DOCUMENTS)
        expected = [model.score("who counts the boats", document) for document in DOCUMENTS]
        assert scores.values == pytest.approx(expected, abs=1e-3)
        assert scores.tokens > 40
        assert scores.took_s > 0
        assert await reranker.score("boats", []) == RerankScores([], 0, 0.0)


async def test_at_the_limit_the_first_have_scores(tmp_path: Path) -> None:
    async with asked(CrossEncoder(SEED).write(tmp_path / "tiny.gguf")) as reranker:
        expected = (await reranker.score("tide", MANY[:5])).values
        for limit_s in (0.5, 5.0, 50.0):  # on a busy machine, the shorter ones may be too short
            scores = await reranker.score("tide", MANY, limit_s=limit_s)
            if len(scores.values) >= 5:
                break
        assert 5 <= len(scores.values) < len(MANY)
        assert scores.values[:5] == pytest.approx(expected, abs=1e-4)
        assert (await reranker.score("tide", MANY, limit_s=0.0)).values == []
        assert (await reranker.score("tide", MANY[:5])).values == pytest.approx(expected, abs=1e-4)


async def test_its_speed_is_measured_before_its_first_work(tmp_path: Path) -> None:
    async with asked(CrossEncoder(SEED).write(tmp_path / "tiny.gguf")) as reranker:
        assert await reranker.measure(limit_s=0.0) is None
        speed = await reranker.measure(limit_s=60.0)
        assert speed is not None
        assert speed.window_characters > 300
        assert speed.characters_per_s > 100


async def test_cancelling_frees_the_worker_for_the_next_request(tmp_path: Path) -> None:
    async with asked(CrossEncoder(SEED).write(tmp_path / "tiny.gguf")) as reranker:
        await reranker.score("tide", ["boat"])
        for _ in range(5):
            task = asyncio.create_task(reranker.score("tide", MANY))
            await asyncio.sleep(0.1)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        async with asyncio.timeout(60):
            assert len((await reranker.score("tide", ["boat"])).values) == 1


async def test_a_model_that_cannot_rerank_is_reported(smollm_gguf: Path) -> None:
    async with asked(smollm_gguf) as reranker:
        with pytest.raises(ModelRejected):
            await reranker.score("tide", ["boat"])


async def test_a_missing_reranker_is_reported(tmp_path: Path) -> None:
    async with asked(tmp_path / "none.gguf") as reranker:
        with pytest.raises(ModelNotPulled, match="gnoctl models pull rerank"):
            await reranker.score("tide", ["boat"])
