"""The language of a query, as far as a few words tell it."""

from __future__ import annotations

import doctest

import pytest

from gnod.analysis import negations, short_texts


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("how to check for the end of a file", "en"),
        ("how to check for eof in python", "en"),
        ("where are the boats of the harbour", "en"),
        ("wie prüfe ich das Ende einer Datei", "de"),
        ("Geschichte der Stadt Lübeck", "de"),
        ("comment renouveler un certificat expiré", "fr"),
        ("как обновить просроченный сертификат", "ru"),
        ("期限切れの証明書を更新する方法はなんですか", "ja"),
        ("short", None),
        ("die Hard 2", None),
        ("`code and more code` 1234567 foo_bar", None),
        ("", None),
    ],
)
def test_the_language_of_a_query(query: str, language: str | None) -> None:
    assert short_texts.detect_query(query) == language


def test_the_examples_of_negations() -> None:
    assert doctest.testmod(negations).failed == 0
    assert negations.negation("pas de pain", "fr") == "pas"
    assert negations.negation("no centro", "pt") is None
    assert negations.is_negated("zuckerfreier Kuchen", "de")
    assert not negations.is_negated("Kuchen mit Zucker", "de")
