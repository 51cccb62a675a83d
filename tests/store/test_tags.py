"""Comparison of tags, and the tags of a document."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest.reading.cpu_time import limit_cpu_time
from gnod.store.tables import tags


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Voyage", "#voyage"),
        ("İstanbul", "istanbul"),
        ("İSTANBUL", "ISTANBUL"),
        ("ışık", "IŞIK"),
        ("IŞIK", "işik"),
        ("STRASSE", "straße"),
        ("ΟΔΟΣ", "οδος"),
        ("οδός", "ΟΔΌΣ"),
        ("cafe\N{COMBINING ACUTE ACCENT}", "CAFÉ"),
        ("ПРИВЕТ/Мир", "привет/мир"),
        ("ԵՐԵՎԱՆ", "երեվան"),
        ("✅\ufe0f", "✅"),
        ("a//b/", "/A/B"),
        ("two  words", "Two Words"),
    ],
)
def test_tags_that_differ_in_case_are_equal(one: str, other: str) -> None:
    assert tags.key(one) == tags.key(other)


def test_the_tags_above_come_last_and_once() -> None:
    found = tags.with_those_above(["Voyage/Iceland/South", "b", "voyage/iceland", "voyager"])
    assert list(found.items()) == [
        ("voyage/iceland/south", "Voyage/Iceland/South"),
        ("b", "b"),
        ("voyage/iceland", "voyage/iceland"),
        ("voyager", "voyager"),
        ("voyage", "Voyage"),
    ]


def test_a_tag_of_many_levels_is_bounded() -> None:
    with limit_cpu_time(5):
        assert len(tags.with_those_above("/".join(f"{n}x{m}" for m in range(60)) for n in range(1000))) == tags.MOST


@given(st.text("aıİIißẞΣς\u0301\u0307/# \ufe0f"))
def test_a_key_is_its_own_key(tag: str) -> None:
    key = tags.key(tag)
    assert tags.key(key) == key == tags.key(tags.written(tag)) == tags.key(tag.lower()) == tags.key(f" #{tag}/")
