"""Analysing many words at once gives the same terms as analysing each word alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.analysis.stemming import SNOWBALL, UNSTEMMED, Stem
from gnod.analysis.terms import Analyzer, terms_of_many
from gnod.models.readability import samples

ANALYZERS = [Analyzer(language) for language in (*SNOWBALL, UNSTEMMED)]
_LETTERS = "".join(sorted({*"".join(text for each in samples().values() for text in each.statements)}))
# Letters of all languages, characters of identifiers, and letters that normalisation changes.
WORDS = st.lists(st.text(f"{_LETTERS}_.-'0aA１ａＡﬁİıßΣ\u0301", min_size=1, max_size=12), max_size=8, unique=True)


def _one_by_one(words: list[str]) -> dict[str, set[str]]:
    return {word: {analyzer.analyse(word)[0] for analyzer in ANALYZERS} for word in words}


@pytest.mark.slow
@given(WORDS)
def test_any_words(words: list[str]) -> None:
    assert terms_of_many(words, ANALYZERS) == _one_by_one(words)


@pytest.mark.slow
@pytest.mark.stress
def test_words_of_all_languages() -> None:
    words = sorted({word for each in samples().values() for text in each.statements for word in text.lower().split()})
    assert len(words) > 4000
    assert terms_of_many(words, ANALYZERS) == _one_by_one(words)


def test_stemmers_of_other_scripts_leave_latin_letters() -> None:
    """Therefore, the words of a query are stemmed in fewer languages."""
    words = {word for each in samples().values() for text in each.statements for word in text.lower().split()}
    latin = [word for word in words if word.isalpha() and max(word) < "\u0250"]
    plain = Stem(UNSTEMMED)
    for language in ("ar", "el", "hi", "hy", "ne", "ru", "ta", "yi"):
        stem = Stem(language)
        assert [stem(word) for word in latin] == [plain(word) for word in latin], language
