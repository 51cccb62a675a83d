"""Which factor is chosen: one that helps for certain, or none."""

from __future__ import annotations

import random

import pytest

from gnod.search.ranking.fusion import RetrieverResults
from gnod.tuning.choice import FACTORS, MIN_QUESTIONS, AskedQuestion, choose


def asked(count: int, *, right: str, seed: int = 1) -> list[AskedQuestion]:
    """Return questions of which one retriever knows the answer, while the other ranks by chance."""
    chance = random.Random(seed)

    def ranked(knows: bool) -> dict[int, float]:
        scores = {id_: chance.random() for id_ in range(1, 30)}
        scores[1] = 1.2 if knows else scores[1]
        return dict(sorted(scores.items(), key=lambda pair: -pair[1]))

    return [
        AskedQuestion(
            1,
            [
                RetrieverResults("lexical", 2.0, ranked(right in ("lexical", "both")), 29, 4.0),
                RetrieverResults("vector", 2.0, ranked(right in ("vector", "both")), 29, 4.0),
            ],
            {},
        )
        for _ in range(count)
    ]


@pytest.mark.slow
def test_the_side_that_knows_more_gets_more() -> None:
    for_vectors, for_words = choose(asked(120, right="vector")), choose(asked(120, right="lexical"))
    assert for_vectors.factor > 1 > for_words.factor
    for found in (for_vectors, for_words):
        assert found.after > found.before
    assert for_vectors.vector > for_vectors.before > for_vectors.keyword


def test_without_a_difference_nothing_changes() -> None:
    found = choose(asked(120, right="both"))
    assert found.factor == 1.0
    assert found.before == found.after


def test_a_few_questions_prove_nothing() -> None:
    assert choose(asked(MIN_QUESTIONS - 1, right="vector")).factor == 1.0
    assert 1.0 not in FACTORS


def test_it_is_the_same_each_time() -> None:
    assert choose(asked(60, right="vector")) == choose(asked(60, right="vector"))
