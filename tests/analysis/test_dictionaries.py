"""Words of a language that no document needs to have."""

from __future__ import annotations

import pytest

from gnod.analysis.dictionaries import has_word


@pytest.mark.parametrize(
    ("word", "languages", "is_known"),
    [
        ("many", ["en"], True),
        ("Lange", ["de", "en"], True),
        ("KÖCHELN", ["de"], True),
        ("Straße", ["de"], True),
        ("certifcate", ["en", "de"], False),
        ("teh", ["en"], False),
        ("lange", ["en"], False),
        ("man", ["ja"], False),
        ("many", [], False),
        ("", ["en"], False),
        ('a": 1,\n"b', ["en"], False),
    ],
)
def test_words_of_a_language_are_told_from_slips(word: str, languages: list[str], is_known: bool) -> None:
    assert has_word(word, languages) == is_known
