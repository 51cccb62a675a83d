"""Words of a language that no document needs to have."""

from __future__ import annotations

import pytest

from gnod.analysis.dictionaries import has_word


@pytest.mark.parametrize(
    ("word", "languages"), [("many", ["en"]), ("Lange", ["de", "en"]), ("KÖCHELN", ["de"]), ("Straße", ["de"])]
)
def test_words_of_a_language_are_known(word: str, languages: list[str]) -> None:
    assert has_word(word, languages)


@pytest.mark.parametrize(
    ("word", "languages"),
    [
        ("certifcate", ["en", "de"]),
        ("teh", ["en"]),
        ("lange", ["en"]),
        ("man", ["ja"]),
        ("many", []),
        ("", ["en"]),
        ('a": 1,\n"b', ["en"]),
    ],
)
def test_slips_and_words_of_other_languages_are_not(word: str, languages: list[str]) -> None:
    assert not has_word(word, languages)
