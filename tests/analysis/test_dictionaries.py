"""Test the lookup of words in dictionaries, even if no document contains them."""

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
def test_typing_errors_are_not_words_of_a_language(word: str, languages: list[str], is_known: bool) -> None:
    assert has_word(word, languages) == is_known
