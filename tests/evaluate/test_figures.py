"""The measures, compared with values calculated by hand to four decimals; the table of figures, and its notes."""

from __future__ import annotations

import msgspec

from gnod.evaluate import report
from gnod.evaluate.evaluation import Summary
from gnod.evaluate.measures import in_order, measure
from tests.evaluate.tiny import rounded

SUMMARY = Summary(
    collection="tiny",
    mode="keyword",
    documents=5,
    queries=2,
    unjudged_queries=0,
    rewritten_queries=0,
    refused_queries=0,
    measures={"nDCG@10": 0.75, "RR@10": 0.8, "R@100": 1.0, "MAP": 0.7},
    indexing_s=0.25,
    latency_ms={"p50": 1.0, "p95": 2.0, "p99": 3.0},
    per_query={"q1": 1.0, "q2": 0.5},
)


def _notes(**changes: object) -> list[str]:
    return list(report.table([msgspec.structs.replace(SUMMARY, **changes)]))[2:]


def test_the_mean_is_of_collections() -> None:
    other = msgspec.structs.replace(SUMMARY, collection="other", measures=dict.fromkeys(SUMMARY.measures, 0.0))
    assert [line.split()[:4] for line in report.table([SUMMARY, other])] == [
        ["collection", "mode", "nDCG@10", "RR@10"],
        ["tiny", "keyword", "0.7500", "0.8000"],
        ["other", "keyword", "0.0000", "0.0000"],
        ["mean", "keyword", "0.3750", "0.4000"],
    ]
    assert len(list(report.table([SUMMARY]))) == 2


def test_what_was_not_measured_is_reported() -> None:
    reasons = {"no time left": 1200, "odd": 3, "odder": 2, "oddest": 1}
    assert _notes(mode="hybrid", cut={"expand": reasons}) == [
        "tiny, hybrid: expand was skipped or cut short in 1,206 queries",
        "  1,200: no time left",
        "  3: odd",
        "  2: odder",
    ]
    assert _notes(failed_documents={"d\n1": "timeout: It took\x1b[2J too long."}) == [
        "tiny, keyword: 1 documents could not be indexed",
        "  d 1: timeout: It took [2J too long.",
    ]
    assert _notes(unjudged_queries=1, rewritten_queries=2, refused_queries=3) == [
        "tiny, keyword: 1 queries have no judgements and were left out",
        "tiny, keyword: 2 queries were run without their quotation marks",
        "tiny, keyword: 3 queries are not valid and score 0",
    ]


def test_a_judged_query_without_an_answer_scores_0() -> None:
    qrels = {"answered": {"a": 1}, "empty": {"a": 1}, "absent": {"a": 1}, "irrelevant": {"a": 0}}
    scores = measure(qrels, {"answered": [("a", 1.0)], "empty": [], "irrelevant": [("a", 1.0)]})
    assert scores.per_query == {"answered": 1.0, "empty": 0.0, "absent": 0.0, "irrelevant": 0.0}
    assert set(scores.mean.values()) == {0.25}
    assert set(measure(qrels, {}).mean.values()) == {0.0}


def test_a_query_without_judgements_does_not_count() -> None:
    scores = measure({"q": {"a": 1}}, {"q": [("a", 1.0)], "other": [("b", 1.0)]})
    assert scores.mean["nDCG@10"] == 1.0
    assert list(scores.per_query) == ["q"]


def test_ties_are_broken_by_docid() -> None:
    ranking = in_order([("b", 0.5), ("a", 0.5), ("c", 0.7)])
    assert ranking == [("c", 0.7), ("a", 0.5), ("b", 0.5)]
    assert round(measure({"q": {"a": 1}}, {"q": ranking}).mean["RR@10"], 4) == 0.5
    # trec_eval breaks ties the other way round. This must not affect the results.
    assert round(measure({"q": {"b": 1}}, {"q": ranking}).mean["MAP"], 4) == 0.3333


def test_what_is_below_the_cut_does_not_count() -> None:
    ranking = [(f"d{rank:03}", -float(rank)) for rank in range(1, 201)]
    scores = measure({"q": {"d011": 1, "d101": 1}}, {"q": ranking[:100]})
    assert rounded(scores.mean) == {"nDCG@10": 0.0, "RR@10": 0.0, "R@100": 0.5, "MAP": 0.0455}
