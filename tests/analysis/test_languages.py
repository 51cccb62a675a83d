from __future__ import annotations

import pytest

from gnod.analysis.languages import detect
from gnod.analysis.stemming import stemming_language
from gnod.analysis.stopwords import function_words


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The daemon keeps the index of these folders exact and answers every search over a socket. " * 3),
        ("de", "Der Dienst hält das Verzeichnis dieser Ordner aktuell und beantwortet jede Suche sofort. " * 3),
        ("fr", "Le service garde à jour l'index de ces dossiers et répond à chaque recherche en un instant. " * 3),
        ("ja", "このデーモンはフォルダーの索引を正確に保ち、すべての検索にすぐ答えます。" * 4),
    ],
)
def test_prose_is_told_apart(language: str, text: str) -> None:
    assert detect(text) == language


@pytest.mark.parametrize("text", ["", "TODO", "x = 1\n" * 50, "```\nla la la la\n```\n" * 20])
def test_what_is_too_little_stays_unknown(text: str) -> None:
    assert detect(text) is None


def test_a_language_without_a_stemmer_uses_the_default() -> None:
    assert stemming_language("zh-Hant") == stemming_language(None) == "en"


def test_function_words_depend_on_the_language_of_the_question() -> None:
    assert function_words(["wie", "kann", "die", "Suche", "schneller", "werden"], ["de", "en"]) == {
        "wie",
        "kann",
        "die",
        "werden",
    }
    assert function_words(["die", "hard"], ["de", "en"]) == frozenset()
    assert "test" not in function_words(["how", "do", "I", "test", "the", "system"], ["en"])
    assert function_words(["how", "to", "do"], ["en"]) == frozenset()
