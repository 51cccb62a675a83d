"""Figures, dates, names and identifiers of a sentence, and whether a source has them in any form."""

from __future__ import annotations

import calendar
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.analysis.terms import Analyzer
from gnod.answers import numerals
from gnod.answers.claims import Claims, SourceTerms, claims


def missing(sentence: str, source: str, language: str = "en", source_language: str | None = None) -> list[str]:
    analyzer = Analyzer(language)
    evidence = SourceTerms(source, source_language or language, analyzer)
    return shown(evidence.missing(claims(sentence, analyzer, evidence.capitalised)))


def shown(found: Claims) -> list[str]:
    return [
        *("/".join(sorted(figure.readings)) for figure in found.figures),
        *(str(readings[0]) for readings in found.dates),
        *(f"weekday {each}" for each in found.weekdays),
        *found.names,
        *found.exact,
    ]


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("The crane costs 2,350 €.", "It costs 2.350 €."),
        ("The crane costs 2350 €.", "It costs 2 350 €."),
        ("The crane costs 2 350 €.", "It costs 2,350 €."),
        ("It costs 1.5 bar.", "1,50 bar"),
        ("It is 1'234'567.", "It is 1,234,567."),
        ("It takes twelve minutes.", "It takes 12 minutes."),
        ("It takes 12 minutes.", "It takes twelve minutes."),
        ("It is at 19:00.", "It is at 19.00 or 19:00."),
        ("It is at 9:30.", "It is at 09:30."),
        ("It was on the 15th.", "It was on 2026-10-15."),
        ("They met on 12 October 2026.", "The meeting of 2026-10-12"),
        ("They met on October 12, 2026.", "The meeting of 12.10.2026"),
        ("They met on 12.10.2026.", "The meeting of 12 October 2026"),
        ("They met on 12/10/2026.", "The meeting of 2026-10-12"),
        ("They met on 12 October 2026.", "会議は二〇二六年十月十二日。"),
        ("They met on 12 October.", "The meeting of 2026-10-12"),
        ("They met on 12 October 2026.", "# Meetings of 2026\n\nOn 12 October we met."),
        ("They met in October.", "2026-10-12"),
        ("They deploy on Mondays.", "not on a monday"),
        ("It was Jonas Petersen's idea.", "Petersen, Jonas: an idea"),
        ("Use `git push --tags` now.", "Then: `git push\n  --tags`."),
        ("Error F28 is in net.core.rmem_max and DEC-0057.", "f28 (net.core.rmem_max), see DEC 0057"),
        ("It is written in C++.", "The C++ one stays."),
    ],
)
def test_the_same_in_another_form(sentence: str, source: str) -> None:
    assert missing(sentence, source) == []


@pytest.mark.parametrize(
    ("sentence", "source", "lacks"),
    [
        ("A backup is restored every 12 hours.", "One restore on the first Monday of each month.", "12"),
        ("A backup is restored every twelve hours.", "One restore on the first Monday of each month.", "12"),
        ("It costs 2,350 €.", "It costs 2,530 €.", "2.35/2350"),
        ("They met on 13 October 2026.", "The meeting of 2026-10-12", "Date(year=2026, month=10, day=13)"),
        ("They met in November.", "The meeting of 2026-10-12", "Date(year=0, month=11, day=0)"),
        ("They met on 12 October 2025.", "The meeting of 12 October", "Date(year=2025, month=10, day=12)"),
        ("They deploy on Friday.", "between Monday and Thursday", "weekday 4"),
        ("It was the idea of Jonas.", "It was the idea of Mara.", "Jonas"),
        ("It is written in C.", "It is written in C++.", "C"),
        ("It means F29.", "It means F28.", "F29"),
        ("Set net.core.wmem_max now.", "Set net.core.rmem_max now.", "net.core.wmem_max"),
        ("Run `rm -rf /` now.", "Run `ls /` now.", "rm -rf /"),
    ],
)
def test_what_the_source_does_not_say(sentence: str, source: str, lacks: str) -> None:
    assert missing(sentence, source) == [lacks]


def test_other_languages() -> None:
    assert missing("Der Kessel wurde am 3. November 2025 geprüft.", "Letzte Prüfung: 3.11.2025", "de") == []
    assert missing("Geprüft von Jonas Petersen.", "Geprüft von Mara Petersen.", "de") == ["Jonas"]
    assert missing("Montag um 9:00.", "On Monday at 9:00.", "de", "en") == []
    assert missing("帰りの電車は17時です。", "帰りの電車は十七時。", "ja") == []
    assert missing("帰りの電車は十八時です。", "帰りの電車は十七時。", "ja") == ["18"]
    assert missing("田中さんはトロッコで行く。", "山田さんは電車で行く。", "ja") == ["トロッコ", "田中"]
    assert missing("इसकी कीमत १२३ रुपये है।", "कीमत: 123", "hi") == []
    assert missing("Машину купил Иван.", "Машину купил Пётр.", "ru") == ["Иван"]
    assert missing("Kupił go Jan, łatwo.", "Kupił go Adam.", "pl") == ["Jan"]
    assert missing("Kyoto has a temple.", "京都には寺がある。", "en", "ja") == []


@given(st.text(max_size=60))
def test_a_text_has_all_that_it_says(text: str) -> None:
    analyzer = Analyzer("en")
    assert not any(SourceTerms(text, "en", analyzer).missing(claims(text, analyzer)))


@given(st.dates(min_value=date(1000, 1, 1)))
def test_a_day_is_the_same_in_all_forms(day: date) -> None:
    name = calendar.month_name[day.month]
    forms = [
        day.isoformat(),
        f"{day.year}年{day.month}月{day.day}日",
        f"{day.day}.{day.month}.{day.year}",
        f"{day.day} {name} {day.year}",
        f"{name} {day.day}, {day.year}",
        f"{day.day}th of {name} {day.year}",
    ]
    for form in forms:
        assert numerals.read(f"On {form}.", "en").dates == [(numerals.Date(day.year, day.month, day.day),)], form
