"""Whether a memory is true at a time, and the times that a text states."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gnod.errors import InvalidParams
from gnod.memory.memories import Memories
from gnod.memory.records import Memory, Times
from gnod.memory.transactions import MemoryChange, MemoryDraft
from gnod.memory.validity import TimeSpan, best_validity, validity
from gnod.memory.validity_in_text import times_in
from tests.memory.memory_bench import Kept

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def ms(day: str) -> int:
    return round((datetime.fromisoformat(day).replace(tzinfo=UTC) - _EPOCH) / timedelta(milliseconds=1))


def days(times: Times) -> tuple[str, str]:
    """Return the first and the last day; "" if there is none."""
    shown = ["" if time is None else str((_EPOCH + timedelta(milliseconds=time)).date()) for time in times[1:]]
    return shown[0], shown[1]


WRITTEN = ms("2026-11-18")
STORED = ms("2026-06-15")
YEARS = {year: TimeSpan(ms(f"{year}-01-01"), ms(f"{year + 1}-01-01") - 1) for year in (2025, 2026, 2027)}
MAY = TimeSpan(ms("2026-05-01"), ms("2026-06-01") - 1)
JULY = TimeSpan(ms("2026-07-01"), ms("2026-08-01") - 1)


def memory(type_: str = "fact", times: Times = Times(), **more: object) -> Memory:  # noqa: B008
    given = {"updated_ms": STORED} | more
    return Memory(1, "m1", "personal", type_, STORED, text="x", topics=[], times=times, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "in_may", "in_july"),
    [
        (memory(), "unknown", "holds"),
        (memory(times=Times(ms("2026-05-31"))), "holds", "holds"),
        (memory(times=Times(None, ms("2026-05-31"))), "holds", "holds"),
        (memory(times=Times(None, ms("2026-06-01"))), "not_yet", "holds"),
        (memory(times=Times(None, None, ms("2026-05-01"))), "holds", "ended"),
        (memory(times=Times(None, None, ms("2026-04-30"))), "ended", "ended"),
        (memory(times=Times(None, ms("2027-01-01"))), "not_yet", "not_yet"),
        (memory(supersedes=True), "not_yet", "holds"),
        (memory(superseded_ms=ms("2026-07-01")), "unknown", "ended"),
        (memory(superseded_ms=ms("2026-07-02")), "unknown", "holds"),
        (memory("fact_done", superseded_ms=ms("2027-01-01")), "unknown", "holds"),
        (memory("task_done"), "unknown", "ended"),
        (memory("task_done", updated_ms=ms("2026-09-01")), "unknown", "holds"),
        # The earlier end counts, and a memory that states an end was true before it.
        (memory(times=Times(None, None, ms("2026-05-15")), superseded_ms=STORED), "holds", "ended"),
        (memory(times=Times(None, None, ms("2030-01-01")), superseded_ms=STORED), "holds", "ended"),
        # The clock went back.
        (memory(superseded_ms=ms("2020-01-01"), supersedes=True), "ended", "ended"),
    ],
)
def test_validity(found: Memory, in_may: str, in_july: str) -> None:
    assert (validity(found, MAY), validity(found, JULY)) == (in_may, in_july)
    assert "holds" in (in_july, in_may) or best_validity(found, [MAY, JULY]) != "holds"


def test_without_a_time_only_what_has_a_beginning_or_an_end_ranks_lower() -> None:
    assert best_validity(memory(times=Times(ms("2030-01-01"))), [MAY]) == "holds"
    assert best_validity(memory(times=Times(None, ms("2030-01-01"))), [MAY]) == "not_yet"
    assert best_validity(memory(times=Times(None, None, ms("2025-05-05"))), [YEARS[2025], YEARS[2027]]) == "holds"


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("We used Postgres 14 until March", "", "2026-03-31"),
        ("We used Postgres 14 until November", "", "2026-11-18"),
        ("Until March 2026, we used Postgres 14", "", "2026-03-31"),
        ("The office is closed until March", "", "2027-03-31"),
        ("The office is closed until Friday", "", "2026-11-20"),
        ("The contract runs until 2031-12-31", "", "2031-12-31"),
        ("The Pro plan costs 25 euros since May", "2026-05-01", ""),
        ("As of January 2027 the Pro plan costs 30 euros", "2027-01-01", ""),
        ("Anna lived in Rome from 2024 to 2025", "2024-01-01", "2025-12-31"),
        ("From March to May 2025 the API was frozen", "2025-03-01", "2025-05-31"),
        ("We no longer use Redis", "2026-11-18", ""),
        ("Seit Mai leitet Anna das Team", "2026-05-01", ""),
        ("Wir haben bis März 2026 Postgres 14 benutzt", "", "2026-03-31"),
        ("Das Büro ist bis März geschlossen", "", "2027-03-31"),
        ("Nous utilisions Postgres 14 jusqu'en mars 2026", "", "2026-03-31"),
        ("Desde mayo de 2025 Ana dirige el equipo", "2025-05-01", ""),
        ("Anna ha vissuto a Roma dal 2024 al 2025", "2024-01-01", "2025-12-31"),
        ("Tot maart 2026 gebruikten we Postgres 14", "", "2026-03-31"),
        ("С мая 2025 Анна руководит командой", "2025-05-01", ""),
        ("2026年3月までPostgres 14を使っていた", "", "2026-03-31"),
        ("自2025年5月起，安娜领导团队", "2025-05-01", ""),
        # Texts that do not say it plainly.
        ("We will not move until March", "", ""),
        ("We used Postgres 14 until March, then Postgres 16", "", ""),
        ("Anna lived in Rome until 2020. She leads the team.", "", ""),
        ("Ada: we lived there until March 2020", "", ""),
        ("The letter from May 2023 is lost", "", ""),
        ("The shop is open from May to September", "", ""),
        ("The release moved from Monday to Tuesday", "", ""),
        ("Since we moved to Postgres everything is fast", "", ""),
        ("Backups are kept from 2 to 5 days, no longer than that", "", ""),
        ("We lived here until March 2024 since May 2025", "", ""),
        ("Until May 2023 or until June 2024 it was so", "", ""),
    ],
)
def test_times_in_a_text(text: str, first: str, last: str) -> None:
    assert days(times_in(text, WRITTEN)) == (first, last)


async def stored(memories: Memories, text: str, *supersedes: str, times: Times = Times()) -> str:  # noqa: B008
    (found,) = await memories.store([MemoryDraft(text, "fact", supersedes=supersedes, times=times)])
    return found.memory.name


async def test_a_memory_keeps_its_times_and_ends_when_the_newer_one_begins(kept: Kept) -> None:
    memories = await kept.opened()
    since_2024 = Times(None, ms("2024-01-01"), None)
    older = await stored(memories, "tides are 1", times=since_2024)
    newer = await stored(memories, "tides are 2", older, times=Times(None, ms("2025-03-01")))
    assert await stored(memories, "tides are 2") == newer, "its times stay when it is stored again without times"
    newest = await stored(memories, "tides are 3", newer, times=Times(ms("2026-02-01")))
    three, two, one = await (await kept.opened()).history(older)
    assert [each.name for each in (three, two, one)] == [newest, newer, older]
    assert [each.times.valid_from_ms for each in (three, two, one)] == [None, ms("2025-03-01"), ms("2024-01-01")]
    assert [each.superseded_ms for each in (three, two, one)] == [None, ms("2026-02-01"), ms("2025-03-01")]
    assert [validity(each, YEARS[2025]) for each in (three, two, one)] == ["not_yet", "holds", "holds"]
    assert [validity(each, YEARS[2026]) for each in (three, two, one)] == ["holds", "holds", "ended"]
    assert ms("2024-01-01") not in [value for row in kept.rows("SELECT * FROM memories") for value in row]


async def test_a_value_that_returns_ends_the_other(kept: Kept) -> None:
    memories = await kept.opened()
    first = await stored(memories, "tides are 1")
    second = await stored(memories, "tides are 2", first)
    await stored(memories, "tides are 1", second)
    current, old = await memories.history(first)
    assert old.superseded_ms == current.updated_ms >= old.created_ms


async def test_times_follow_a_changed_text_unless_they_were_stated(kept: Kept) -> None:
    memories = await kept.opened()
    name = await stored(memories, "We used Postgres 14 until March 2024")
    assert days((await memories.retrieve([name]))[0].times) == ("", "2024-03-31")
    changed = await memories.update(name, MemoryChange(text="We used Postgres 14 until May 2024"))
    assert days(changed.times) == ("", "2024-05-31")
    stated = await memories.update(name, MemoryChange(times={"valid_from_ms": ms("2022-01-01")}))
    assert days(stated.times) == ("2022-01-01", "2024-05-31")
    changed = await memories.update(name, MemoryChange(text="We used Postgres 14 until June 2024"))
    assert days(changed.times) == ("2022-01-01", "2024-05-31"), "somebody stated one of them"
    removed = await memories.update(name, MemoryChange(times={"valid_from_ms": None, "valid_until_ms": None}))
    assert days(removed.times) == ("", "")
    with pytest.raises(InvalidParams, match="end before it begins"):
        await memories.update(name, MemoryChange(times={"valid_from_ms": 2, "valid_until_ms": 1}))


async def test_stated_times_count_instead_of_the_text(kept: Kept) -> None:
    memories = await kept.opened()
    name = await stored(memories, "We used Redis until 2020", times=Times(None, ms("2023-01-01")))
    assert days((await memories.retrieve([name]))[0].times) == ("2023-01-01", "")
    (copy,) = await memories.publish([name], "team")
    assert copy.memory.times == Times(None, ms("2023-01-01"))
