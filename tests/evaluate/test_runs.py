"""Run files, saved figures, and comparing with them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gnod.errors import InvalidDataset, StorageFailed
from gnod.evaluate import report, runs
from gnod.evaluate.comparison import ChangedQuery, compare
from gnod.evaluate.evaluation import Summary
from tests.evaluate import tiny

SUMMARY = Summary(
    collection="tiny",
    mode="keyword",
    dataset_sha256="ab",
    documents=5,
    queries=2,
    unjudged_queries=1,
    rewritten_queries=0,
    refused_queries=0,
    measures={"nDCG@10": 0.75, "RR@10": 0.8, "R@100": 1.0, "MAP": 0.7},
    indexing_s=0.25,
    latency_ms={"p50": 1.0, "p95": 2.0, "p99": 3.0},
    per_query={"q1": 1.0, "q2": 0.5},
)


def _changed(**changes: object) -> Summary:
    return msgspec.structs.replace(SUMMARY, **changes)


def test_a_run_file_is_read_back() -> None:
    rankings = {"q1": [("a", 1.0), ("b", 0.25)], "q 2": [("100% c d\u3000e", 0.5)]}
    run = runs.format_trec(rankings, "gnod-keyword")
    assert run.text == (
        "q1 Q0 a 1 1.000000 gnod-keyword\n"
        "q1 Q0 b 2 0.250000 gnod-keyword\n"
        "q%202 Q0 100%25%20c%20d%E3%80%80e 1 0.500000 gnod-keyword\n"
    )
    assert run.encoded == 2
    assert tiny.parse_trec(run.text) == rankings


def test_scores_of_a_run_file_fall_from_rank_to_rank() -> None:
    text = runs.format_trec({"q": [("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 0.5)]}, "t").text
    assert [line.split()[4] for line in text.splitlines()] == ["1.000000", "0.999999", "0.999998", "0.500000"]


def test_saved_figures_are_read_back(tmp_path: Path) -> None:
    saved = runs.summarise([SUMMARY])
    runs.save(saved, tmp_path / "run.json")
    assert runs.load(tmp_path / "run.json") == saved
    assert saved.mean == {"keyword": SUMMARY.measures}


def test_the_mean_is_of_collections() -> None:
    other = _changed(collection="other", measures=dict.fromkeys(SUMMARY.measures, 0.0))
    assert runs.summarise([SUMMARY, other]).mean["keyword"]["nDCG@10"] == 0.375


@pytest.mark.parametrize("content", [b"", b"{}", b"[1", b'{"gnod": "\xff"}'])
def test_a_file_that_is_not_a_saved_run(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(InvalidDataset, match=r"run\.json is not a run that --save wrote"):
        runs.load(tmp_path / "run.json")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match=r"cannot write .*: Is a directory"):
        runs.save(runs.summarise([SUMMARY]), tmp_path)


def test_compare() -> None:
    now = _changed(measures={**SUMMARY.measures, "nDCG@10": 0.65}, per_query={"q1": 0.4, "q2": 0.9})
    [compared] = compare([now], [SUMMARY])
    assert round(compared.change["nDCG@10"], 4) == -0.1
    assert compared.change["MAP"] == 0
    assert (compared.better, compared.worse, compared.warnings) == (1, 1, [])
    assert compared.changed == [
        ChangedQuery(id="q1", before=1.0, after=0.4),
        ChangedQuery(id="q2", before=0.5, after=0.9),
    ]
    lines = list(report.comparison(compared, {"q1": "one\x1b[2J", "q2": "two"}))
    assert lines[1:3] == [
        "  nDCG@10 -0.1000  RR@10 +0.0000  R@100 +0.0000  MAP +0.0000",
        "  nDCG@10: 1 queries better, 1 worse",
    ]
    assert lines[3:] == ["  -0.6000  1.0000 → 0.4000  q1  one [2J", "  +0.4000  0.5000 → 0.9000  q2  two"]


def test_compare_warns_when_it_is_not_the_same_test() -> None:
    [compared] = compare([_changed(dataset_sha256="cd", queries=1, per_query={"q1": 1.0})], [SUMMARY])
    assert compared.warnings == [
        "the collection's files differ from those of the saved run",
        "1 queries were run, 2 in the saved run",
    ]


def test_compare_says_which_models_are_others() -> None:
    before = _changed(model="file:/a", rerank="file:/r")
    [compared] = compare([_changed(model="file:/b", budget_s=2.0)], [before])
    assert compared.warnings == [
        "model is file:/b, file:/a in the saved run",
        "rerank is none, file:/r in the saved run",
        "budget_s is 2.0, none in the saved run",
    ]


def test_only_runs_of_the_same_collection_and_mode_are_compared() -> None:
    assert compare([_changed(mode="vector"), _changed(collection="other")], [SUMMARY]) == []


def test_cut_stages_are_reported() -> None:
    reasons = {"no time left": 1200, "odd": 3, "odder": 2, "oddest": 1}
    lines = list(report.table(runs.summarise([_changed(mode="hybrid", cut={"expand": reasons})])))
    assert lines[-4:] == [
        "tiny, hybrid: expand was skipped or cut short in 1,206 queries",
        "  1,200: no time left",
        "  3: odd",
        "  2: odder",
    ]


def test_documents_that_could_not_be_indexed_are_reported() -> None:
    lines = list(report.table(runs.summarise([_changed(failed_documents={"d\n1": "timeout: It took too long."})])))
    assert lines[-2:] == ["tiny, keyword: 1 documents could not be indexed", "  d 1: timeout: It took too long."]
