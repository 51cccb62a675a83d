"""Expected scores to four decimals, worked out by hand."""

from __future__ import annotations

from gnod.evaluate.measures import in_order, measure
from tests.evaluate.tiny import rounded


def test_one_relevant_document_at_rank_three() -> None:
    scores = measure({"q": {"c": 1}}, {"q": [("a", 0.9), ("b", 0.5), ("c", 0.1)]})
    assert rounded(scores.mean) == {"nDCG@10": 0.5, "RR@10": 0.3333, "R@100": 1.0, "MAP": 0.3333}


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
    # trec_eval's own rule is the other way round, and must not show.
    assert round(measure({"q": {"b": 1}}, {"q": ranking}).mean["MAP"], 4) == 0.3333


def test_what_is_below_the_cut_does_not_count() -> None:
    ranking = [(f"d{rank:03}", -float(rank)) for rank in range(1, 201)]
    scores = measure({"q": {"d011": 1, "d101": 1}}, {"q": ranking[:100]})
    assert rounded(scores.mean) == {"nDCG@10": 0.0, "RR@10": 0.0, "R@100": 0.5, "MAP": 0.0455}
