"""Time expressions in queries, and days in texts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from gnod.memory.recalling.time_expressions import days_in, periods, states_time

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


def test_states_time() -> None:
    assert states_time("I went there yesterday")
    assert states_time("letzte Woche war ich dort")
    assert states_time("since 8 May 2023")
    assert not states_time("I went there")
