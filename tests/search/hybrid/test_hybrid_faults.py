"""The hybrid query when a model is missing, too slow, or dies: keyword search always answers, and the order never gets
worse."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.search.hybrid_bench import NOTES, bench, fused_order, paths, stages
from tests.small_index import SmallIndex

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


async def test_words_alone_always_answer(library: SmallIndex) -> None:
    async with bench(library) as without:
        found = await without.search("kitten sofa")
        assert paths(library, found) == ["cat.md"]
        assert found.vectors is None
        assert found.ranked[0].span is None
        said = stages(found)
        assert (said["embed"].ran, said["embed"].why) == (False, "no embedding model")
        assert (said["expand"].ran, said["expand"].why) == (False, "no model that expands")
        assert (said["rerank"].ran, said["rerank"].why) == (False, "no reranker")
        assert (said["knn"].ran, said["knn"].why) == (False, "no vectors")
        assert (await without.search("xqzzy")).ranked == []


async def test_models_that_are_not_here(library: SmallIndex, tmp_path: Path) -> None:
    gone = {role: tmp_path / f"{role}.gguf" for role in ("embed", "expand", "rerank")}
    async with bench(library, **gone) as without:
        found = await without.search("cat animal")
        assert sorted(paths(library, found)) == ["cat.md", "tiger.md"]
        for name in gone:
            stage = stages(found)[name]
            assert not stage.ran
            assert "gnoctl models pull" in (stage.why or "")


async def test_a_file_that_is_not_a_model(library: SmallIndex, tmp_path: Path, minilm_onnx: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF and nothing more")
    bad = tmp_path / "bad.gguf"
    async with bench(library, embed=bad, expand=bad, rerank=minilm_onnx) as without:
        found = await without.search("kitten cat")
        assert sorted(paths(library, found)) == ["cat.md", "tiger.md"]
        assert fused_order(found)
        assert all(stages(found)[name].why for name in ("embed", "expand", "rerank"))


@pytest.mark.stress
async def test_a_query_without_a_time_budget_is_a_keyword_search(
    library: SmallIndex, minilm_onnx: Path, smollm_gguf: Path, ranker: Path
) -> None:
    async with bench(library, embed=minilm_onnx, expand=smollm_gguf, rerank=ranker) as hurried:
        for _ in range(2):  # whether the models are loaded or not
            found = await hurried.search("kitten sofa", budget_s=0.0)
            assert paths(library, found) == ["cat.md"]
            assert not any(stages(found)[name].ran for name in ("embed", "expand", "knn", "rerank"))
            assert all("time" in (stages(found)[name].why or "") for name in ("embed", "expand"))
            await hurried.load()


async def test_lines_by_meaning_need_a_model(library: SmallIndex) -> None:
    async with bench(library) as without:
        found = await without.search("vec: pets that rest")
        assert found.ranked == []
        assert stages(found)["embed"].why == "no embedding model"
        assert paths(library, await without.search("lex: kitten\nvec: pets that rest")) == ["cat.md"]


@pytest.mark.stress
async def test_a_worker_that_hangs_takes_no_more_than_the_budget(
    library: SmallIndex, minilm_onnx: Path, smollm_gguf: Path, ranker: Path
) -> None:
    async with bench(library, embed=minilm_onnx, expand=smollm_gguf, rerank=ranker) as asked:
        await asked.load()
        with asked.stopped():
            started = time.monotonic()
            found = await asked.search("kitten", budget_s=0.5)
            took_s = time.monotonic() - started
        assert took_s < 30
        assert paths(library, found) == ["cat.md"]
        said = stages(found)
        assert "time" in (said["embed"].why or "")
        assert re.search("time|too slow", said["expand"].why or ""), said["expand"]
        assert not any(said[name].ran for name in ("embed", "knn", "rerank"))
        assert paths(library, await asked.search("kitten"))[0] == "cat.md", "the next search works again"


async def test_a_reranker_that_hangs_changes_nothing(library: SmallIndex, ranker: Path) -> None:
    async with bench(library, rerank=ranker) as asked:
        await asked.load()
        without = await asked.search("boat in the harbour", rerank=False)
        with asked.stopped():
            started = time.monotonic()
            found = await asked.search("boat in the harbour", budget_s=0.5)
            took_s = time.monotonic() - started
        assert took_s < 30
        assert [each.id for each in found.ranked] == [each.id for each in without.ranked]
        assert [each.score for each in found.ranked] == [each.score for each in without.ranked]
        assert not stages(found)["rerank"].ran
        assert "time" in (stages(found)["rerank"].why or "")


async def test_a_reranking_cut_short_leaves_the_unread_where_they_were(library: SmallIndex, ranker: Path) -> None:
    async with bench(library, rerank=ranker) as asked:
        await asked.load()
        whole = await asked.search("boat in the harbour", candidates=25)
        asked.tools.throughput.characters_per_s = 300.0  # as if the model were very slow
        cut = await asked.search("boat in the harbour", candidates=25, budget_s=20.0)
        stage = stages(cut)["rerank"]
        done = int(str(stage.details["documents"]))
        assert stage.ran
        assert 3 <= done < 25
        assert stage.why == f"there was only time to rerank {done} of 25 documents"
        ranks = [int(each.components["fused_rank"]) for each in cut.ranked]
        assert set(ranks[:done]) == set(range(1, done + 1))
        assert ranks[done:] == list(range(done + 1, len(ranks) + 1))
        both = [{each.id: each.score for each in found.ranked} for found in (whole, cut)]
        assert all(both[0][each.id] == pytest.approx(each.score) for each in cut.ranked[:done])


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.stress)])
async def test_a_reranker_that_is_killed_half_way(library: SmallIndex, ranker: Path, kills: int) -> None:
    async with bench(library, rerank=ranker) as asked:
        await asked.load()
        query = "boat in the harbour"
        whole, without = await asked.search(query), await asked.search(query, rerank=False)
        killed: set[int] = set()
        task = asyncio.create_task(asked.search(query, budget_s=6.0))
        while not task.done():
            pid = asked.inference.status().pid
            if pid and pid not in killed and len(killed) < kills:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)
            await asyncio.sleep(0.001)
        found = await task
        expected = whole if stages(found)["rerank"].ran else without
        assert [each.id for each in found.ranked] == [each.id for each in expected.ranked]
        assert [each.score for each in found.ranked] == pytest.approx([each.score for each in expected.ranked])
        assert stages(found)["rerank"].ran == (stages(found)["rerank"].why is None)
        assert killed
        if kills > 1:
            assert not stages(found)["rerank"].ran


async def test_a_document_that_is_removed_during_a_search_is_skipped(library: SmallIndex, tmp_path: Path) -> None:
    index = SmallIndex(tmp_path / "i.sqlite")
    index.add(NOTES, language="en")
    async with bench(index) as asked:
        searches = [asyncio.create_task(asked.search("boat harbour")) for _ in range(5)]
        index.remove(*(f"boat{n}.md" for n in range(20)))
        for found in await asyncio.gather(*searches):
            assert len(found.ranked) <= 25
        assert len((await asked.search("boat harbour")).ranked) == 5
    index.close()
