"""Titles, authors and dates from the metadata of a document."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.store.documents import described
from gnod.store.tables.records import FileStat

STAT = FileStat(1, 1_500_000_000_000_000_000, 1)


@pytest.fixture(params=["UTC", "America/Lima", "Asia/Tokyo"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-05-04", (2026, 5, 4)),
        ("2026/5/4", (2026, 5, 4)),
        ("2026.05.04 09:30", (2026, 5, 4, 9, 30)),
        ("2026-05-04T9:30:15.123", (2026, 5, 4, 9, 30, 15)),
        ("20260504", (2026, 5, 4)),
        (20260504, (2026, 5, 4)),
        ("2026-05", (2026, 5, 1)),
        (2026, (2026, 1, 1)),
        ("4.5.2026", (2026, 5, 4)),
        ("4 May 2026", (2026, 5, 4)),
        ("May 4th, 2026", (2026, 5, 4)),
        ("Monday, May 4, 2026", (2026, 5, 4)),
        ("<2026-05-04 Mon 09:30>", (2026, 5, 4, 9, 30)),
        ("[2026-05-04 Mon]", (2026, 5, 4)),
        ("2026-05-04T99:99", (2026, 5, 4)),
        ("2026-05-04 (draft)", (2026, 5, 4)),
    ],
)
def test_a_date_without_a_zone_is_local(value: object, moment: tuple[int, ...]) -> None:
    assert described.moment_of(value) == datetime(*moment).timestamp()  # type: ignore[arg-type]


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    "value",
    ["2026-05-04T07:30Z", "2026-05-04T09:30:00+02:00", "2026-05-04 02:30 -0500", "Mon, 04 May 2026 09:30:00 +0200"],
)
def test_a_date_with_a_zone_is_the_same_moment_everywhere(value: str) -> None:
    assert described.moment_of(value) == datetime(2026, 5, 4, 7, 30, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "value",
    [
        "soon",
        "",
        None,
        True,
        7,
        "2026-02-30",
        "04/05/2026",
        "202605041",
        "0000-01-01",
        "Maybe 4, 2026",
        ["2026-05-04"],
        {},
    ],
)
def test_values_that_are_not_dates(value: object) -> None:
    assert described.moment_of(value) is None


@given(st.text("0123456789-/.:T Zmay<[+", max_size=30))
def test_any_text_gives_a_date_or_none(text: str) -> None:
    found = described.moment_of(text)
    assert found is None or isinstance(found, float)


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"updated": "2026-01-01", "created": "2025-01-01"}, "created"),
        ({"created": "2025-01-01", "date": "2026-01-01", "published": "2024-01-01"}, "date"),
        ({"modified": "2026-01-01", "published": "2025-01-01"}, "published"),
        ({"date": "soon", "Date Created": "2025-01-01"}, "Date Created"),
        ({"article:published_time": "2025-01-01T10:00Z"}, "article:published_time"),
        ({"last-modified": "2025-01-01", "created": ["2024-01-01"]}, "last-modified"),
        ({"due": "2025-01-01", "date": None}, None),
    ],
)
def test_which_date_a_document_has(metadata: dict[str, object], name: str | None) -> None:
    found = described.columns(metadata, STAT)
    assert found["dated_by"] == name
    assert found["dated"] == (described.moment_of(metadata[name]) if name else 1_500_000_000)


def test_type_author_and_other_titles() -> None:
    found = described.columns(
        {"Type": ["Parks", "Shrines"], "author": "", "Authors": ["Ada", "Bob"], "alias": "A, B"}, STAT
    )
    assert (found["doc_type"], found["author"], found["other_titles"]) == ("Parks, Shrines", "Ada, Bob", "A\nB")
    assert described.titles("T", {"aliases": ["A", "A", ""]}) == "T\nA"
