"""Test the detection of the language of short texts and queries without lingua's models."""

from __future__ import annotations

import doctest
import subprocess
import sys

import numpy as np
import pytest

from gnod.analysis import negations, short_texts, trigrams
from gnod.analysis.alphabets import LANGUAGES
from gnod.analysis.short_texts import detect_short
from gnod.analysis.stemming import SNOWBALL, stemming_language
from gnod.models.readability import samples
from scripts.distil_trigrams import all_trigrams, distilled


def test_the_examples() -> None:
    assert doctest.testmod(short_texts).failed == 0


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


@pytest.mark.slow
def test_nearly_every_sentence_gets_the_stemmer_of_its_language() -> None:
    sentences = [
        (code, text)
        for code, each in samples().items()
        for text in (*each.statements, *each.questions)
        if code in LANGUAGES
    ]
    for codes, least in ((SNOWBALL, 0.96), (LANGUAGES, 0.95)):
        found = [
            stemming_language(detect_short(text)) == stemming_language(code)
            for code, text in sentences
            if code in codes
        ]
        assert sum(found) >= least * len(found)


def test_unclear_texts_that_may_be_english_have_no_language() -> None:
    for text in ("", "...", "TODO", "docker compose", "PostgreSQL 16", "x = y_z(1)", "Anna, Bruno"):
        assert detect_short(text) is None, text


@pytest.mark.parametrize(
    "names",
    [
        "Anna Kowalska, Piotr Nowak, Małgorzata Zając",
        "José García, María López, Íñigo Núñez",
        "Zsófia Kovács, Gábor Tóth",
        "Jean-François Lefèvre, Hélène Dupont",
        "Иван Петров, Мария Сидорова",
        "Giovanni Rossi, Marco Bianchi, Lucia Ferrari",
        "Toyota Corolla, Honda Civic, Nissan Micra",
    ],
)
def test_names_have_no_language(names: str) -> None:
    assert detect_short(names) is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Überweisung Miete Oktober", "de"),  # nouns
        ("Réunion mardi à Lyon", "fr"),
        ("Anna Kowalska jest w Krakowie", "pl"),
        ("ЗУСТРІЧ КОМАНДИ В ПОНЕДІЛОК", "uk"),
        ("Città", "it"),
    ],
)
def test_capitalised_words_are_not_always_names(text: str, language: str) -> None:
    assert detect_short(text) == language


@pytest.mark.slow
def test_the_table_is_equal_to_linguas_models() -> None:
    rows = all_trigrams()[::250]
    assert np.abs(distilled(rows).astype(int) - trigrams.table()[::250]).max() <= 1


@pytest.mark.slow
def test_the_daemon_does_not_load_lingua() -> None:
    check = "import gnod.daemon.composition, sys; sys.exit('lingua' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
