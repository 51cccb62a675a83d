"""The hybrid query with real models: MiniLM embeds, SmolLM2 expands, a cross-encoder of two layers with random weights
reranks."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.errors import QuerySyntaxError
from gnod.search.expansion.expander import Expander
from gnod.search.hybrid.reranking import FLOOR, blend
from tests.models.tiny_ranker import SEED, CrossEncoder
from tests.search.hybrid_bench import ENOUGH_S, NOTES, bench, fused_order, paths, stages
from tests.small_index import SmallIndex

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

QUESTION = "pets that rest in the house"


async def test_all_stages_run(library: SmallIndex, minilm_onnx: Path, smollm_gguf: Path, ranker: Path) -> None:
    async with bench(library, embed=minilm_onnx, expand=smollm_gguf, rerank=ranker) as with_all:
        expander = with_all.tools.expander
        assert isinstance(expander, Expander)
        # On a busy machine, an expansion for the cache may take longer than the limit of a query.
        written = await expander.expand(QUESTION, limit_s=ENOUGH_S)
        found = await with_all.search(QUESTION)
        said = stages(found)
        assert [said[name].ran for name in ("bm25", "embed", "expand", "knn", "fuse", "rerank")] == [True] * 6
        assert next(iter(said)) == "bm25"
        assert list(said)[-3:] == ["knn", "fuse", "rerank"]
        assert all(each.ms >= 0 for each in found.stages)
        assert said["expand"].details["cached"] is True
        assert said["expand"].details["variants"] == [f"{each.kind}: {each.text}" for each in written.variants]
        assert ("bm25 variants" in said) == any(each.kind == "lex" for each in written.variants)
        assert ("embed variants" in said) == any(each.kind != "lex" for each in written.variants)
        assert said["expand"].details["language"] == "en"
        assert said["rerank"].details["model"] == f"file:{ranker}"
        assert said["rerank"].details["documents"] == 20
        assert found.vectors is not None
        assert list(found.vectors.row(0)) == [f"file:{minilm_onnx}"]
        assert len(found.vectors.rows[f"file:{minilm_onnx}"]) == 1, "the query's own, without variants"
        assert all(0.0 <= each.score <= 1.0 for each in found.ranked)
        scores = [each.score for each in found.ranked]
        assert scores == sorted(scores, reverse=True)
        assert paths(library, await with_all.search(QUESTION)) == paths(library, found)


async def test_the_score_is_the_blend_of_the_components(library: SmallIndex, minilm_onnx: Path, ranker: Path) -> None:
    query, model = "which valve is E4711", CrossEncoder(SEED)
    async with bench(library, embed=minilm_onnx, rerank=ranker) as asked:
        for floor in (True, False):
            found = await asked.search(query, floor=floor)
            ranked = sorted(found.ranked, key=lambda each: each.components["fused_rank"])
            read = [each for each in ranked if "rerank" in each.components]
            assert [each.components["fused_rank"] for each in read] == [float(n) for n in range(1, 21)]
            path_of = dict(zip((each.id for each in found.ranked), paths(library, found), strict=True))
            for each in read:
                text = NOTES[path_of[each.id]]
                assert each.components["rerank"] == pytest.approx(model.score(query, text), abs=1e-3)
                assert each.components["floor"] == pytest.approx(FLOOR * each.components["matched"] * floor)
            (valve,) = (each for each in read if path_of[each.id] == "valve.md")
            assert valve.components["matched"] == 1.0
            raised = [max(each.components["rerank"], each.components["floor"]) for each in read]
            least = float(str(stages(found)["fuse"].details.get("least", 0)))
            expected = blend([each.components["fused"] for each in ranked], raised, least)
            assert [each.score for each in ranked] == pytest.approx(expected, abs=1e-3)


async def test_unwanted_stages_do_not_run(
    library: SmallIndex, minilm_onnx: Path, smollm_gguf: Path, ranker: Path
) -> None:
    async with bench(library, embed=minilm_onnx, expand=smollm_gguf, rerank=ranker) as asked:
        found = await asked.search("pets that rest", expand=False, rerank=False)
        said = stages(found)
        assert {name: said[name].why for name in ("expand", "rerank")} == {
            "expand": "turned off",
            "rerank": "turned off",
        }
        assert set(paths(library, found)[:2]) == {"cat.md", "tiger.md"}
        assert fused_order(found)
        assert all(0.0 <= each.score <= 1.0 for each in found.ranked)
        assert found.ranked[0].score == 1.0
        assert found.ranked[0].span is not None
        assert {"similarity", "fused", "fused_rank", "vector"} <= found.ranked[0].components.keys()


async def test_limits_and_methods(library: SmallIndex, minilm_onnx: Path) -> None:
    async with bench(library, embed=minilm_onnx) as asked:
        everything = await asked.search("boat in the harbour")
        assert everything.total == len(everything.ranked) == len(NOTES)
        few = await asked.search("boat in the harbour", limit=3)
        assert [each.id for each in few.ranked] == [each.id for each in everything.ranked[:3]]
        good = await asked.search("boat in the harbour", min_score=0.9)
        assert good.shown() == [each for each in everything.shown() if each.score >= 0.9]
        assert 1 <= len(good.ranked) < len(NOTES)
        by_ranks = await asked.search("boat in the harbour", fusion="rrf")
        assert stages(by_ranks)["fuse"].details["method"] == "rrf"
        assert "vector_share" not in stages(by_ranks)["fuse"].details
        assert by_ranks.ranked[0].components["bonus"] == 0.05
        assert 0 < float(str(stages(everything)["fuse"].details["vector_share"])) < 1


async def test_lines_for_control(library: SmallIndex, minilm_onnx: Path, smollm_gguf: Path) -> None:
    async with bench(library, embed=minilm_onnx, expand=smollm_gguf) as asked:
        lex = await asked.search("lex: kitten")
        assert paths(library, lex) == ["cat.md"]
        assert "embed" not in stages(lex)
        assert lex.vectors is None
        vec = await asked.search("vec: pets that rest")
        assert set(paths(library, vec)[:2]) == {"cat.md", "tiger.md"}
        assert "bm25" not in stages(vec)
        assert len(vec.ranked) == len(NOTES)
        hyde = await asked.search("hyde: Mix the dough, let it rise and put it into the oven.")
        assert paths(library, hyde)[0] == "bread.md"
        assert hyde.vectors is not None
        for each in (lex, vec, hyde):
            assert stages(each)["expand"].why == "a structured query is not expanded"
        mixed = await asked.search("lex: boat -kitten\nhyde: It leaves.\nvec: how is bread made\nvec: pets that rest")
        assert "cat.md" not in paths(library, mixed)
        assert "bread.md" in paths(library, mixed)[:10]
        assert stages(mixed)["embed"].details["texts"] == 3


async def test_a_strong_signal_needs_no_expansion(library: SmallIndex, smollm_gguf: Path) -> None:
    async with bench(library, expand=smollm_gguf) as asked:
        found = await asked.search("zirconium flange torque valve E4711")
        assert paths(library, found)[0] == "valve.md"
        assert (stages(found)["expand"].why or "").startswith("skipped_strong")
        assert not stages(found)["expand"].ran
        assert asked.inference.status().state == "off", "the model was not used"
        weak = await asked.search("boat", budget_s=0.3)
        assert not (stages(weak)["expand"].why or "").startswith("skipped_strong")


async def test_concurrent_queries_get_the_same_results(library: SmallIndex, minilm_onnx: Path, ranker: Path) -> None:
    queries = ["pets that rest", "E4711", "how is bread made", "boat in the harbour", "vec: paper", "lex: tide -kitten"]
    async with bench(library, embed=minilm_onnx, rerank=ranker) as asked:
        alone = [await asked.search(query) for query in queries]
        together = await asyncio.gather(*(asked.search(query) for query in queries * 3))
        for number, found in enumerate(together):
            expected = alone[number % len(queries)]
            # Vectors of a batch differ in the last digits, so equal documents may change places.
            scores = {each.id: each.score for each in expected.ranked}
            assert {each.id: each.score for each in found.ranked} == pytest.approx(scores, abs=0.02)
            assert found.ranked[0].id == expected.ranked[0].id


@given(
    st.text(max_size=60)
    | st.text('lexvchyd: \n"-*()^{}+.~kitenbo', max_size=60)
    | st.lists(st.sampled_from(["lex:", "vec:", "hyde:", "kitten", '"big cat"', "-boat", "\n", " ", "NEAR(a b)"])).map(
        "".join
    )
)
def test_any_text_is_a_query_or_a_clean_error(library: SmallIndex, query: str) -> None:
    async def search() -> None:
        async with bench(library) as asked:
            found = await asked.search(query)
            assert all(0.0 <= each.score <= 1.0 for each in found.ranked)

    with suppress(QuerySyntaxError):
        asyncio.run(search())
