"""The hybrid query measured through the real pipeline, with real models and with small ones made up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnod.models.files import ModelFiles
from gnod.search.ranking import fusion
from tests.evaluate import tiny
from tests.evaluate.measuring import measure
from tests.models import tiny_embedder
from tests.models.tiny_ranker import SEED, CrossEncoder

pytestmark = pytest.mark.slow

Measured = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use this folder of models, not that of the user who runs the tests."""
    monkeypatch.setenv("GNO_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("GNO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


@pytest.fixture
def measured(tmp_path: Path, models: Path, minilm_onnx: Path, measured_models: Path) -> Measured:
    """Run `gnod bench` on the tiny collection. Returns status, output and errors."""
    shutil.copytree(measured_models, models)

    def run(*words: str) -> tuple[int, str, str]:
        return measure(tiny.write(tmp_path / "tiny"), f"--model=file:{minilm_onnx}", *words)

    return run


def _by_mode(printed: str) -> dict[str, dict[str, Any]]:
    return {run["mode"]: run for run in json.loads(printed)["runs"]}


def test_fusion_methods_are_compared(measured: Measured) -> None:
    status, out, _ = measured("--mode=hybrid", "--mode=hybrid-rrf", "--json")
    runs = _by_mode(out)
    assert (status, list(runs)) == (0, ["hybrid", "hybrid-rrf"])
    for run in runs.values():
        assert run["refused_queries"] == 1
        assert run["measures"]["R@100"] == 4 / 5, "what has no word of the query is found by meaning"
        assert run["measures"]["nDCG@10"] > tiny.MEASURES["nDCG@10"]
        assert run["model"].startswith("file:")
        assert run.keys().isdisjoint({"expand", "rerank", "budget_s", "cut"})
    [change] = json.loads(out)["contrasts"]
    assert change["mode"] == "hybrid-rrf"
    assert change.keys() == {"collection", "mode", "change", "is_sure", "better", "worse"}


@pytest.mark.stress
def test_quotes_and_evidence_are_measured_where_a_collection_has_answers(measured: Measured, tmp_path: Path) -> None:
    folder = tiny.write(tmp_path / "tiny")
    rows = "graded\triver\totter\nhalf\tdesk\tmahogany\nrewritten\tdesk\tA wooden  desk\nunjudged\tlamp\tlamp\n"
    (folder / "answers.tsv").write_text("query-id\tcorpus-id\tanswer\n" + rows)
    status, out, _ = measured("--mode=keyword", "--mode=hybrid", "--json")
    runs = _by_mode(out)
    assert status == 0
    assert runs["keyword"].keys().isdisjoint({"quotes", "evidence"})
    quotes, evidence = runs["hybrid"]["quotes"], runs["hybrid"]["evidence"]
    for figures in (quotes, evidence):
        assert figures["latency_ms"]["p50"] <= figures["latency_ms"]["p95"]
    quotes.pop("latency_ms")
    assert quotes == {"questions": 3, "first": 2 / 3, "three": 2 / 3, "exact": 1.0}
    assert (evidence["questions"], evidence["max_tokens"], evidence["answers"]) == (5, 1000, 2 / 3)
    assert evidence["hits"] >= 0.4
    assert evidence["documents"] <= evidence["hits"]
    assert evidence["tokens_per_hit"] == pytest.approx(evidence["tokens"] / evidence["hits"])
    ranker = CrossEncoder(SEED).write(tmp_path / "ranker.gguf")
    reranked = _by_mode(measured("--mode=hybrid", f"--rerank=file:{ranker}", "--json")[1])["hybrid"]["quotes"]
    assert (reranked["questions"], reranked["exact"]) == (3, 1.0)
    printed = measured("--mode=hybrid")[1]
    assert "share of questions whose answer is in the first one" in printed
    assert "evidence within 1,000 tokens" in printed
    (folder / "answers.tsv").write_text("graded\triver\n")
    assert "answers.tsv, line 1: expected query-id, corpus-id and an answer" in measured("--mode=hybrid")[2]


def test_abstention_is_measured_without_the_relevant_documents_and_their_copies(
    tmp_path: Path, models: Path, minilm_onnx: Path, measured_models: Path
) -> None:
    shutil.copytree(measured_models, models)
    folder = tiny.write(tmp_path / "tiny")
    texts = {
        "crane": "Tower cranes must stop when the wind is stronger than 20 m/s.",
        "copy": "Tower cranes must stop when  the wind\nis stronger than 20 m/s.",
        "cat": "The kitten is called Miso. It sleeps on the sofa all day.",
        "boiler": "The safety valve of boiler 3 opens at 12 bar.",
        "lamp": "A lamp of brass stands in the hall.",
    }
    asked = {"crane": "When must tower cranes stop?", "cat": "What is the kitten called?"}
    unanswerable = {"who": "Which submarine won the regatta?"}
    for name, rows in {"corpus": texts, "queries": asked, "unanswerable": unanswerable}.items():
        tiny.write_lines(folder / f"{name}.jsonl", [{"_id": id_, "text": text} for id_, text in rows.items()])
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\ncrane\tcrane\t1\ncat\tcat\t-1\n")
    words = [str(folder), f"--model=file:{minilm_onnx}", "--mode=hybrid"]
    status, out, _ = measure(*words, "--json")
    assert status == 0
    assert _by_mode(out)["hybrid"]["abstention"] == {
        "questions": 2,
        "auroc": 1.0,
        "answered": 1.0,
        "answered_without": 0.0,
        "unanswerable": 1,
        "answered_unanswerable": 0.0,
    }
    assert "confidence: each question with and without its relevant documents; AUROC" in measure(*words)[1]


@pytest.mark.stress
def test_a_model_that_was_never_measured_is_measured_first(tmp_path: Path, models: Path) -> None:
    model = tiny_embedder.write(tmp_path / "tiny")
    folder = tiny.write(tmp_path / "tiny")
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "half", "text": "чайник"}) + "\n")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nhalf\tdesk\t1\n")
    status, out, _ = measure(folder, f"--model=file:{model}", "--mode=hybrid", "--json")
    assert status == 0
    assert ModelFiles(models).readability_for(f"file:{model}").exists()
    assert _by_mode(out)["hybrid"]["measures"]["R@100"] == 0, "the model cannot read the query's script"


def test_an_ablation_with_a_reranker(tmp_path: Path, measured: Measured) -> None:
    ranker = CrossEncoder(SEED).write(tmp_path / "tiny.gguf")
    status, out, err = measured("--ablation", f"--rerank=file:{ranker}")
    assert status == 0
    assert err.startswith("measured without query expansion and without hybrid-no-expand")
    runs, contrasts, _ = out.split("\n\n", 2)
    modes = ["hybrid", "hybrid-rrf", "hybrid-no-rerank", "hybrid-no-floor"]
    assert [line.split()[1] for line in runs.splitlines()[1:5]] == modes
    assert contrasts.startswith("nDCG@10 against hybrid, query by query. *: significant")
    assert [line.split()[1] for line in contrasts.partition("\n\n")[0].splitlines()[2:]] == modes[1:]


def test_the_models_of_each_run_are_reported(tmp_path: Path, measured: Measured) -> None:
    uri = f"file:{CrossEncoder(SEED).write(tmp_path / 'tiny.gguf')}"
    modes = ["--mode=keyword", "--mode=hybrid", "--mode=hybrid-no-rerank"]
    status, out, _ = measured(*modes, f"--rerank={uri}", "--budget=0.06", "--json")
    runs = _by_mode(out)
    assert status == 0
    assert [run.get("rerank") for run in runs.values()] == [None, uri, None]
    assert [run.get("budget_s") for run in runs.values()] == [None, 0.06, 0.06]
    assert sum(runs["hybrid"]["cut"]["rerank"].values()) >= 4, "60 ms are not enough to rerank"
    assert "rerank" not in runs["hybrid-no-rerank"].get("cut", {})


@pytest.mark.stress
def test_an_ablation_with_a_model_that_writes(smollm_gguf: Path, measured: Measured) -> None:
    modes = ["--mode=hybrid", "--mode=hybrid-no-expand"]
    status, out, _ = measured(*modes, f"--expand=file:{smollm_gguf}", "--limit=1", "--json")
    runs = _by_mode(out)
    assert (status, len(runs)) == (0, 2)
    assert [bool(run.get("expand")) for run in runs.values()] == [True, False]


def test_unsuitable_models_are_refused(minilm_onnx: Path, measured: Measured) -> None:
    """The search itself would go on without them, and the figures would be those of something else."""
    for option, message in [
        (f"--rerank=file:{minilm_onnx}", "gnoctl: the model has no classification head"),
        (f"--expand=file:{minilm_onnx}", "gnoctl: the model does not write text"),
        ("--rerank=file:/nowhere/x.gguf", "gnoctl: the model file:/nowhere/x.gguf is not on this machine yet"),
    ]:
        status, out, err = measured("--mode=hybrid", option, "--quiet")
        assert status in (1, 2)
        assert err.startswith(message)
        assert out == ""


@pytest.mark.stress
def test_a_loss_against_the_better_side_is_a_failure(measured: Measured) -> None:
    status, out, err = measured("--never-below=0.9")
    assert (status, err.count("loses")) == (0, 0)
    assert "nDCG@10 of hybrid against the better of keyword and vector" in out
    status, out, err = measured("--never-below=0.01", "--mode=keyword", "--mode=hybrid")
    assert status == 2
    assert "--never-below needs the modes keyword, vector and hybrid" in err
    with_loss = losing(measured)
    assert with_loss[0] == 2
    assert "hybrid search loses more than 0: tiny (" in with_loss[2]


def losing(measured: Measured) -> tuple[int, str, str]:
    """Measure while the fusion turns the ranking round."""
    turned = fusion.METHODS["convex"]

    def worst_first(lists: Any, order: Any, trust: Any) -> fusion.Fusion:
        found = turned(lists, order, trust)
        return found._replace(ranked=[each._replace(score=1 - each.score) for each in found.ranked])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fusion, "METHODS", {**fusion.METHODS, "convex": worst_first})
        return measured("--never-below=0")
