"""Time expressions in queries, and days in texts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from gnod.memory.recalling.time_expressions import days_in, days_meant, periods, relative_words

NOW = datetime(2026, 11, 22, 10, tzinfo=UTC)


def spans(query: str, *languages: str, latest: datetime | None = None) -> list[tuple[str, str]]:
    epoch = date(1970, 1, 1)
    found = periods(query, languages, NOW, latest)
    return [(str(epoch + timedelta(each.start)), str(epoch + timedelta(each.end))) for each in found]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "languages", "start", "end"),
    [
        ("What did we decide last May?", [], "2026-05-01", "2026-05-31"),
        ("What happened in 2023", [], "2023-01-01", "2023-12-31"),
        ("who came on 8 May, 2023?", [], "2023-05-08", "2023-05-08"),
        ("what broke yesterday", [], "2026-11-21", "2026-11-21"),
        ("last Friday's deploy", [], "2026-11-20", "2026-11-20"),
        ("what was done last week", [], "2026-11-09", "2026-11-15"),
        ("was haben wir vor zwei Wochen entschieden", ["de"], "2026-11-02", "2026-11-08"),
        ("qu'avons-nous fait en mai 2023", ["fr"], "2023-05-01", "2023-05-31"),
        ("2023年5月に何を決めた", [], "2023-05-01", "2023-05-31"),
    ],
)
def test_periods(query: str, languages: list[str], start: str, end: str) -> None:
    assert spans(query, *languages) == [(start, end)]


@pytest.mark.parametrize(
    "query",
    ["what do we do so often", "what may I do", "two weeks before the move", "the last boat", "how many days", "E4711"],
)
def test_what_names_no_time(query: str) -> None:
    assert spans(query) == []


def test_without_a_year_it_is_when_memories_were_stored() -> None:
    assert spans("in June", latest=datetime(2023, 10, 1, tzinfo=UTC)) == [("2023-06-01", "2023-06-30")]
    assert spans("in June 2025", latest=datetime(2023, 10, 1, tzinfo=UTC)) == [("2025-06-01", "2025-06-30")]


def test_days_in_texts() -> None:
    def shown(text: str) -> list[str]:
        return [str(date(1970, 1, 1) + timedelta(day)) for day in days_in(text)]

    assert shown("on 8 May, 2023 and May 9, 2023") == ["2023-05-08", "2023-05-09"]
    assert shown("am 8. Mai 2023, in März 2022") == ["2023-05-08", "2022-03-15"]
    assert shown("2023-05-08, 2023年5月8日") == ["2023-05-08", "2023-05-08"]
    assert shown("31 February 2023, version 2024, Boat 2023") == []


def meant(text: str, language: str, said: date) -> list[str]:
    epoch = date(1970, 1, 1)
    days = days_meant(relative_words(text, language), language, (said - epoch).days)
    return [str(epoch + timedelta(day)) for day in days]


@pytest.mark.parametrize(
    ("text", "language", "day"),
    [
        ("We met yesterday.", "en", "2026-11-21"),
        ("It broke last Tuesday, I think", "en", "2026-11-17"),
        ("The demo is next Friday!", "en", "2026-11-27"),
        ("She left two weeks ago.", "en", "2026-11-05"),
        ("The fair is next month", "en", "2026-12-16"),
        ("Gestern war ich beim Arzt", "de", "2026-11-21"),
        ("Wir haben uns vor zwei Wochen getroffen", "de", "2026-11-05"),
        ("On l'a vu la semaine dernière", "fr", "2026-11-12"),
        ("Lo vimos ayer", "es", "2026-11-21"),
        ("Na semana passada falhou", "pt", "2026-11-12"),
        ("Мы виделись на прошлой неделе", "ru", "2026-11-12"),
        ("Vi sågs igår", "sv", "2026-11-21"),
        ("Widzieliśmy się wczoraj", "pl", "2026-11-21"),
        ("昨日行きました", "ja", "2026-11-21"),
        ("上周去了北京", "zh", "2026-11-12"),
    ],
)
def test_relative_words_mean_a_day(text: str, language: str, day: str) -> None:
    assert meant(text, language, NOW.date()) == [day]


@pytest.mark.parametrize("text", ["I have lived here for 4 years", "next door", "99999 years ago", "on Friday", ""])
def test_other_words_mean_no_day(text: str) -> None:
    assert meant(text, "en", NOW.date()) == []


@pytest.mark.parametrize("first_or_last", [date.min, date.max])
def test_there_are_no_days_beyond_the_calendar(first_or_last: date) -> None:
    assert len(meant("last year, next year, yesterday or tomorrow", "en", first_or_last)) == 2


def test_what_is_said_relative_to_today() -> None:
    assert relative_words("letzte Woche war ich dort", "de") == ["letzte woche"]
    assert relative_words("I went there", "en") == []
    assert relative_words("Der Schlüssel liegt hier", "de") == [], "a word of another language"
