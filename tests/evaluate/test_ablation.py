"""Paired bootstrap intervals, and the table of what each mode has more or less than the baseline."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnod.evaluate import report
from gnod.evaluate.comparison import Interval, bootstrap, contrasts, losses
from gnod.evaluate.evaluation import Summary
from tests.evaluate.test_runs import SUMMARY

differences = st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=1, max_size=60)


@settings(max_examples=20)
@given(differences)
def test_turned_round_the_interval_is_mirrored(values: list[float]) -> None:
    one, other = bootstrap(values), bootstrap([-value for value in values])
    assert (-other.mean, -other.high, -other.low) == pytest.approx((one.mean, one.low, one.high), abs=1e-12)


@settings(max_examples=20)
@given(differences)
def test_the_interval_lies_between_the_extremes(values: list[float]) -> None:
    found = bootstrap(values)
    assert min(values) - 1e-12 <= found.low <= found.high <= max(values) + 1e-12
    assert found == bootstrap(values), "it is the same each time"


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 7, 5000])
def test_runs_that_are_the_same_differ_by_nothing(count: int) -> None:
    found = bootstrap([0.0] * count)
    assert found == Interval(0.0, 0.0, 0.0)
    assert not found.excludes_zero


@pytest.mark.slow
@pytest.mark.parametrize("mean", [0.0, 0.05, -0.2])
def test_of_many_queries_it_is_that_of_the_normal_distribution(mean: float) -> None:
    values = np.random.default_rng(7).normal(mean, 0.3, 4000)
    found = bootstrap(list(values))
    half = 1.96 * values.std(ddof=1) / math.sqrt(len(values))
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.05 * half)
    assert found.excludes_zero == (mean != 0.0)


def test_a_change_in_one_query_of_many_proves_nothing() -> None:
    assert not bootstrap([0.5] + [0.0] * 49).excludes_zero
    assert bootstrap([0.1, 0.2] * 25).excludes_zero


def test_every_mode_beside_the_baseline_of_its_collection() -> None:
    baseline = msgspec.structs.replace(SUMMARY, mode="hybrid", per_query={"q1": 0.5, "q2": 0.75})
    keyword = msgspec.structs.replace(SUMMARY, per_query={"q1": 0.25, "q2": 0.5})
    alone = msgspec.structs.replace(SUMMARY, collection="other")
    [found] = contrasts([keyword, baseline, alone])
    assert (found.collection, found.mode, found.better, found.worse) == ("tiny", "keyword", 0, 2)
    assert found.change == Interval(-0.25, -0.25, -0.25)
    assert found.is_sure
    head, columns, row = report.ablation([found])
    assert head.startswith("nDCG@10 against hybrid, query by query. *: significant, 0 lies outside the interval (95%")
    assert columns.split() == ["collection", "mode", "change", "from", "to", "better", "worse"]
    assert row.split() == ["tiny", "keyword", "-0.2500", "-0.2500", "-0.2500", "*", "0", "2"]
    assert list(report.ablation([])) == []


def _run(collection: str, mode: str, score: float) -> Summary:
    measures = {**SUMMARY.measures, "nDCG@10": score}
    return msgspec.structs.replace(SUMMARY, collection=collection, mode=mode, measures=measures)


def test_hybrid_search_is_compared_with_its_better_side() -> None:
    runs = [
        *(_run("a", "keyword", 0.5), _run("a", "vector", 0.7), _run("a", "hybrid", 0.68)),
        *(_run("b", "keyword", 0.5), _run("b", "vector", 0.4), _run("b", "hybrid", 0.56)),
        *(_run("c", "keyword", 0.5), _run("c", "hybrid", 0.1)),
    ]
    found = losses(runs)
    assert [(each.better, each.change) for each in found] == [("vector", -0.02), ("keyword", 0.06)]
    printed = list(report.against_sides(found))
    assert printed[0] == "nDCG@10 of hybrid against the better of keyword and vector"
    assert [line.split()[-1] for line in printed[2:]] == ["-0.0200", "+0.0600", "+0.0200"]
    assert not list(report.against_sides([]))
