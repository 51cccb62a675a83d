"""The trust in keywords and vectors for a document, by language, readability and learned factors; and the threshold
between documents about a query and loosely similar ones.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.models.readability import VERSION, LanguageReading, Readability
from gnod.search.ranking import fusion
from gnod.search.ranking.fusion import FEW_WORDS, NEAR, Facts, RetrieverResults, Trust, fuse, is_loose


def reads(**separations: float) -> Readability:
    """Return a model with these separations. The script of each language is the script of its samples."""
    languages = {
        language: LanguageReading(separation=value, centre=b"", deviation=0.1)
        for language, value in separations.items()
    }
    scripts = {"LATIN": 1.0, "DEVANAGARI": separations.get("hi", 1.0)}
    return Readability(version=VERSION, model="", languages=languages, scripts=scripts)


ENGLISH_ONLY = reads(en=1.0, de=0.56, hi=0.66)
BOTH = reads(en=1.0, de=1.0, hi=0.99)


def of(language: str | None, query: tuple[str | None, float], reader: Readability | None, prior: float = 1.0) -> Trust:
    facts = {1: Facts("#1", "notes", language)}
    return fusion.trusted(facts, *query, lambda _: reader, {"notes": prior}).get(1, Trust())


@pytest.mark.parametrize("language", ["de", "en", None])
def test_for_the_same_or_an_unknown_language_both_count(language: str | None) -> None:
    assert of(language, (language, 0.3), BOTH) == Trust()
    assert of(None, ("de", 0.3), BOTH) == Trust()
    assert of("de", (None, 0.3), BOTH) == Trust()


def test_in_another_language_keywords_count_as_much_as_they_found() -> None:
    assert of("en", ("de", 0.5), BOTH) == Trust(keyword=0.25)
    assert of("en", ("de", 0.5), ENGLISH_ONLY) == Trust(keyword=0.5)
    assert of("en", ("de", 0.5), None) == Trust(keyword=0.5)


def test_languages_that_share_words_count_as_the_same() -> None:
    assert of("nb", ("no", 0.3), BOTH) == Trust()


def test_what_the_model_cannot_read_has_no_vector_and_a_prior_changes_nothing() -> None:
    assert of("hi", ("hi", 1.0), ENGLISH_ONLY, prior=4.0) == Trust(vector=0.0)
    assert of("hi", ("hi", 1.0), BOTH, prior=4.0) == Trust(vector=4.0)


def test_a_language_of_a_script_that_can_be_read_is_not_excluded() -> None:
    assert of("de", ("de", 1.0), ENGLISH_ONLY) == Trust()


WORDS = RetrieverResults("lexical", 2.0, {1: 9.0, 2: 6.0, 3: 0.0}, 3, 5.0)
VECTORS = RetrieverResults("vector", 2.0, {3: 0.9, 2: 0.7, 1: 0.5}, 3, 5.0)


def order(found: dict[int, Trust]) -> list[int]:
    return [each.id for each in fuse("convex", [WORDS, VECTORS], lambda id_: id_, found).ranked]


def test_the_fusion_weighs_each_document_by_its_trust() -> None:
    assert order({}) == [2, 1, 3]
    assert order(dict.fromkeys((1, 2, 3), Trust(keyword=0.1))) == [3, 2, 1]
    assert order(dict.fromkeys((1, 2, 3), Trust(vector=0.0))) == [1, 2, 3]
    assert order({1: Trust(vector=0.0)})[0] == 1, "by keywords alone it is the best"


def test_the_shares_of_all_groups_are_reported() -> None:
    groups = {1: Trust(vector=3.0), 2: Trust(vector=0.0)}
    shares = fuse("convex", [WORDS, VECTORS], lambda id_: id_, groups).vector_shares
    assert shares == {Trust(): 0.5, Trust(vector=3.0): pytest.approx(0.75), Trust(vector=0.0): 0.0}


def test_a_document_that_cannot_have_a_vector_does_not_count_as_not_embedded() -> None:
    only_two = VECTORS._replace(scores={3: 0.9, 2: 0.7})
    assert fuse("convex", [WORDS, only_two], lambda id_: id_, {1: Trust(vector=0.0)}).vector_share == 0.5
    assert fuse("convex", [WORDS, only_two], lambda id_: id_, {}).vector_share == pytest.approx(1 / 3)


SHARE = st.floats(0, 1)
NEARNESS = st.none() | st.floats(-20, 20)


@pytest.mark.parametrize(
    ("share", "nearness", "expected"),
    [
        (0.0, 0.3, True),  # a nearest neighbour, as every query has
        (0.0, NEAR, False),  # the same meaning in other words
        (0.1, 1.0, True),
        (0.6, 1.6, False),  # most of the words, and rather near
        (1.0, -3.0, False),  # every word
        (0.0, None, True),
        (FEW_WORDS, None, False),
    ],
)
def test_words_and_nearness_are_evidence(share: float, nearness: float | None, expected: bool) -> None:
    assert is_loose(share, nearness) is expected


@given(SHARE, NEARNESS, st.floats(0, 1), st.floats(0, 5))
def test_more_evidence_never_makes_a_document_loose(
    share: float, nearness: float | None, words: float, nearer: float
) -> None:
    more = is_loose(min(share + words, 1.0), nearness if nearness is None else nearness + nearer)
    assert is_loose(share, nearness) or not more


@given(NEARNESS)
def test_a_document_with_every_word_is_never_loose(nearness: float | None) -> None:
    assert not is_loose(1.0, nearness)
    assert not is_loose(sum([0.1] * 10), nearness), "the sum of the shares of ten words"
