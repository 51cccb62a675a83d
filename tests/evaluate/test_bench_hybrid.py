"""The measurement of hybrid queries through the real pipeline, with real models and with small artificial ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnod.models.files import ModelFiles
from tests.evaluate import tiny
from tests.evaluate.measuring import measure
from tests.models import tiny_embedder
from tests.models.tiny_ranker import SEED, CrossEncoder

pytestmark = pytest.mark.slow

Measured = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use this folder of models, not the folder of the user who runs the tests."""
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


def test_hybrid_search_finds_what_has_no_word_of_the_query(tmp_path: Path, measured: Measured) -> None:
    uri = f"file:{CrossEncoder(SEED).write(tmp_path / 'tiny.gguf')}"
    status, out, _ = measured("--mode=keyword", "--mode=hybrid", f"--rerank={uri}", "--json")
    runs = _by_mode(out)
    assert (status, list(runs)) == (0, ["keyword", "hybrid"])
    assert runs["keyword"].keys().isdisjoint({"model", "rerank"})
    hybrid = runs["hybrid"]
    assert hybrid["refused_queries"] == 1
    assert hybrid["measures"]["R@100"] == 4 / 5
    assert (hybrid["model"].startswith("file:"), hybrid["rerank"]) == (True, uri)
    assert hybrid.keys().isdisjoint({"expand", "cut"})


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


@pytest.mark.stress
def test_queries_are_expanded_by_a_model_that_writes(smollm_gguf: Path, measured: Measured) -> None:
    status, out, _ = measured("--mode=hybrid", f"--expand=file:{smollm_gguf}", "--limit=1", "--json")
    assert (status, bool(_by_mode(out)["hybrid"].get("expand"))) == (0, True)


def test_unsuitable_models_are_refused(minilm_onnx: Path, measured: Measured) -> None:
    """The search itself would continue without them, and the figures would measure something else."""
    for option, message in [
        (f"--rerank=file:{minilm_onnx}", "gnoctl: the model has no classification head"),
        (f"--expand=file:{minilm_onnx}", "gnoctl: the model does not write text"),
        ("--rerank=file:/nowhere/x.gguf", "gnoctl: the model file:/nowhere/x.gguf is not on this machine yet"),
    ]:
        status, out, err = measured("--mode=hybrid", option, "--quiet")
        assert status in (1, 2)
        assert err.startswith(message)
        assert out == ""
