"""The whole measurement, through the real workers, store and pipeline, as a command in its own process."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gnod import extras
from gnod.errors import UsageError
from gnod.evaluate import command
from gnod.evaluate.dataset import read
from gnod.evaluate.evaluation import evaluate
from tests.evaluate import tiny
from tests.evaluate.measuring import measure
from tests.machine import wait_until

SHARED = Path(__file__).resolve().parents[3] / "shared" / "collections"


def _no_progress(what: str, done: int, total: int) -> None:
    pass


@pytest.fixture(autouse=True)
def no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not use the models that the user of this machine has fetched."""
    monkeypatch.setenv("GNO_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("GNO_CACHE_DIR", str(tmp_path / "cache"))


def _bench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "gnoctl", "bench", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.slow
def test_the_figures_worked_out_by_hand(tmp_path: Path) -> None:
    [run] = evaluate(read(tiny.write(tmp_path / "tiny")), ["keyword"], _no_progress)
    summary = run.summary
    assert {query: [found for found, _ in ranking] for query, ranking in run.rankings.items()} == {
        "graded": ["otters", "river"],
        "half": ["tea kettle"],
        "nothing": [],
        "refused": [],
        "rewritten": ["desk"],
    }
    assert tiny.rounded(summary.measures) == tiny.MEASURES
    assert tiny.rounded(summary.per_query) == tiny.PER_QUERY
    assert (summary.documents, summary.queries, summary.unjudged_queries) == (5, 5, 1)
    assert (summary.rewritten_queries, summary.refused_queries) == (1, 1)
    assert summary.failed_documents == {}
    assert 0 < summary.latency_ms["p50"] <= summary.latency_ms["p95"] <= summary.latency_ms["p99"]


@pytest.mark.slow
def test_a_table_for_people_and_json_for_programs(tmp_path: Path) -> None:
    folder = tiny.write(tmp_path / "tiny")
    first = _bench(folder, "--limit", "2", "--mode", "keyword", "-q")
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.splitlines()[0].split()[:6] == ["collection", "mode", "nDCG@10", "RR@10", "R@100", "MAP"]
    assert first.stdout.splitlines()[1].split()[:6] == ["tiny", "keyword", "0.7364", "1.0000", "0.7500", "0.7500"]
    status, out, err = measure(folder, "--json")
    assert (status, err.startswith("only keyword: the model pypi:")) == (0, True)
    answer = json.loads(out)
    [summary] = answer["runs"]
    assert tiny.rounded(summary["measures"]) == tiny.rounded(answer["mean"]["keyword"]) == tiny.MEASURES
    assert "per_query" not in summary


def test_what_is_refused(tmp_path: Path) -> None:
    folder, empty = tiny.write(tmp_path / "tiny"), tmp_path / "empty"
    empty.mkdir()
    refusals: list[tuple[list[str | Path], str]] = [
        ([empty], f"{empty / 'corpus.jsonl'} is missing"),
        ([folder, "--mode", "vector", "--model", "nonsense"], "'nonsense' is not a model's address: expected hf:"),
        ([folder, folder], "two folders are named 'tiny'"),
    ]
    for arguments, message in refusals:
        status, out, err = measure(*arguments)
        assert err.startswith(f"gnoctl: {message}")
        assert (status, err.count("\n"), out) == (2, 1, "")
    for words, message in (
        (["--mode", "psychic"], "--mode must be keyword, vector or hybrid"),
        (["--limit", "0"], "--limit must be >= 1"),
        (["--lim", "5"], "there is no option --lim; see `gnoctl bench --help`. Did you mean --limit?"),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            measure(folder, *words)


@pytest.mark.slow
def test_by_meaning(tmp_path: Path, minilm_onnx: Path, measured_models: Path) -> None:
    shutil.copytree(measured_models, tmp_path / "cache" / "models")
    folder = tiny.write(tmp_path / "tiny")
    status, out, _ = measure(folder, "--mode", "vector", "--model", f"file:{minilm_onnx}", "--json")
    assert status == 0
    [summary] = json.loads(out)["runs"]
    assert (summary["mode"], summary["model"]) == ("vector", f"file:{minilm_onnx}")
    assert summary["measures"]["R@100"] == 1, "every document is found, near or far"
    assert summary["measures"]["nDCG@10"] > 0.5
    status, _, err = measure(folder, "--mode", "vector")
    assert (status, "gnoctl models pull" in err) == (2, True)


def test_an_error_for_programs(tmp_path: Path) -> None:
    status, out, err = measure(tmp_path / "nowhere", "--json")
    assert json.loads(out)["error"]["details"]["kind"] == "folder_not_found"
    assert (status, err) == (2, "")


@pytest.mark.stress
def test_without_ir_measures_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ir_measures.py").write_text("raise ModuleNotFoundError(name='ir_measures')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    folder = tiny.write(tmp_path / "tiny")
    done = _bench(folder, "--mode", "keyword")
    assert (done.returncode, done.stdout) == (2, "")
    assert extras.command("bench") in done.stderr
    assert done.stderr.count("\n") == 1
    as_json = _bench(folder, "--json")
    assert as_json.returncode == 2
    assert json.loads(as_json.stdout)["error"]["details"] == {
        "extra": "bench",
        "kind": "dependency_missing",
        "code": 418,
    }
    assert _bench("--help").returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.stress)])
def test_an_interrupted_measurement_leaves_nothing_behind(how: signal.Signals, tmp_path: Path) -> None:
    folder, temporary = tiny.write(tmp_path / "large"), tmp_path / "tmp"
    temporary.mkdir()
    with (folder / "corpus.jsonl").open("a") as corpus:
        for number in range(20_000):
            corpus.write(json.dumps({"_id": f"n{number}", "title": "", "text": f"number {number} " * 50}) + "\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "gnoctl", "bench", "--mode", "keyword", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    wait_until(lambda: list(temporary.glob("gnod-bench-*/index.sqlite-wal")))
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("options", ["{}", "folder"])
def test_gnod_alone_does_not_measure(options: str) -> None:
    err = io.StringIO()
    assert command.main(options, io.StringIO(), err) == 2
    assert "the options of `gnoctl bench`" in err.getvalue()


@pytest.mark.stress
@pytest.mark.parametrize("name", ["gno-cjk", "qmd-eval"])
def test_collections_that_are_near_the_ceiling(name: str) -> None:
    if not (SHARED / name).is_dir():
        pytest.skip(f"{SHARED / name} is not there")
    [run] = evaluate(read(SHARED / name), ["keyword"], _no_progress)
    assert run.summary.measures["nDCG@10"] >= 0.95
