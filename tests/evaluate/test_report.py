"""The table of the figures, and the notes below it."""

from __future__ import annotations

import msgspec

from gnod.evaluate import report
from gnod.evaluate.evaluation import Summary

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
