"""How a sentence differs from a claim: figures, dates, names, identifiers, negations, opposites; several languages."""

from __future__ import annotations

import pytest

from gnod.analysis.terms import Analyzer
from gnod.answers.claims import SourceTerms, claims
from gnod.answers.contradiction import Statement, differences


def differs(claim: str, sentence: str, language: str = "en") -> list[str] | None:
    analyzer = Analyzer(language)
    source = SourceTerms(sentence, language, analyzer)
    claimed = claims(claim, analyzer, source.capitalised)
    other = Statement(sentence, claims(sentence, analyzer, source.capitalised))
    return differences(Statement(claim, claimed), other, source.missing(claimed), analyzer)


@pytest.mark.parametrize(
    ("claim", "sentence", "language", "difference"),
    [
        ("Backups are kept for 14 days.", "We keep backups for 15 days.", "en", "14 ≠ 15"),
        ("Backups are kept for 14 days.", "We keep backups for 15 days, 3 of them at home.", "en", "14 ≠ 15"),
        ("Backups are kept for fourteen days.", "We keep backups for 15 days.", "en", "fourteen ≠ 15"),
        ("The crane costs 2,350 €.", "The crane costs 2,530 €.", "en", "2,350 ≠ 2,530"),
        ("It listens on port 8080.", "It listens on port 9090.", "en", "8080 ≠ 9090"),
        ("It fails in 8 % of the cases.", "It fails in 9% of the cases.", "en", "8 ≠ 9"),
        ("The bridge opened in 1901.", "The bridge opened on 3 May 1902.", "en", "1901 ≠ 1902"),
        ("They met on 12 October 2026.", "The meeting was on 2026-10-13.", "en", "2026-10-12 ≠ 2026-10-13"),
        ("He got three of the six parts.", "In May 2006, he got two of the six parts.", "en", "three ≠ two"),
        ("He sent his son Edward.", "William, King of England, sent his son Duncan to Rome.", "en", "Edward ≠ Duncan"),
        ("It is the least dense state.", "It is the most dense and second-largest state.", "en", "least ≠ most"),
        ("It takes 65 distinct powers of a 64-byte window.", "It takes 64 distinct powers.", "en", "65 ≠ 64"),
        ("It is not (for example) sorted.", "It is sorted.", "en", "not sorted ≠ sorted"),
        ("If it is needed, it is not sent.", "If it is not needed, it is not sent.", "en", "needed ≠ not needed"),
        ("They met in October.", "They met in November.", "en", "10 ≠ 11"),
        ("They deploy on Mondays.", "They deploy on Tuesdays.", "en", "Monday ≠ Tuesday"),
        ("The valve was replaced by Jonas.", "The valve was replaced by Mara.", "en", "Jonas ≠ Mara"),
        ("Error F28 means no flame.", "Error F29 means no flame.", "en", "F28 ≠ F29"),
        ("The limit is `sync_timeout`.", "The limit is `lock_timeout`.", "en", "sync_timeout ≠ lock_timeout"),
        ("Logs are in /var/log/gnod.", "Logs are in /var/lib/gnod.", "en", "/var/log/gnod ≠ /var/lib/gnod"),
        ("The tool needs Python.", "The tool does not need Python.", "en", "need ≠ not need"),
        ("The tool doesn't need Python.", "The tool needs Python.", "en", "not need ≠ need"),
        ("The file does not lack a date.", "The file lacks a date.", "en", "date ≠ not date"),
        ("Backups are never deleted.", "Backups are deleted.", "en", "not deleted ≠ deleted"),
        ("The option is enabled by default.", "The option is disabled by default.", "en", "enabled ≠ disabled"),
        ("It runs before the sync.", "It runs after the sync.", "en", "before ≠ after"),
        ("Das Programm braucht Python.", "Das Programm braucht Python nicht.", "de", "python ≠ not python"),
        ("Gäste sind nicht erlaubt.", "Gäste sind erlaubt.", "de", "not erlaubt ≠ erlaubt"),
        ("Der Kessel hat keine Pumpe.", "Der Kessel hat eine Pumpe.", "de", "not pumpe ≠ pumpe"),
        ("Le port n'est pas ouvert.", "Le port est ouvert.", "fr", "not ouvert ≠ ouvert"),
        ("El puerto no está abierto.", "El puerto está abierto.", "es", "not abierto ≠ abierto"),
        ("The founder was not Ada Lovelace.", "The founder was Ada Lovelace.", "en", "not ada ≠ ada"),
        ("A general was not Hervé.", "One who served as a general was Hervé.", "en", "not hervé ≠ hervé"),
        ("The port is not 8080.", "The port is 8080.", "en", "not 8080 ≠ 8080"),
        ("The version is not 2.3.", "The version is 2.3.", "en", "not 2.3 ≠ 2.3"),
        ("It is unable to acquire a lock.", "It will acquire a lock.", "en", "not acquire ≠ acquire"),
        ("Der Trainer war nicht Jonas.", "Der Trainer war Jonas.", "de", "not jonas ≠ jonas"),
        ("L'entraîneur n'était pas Jonas.", "L'entraîneur était Jonas.", "fr", "not jonas ≠ jonas"),
        ("El entrenador no era Jonás.", "El entrenador era Jonás.", "es", "not jonás ≠ jonás"),
        ("L'allenatore non era Marco.", "L'allenatore era Marco.", "it", "not marco ≠ marco"),
        ("O treinador não era João.", "O treinador era João.", "pt", "not joão ≠ joão"),
        ("De trainer was niet Jonas.", "De trainer was Jonas.", "nl", "not jonas ≠ jonas"),
        ("Tränaren var inte Jonas.", "Tränaren var Jonas.", "sv", "not jonas ≠ jonas"),
        ("Тренером был не Иван.", "Тренером был Иван.", "ru", "not иван ≠ иван"),
        ("電車は動きません。", "電車は動きます。", "ja", "one of them is negated"),
        ("火车不开。", "火车开。", "zh", "one of them is negated"),
    ],
)
def test_it_says_what_differs(claim: str, sentence: str, language: str, difference: str) -> None:
    assert differs(claim, sentence, language) == [difference]


@pytest.mark.parametrize(
    ("claim", "sentence", "language"),
    [
        ("Backups are kept for 14 days.", "We keep backups for fourteen days.", "en"),
        ("The tool is fast.", "The tool is fast and does not need Python.", "en"),
        ("The tool does not need Python.", "Python is not needed by the tool.", "en"),
        ("The file has no date.", "The file lacks a date.", "en"),
        ("It is not only fast.", "It is fast.", "en"),
        ("The option is not enabled.", "The option is disabled.", "en"),
        ("It cannot acquire a lock.", "It is unable to acquire a lock.", "en"),
        ("Die Tür ist nicht offen.", "Die Tür ist geschlossen.", "de"),
        ("It runs before the sync.", "It runs before, not after the sync.", "en"),
        ("Miso sleeps a lot.", "Miso never eats fish, sleeps a lot and purrs.", "en"),
        ("Gäste sind erlaubt.", "Gäste sind erlaubt, Hunde nicht.", "de"),
    ],
)
def test_the_same_is_no_difference(claim: str, sentence: str, language: str) -> None:
    assert differs(claim, sentence, language) == []


@pytest.mark.parametrize(
    ("claim", "sentence"),
    [
        ("Backups are kept for 14 days.", "We keep backups for 2 weeks."),
        ("Backups are kept for 14 days.", "We keep backups."),
        ("It costs 14.", "It costs between 15 and 16."),
        ("The meeting was on 12 October 2026.", "The meeting was in autumn."),
        ("The valve was replaced by Jonas.", "The valve was replaced."),
        ("Error F28 means no flame.", "The manual lists errors."),
        ("The plugin is not bundled.", "The plugin reads playlists."),
    ],
)
def test_what_a_sentence_does_not_say_is_no_contradiction(claim: str, sentence: str) -> None:
    assert differs(claim, sentence) is None


def test_a_negation_counts_though_the_language_of_the_claim_is_told_wrongly() -> None:
    analyzer = Analyzer("es")
    said, other = (
        Statement(text, claims(text, analyzer)) for text in ("It is not a bird of prey.", "It is a bird of prey.")
    )
    nothing = claims("", analyzer)
    assert differences(said, other, nothing, analyzer) == []
    assert differences(said, other, nothing, analyzer, {"en"}) == ["not bird ≠ bird"]
