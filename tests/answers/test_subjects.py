"""The identifiers in the subject of a sentence, in several languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.analysis.terms import Analyzer
from gnod.answers.subjects import identifiers

NAMES = frozenset({"jonas", "petersen"})


def about(sentence: str, language: str = "en") -> list[str]:
    found = identifiers(sentence, Analyzer(language), NAMES)
    dates = ["-".join(map(str, readings[0])) for readings in found.dates]
    return [*(figure.written for figure in found.figures), *dates, *found.names, *found.exact]


@pytest.mark.parametrize(
    ("sentence", "language", "expected"),
    [
        ("Bolt 3 needs 10 Nm.", "en", ["3"]),
        ("The bolt 3 needs 10 Nm.", "en", ["3"]),
        ("Room 12 is locked.", "en", ["12"]),
        ("Version 2.3 supports SSH.", "en", ["2.3"]),
        ("Version 2.3 of the tool is old.", "en", ["2.3"]),
        ("HTTP/3 is binary.", "en", ["3"]),
        ("Issue #12 is closed.", "en", ["12"]),
        ("Error F28 means no flame.", "en", ["F28"]),
        ("DEC-0057 replaces DEC-0012.", "en", ["DEC-0057"]),
        ("Jonas Petersen owns the boat.", "en", ["Jonas", "Petersen"]),
        ("The meeting of 2026-10-12 decided to buy a boat.", "en", ["2026-10-12"]),
        ("Die Pumpe 2 braucht 3 Liter.", "de", ["2"]),
        ("Raum 12 hat 40 Plätze.", "de", ["12"]),
        ("La salle 12 est fermée.", "fr", ["12"]),
        ("El tornillo 3 necesita 10 Nm.", "es", ["3"]),
        ("La stanza 12 è chiusa.", "it", ["12"]),
        ("Кабинет 12 был закрыт.", "ru", ["12"]),
    ],
)
def test_a_subject_has_an_identifier(sentence: str, language: str, expected: list[str]) -> None:
    assert about(sentence, language) == expected


@pytest.mark.parametrize(
    ("sentence", "language"),
    [
        ("Wait 5 minutes before the start.", "en"),
        ("Keep 14 days of backups.", "en"),
        ("We keep 14 days.", "en"),
        ("Backups take 12 minutes.", "en"),
        ("14 days of backups are kept.", "en"),
        ("The limit is `sync_timeout`.", "en"),
        ("In May 2008, the broadcaster was awarded two.", "en"),
        ("400 Leute waren 2009 dort.", "de"),
        ("Im Jahr 1891 konnte Jonas Petersen es herstellen.", "de"),
    ],
)
def test_a_quantity_or_a_time_is_no_subject(sentence: str, language: str) -> None:
    assert about(sentence, language) == []


@given(st.text(max_size=60), st.sampled_from(["en", "de", "ru", "none"]))
def test_any_text_has_a_subject_or_none(text: str, language: str) -> None:
    identifiers(text, Analyzer(language), NAMES)
