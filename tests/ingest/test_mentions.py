"""Test the search for names of documents in a text: whole words, outside links and code."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnod.ingest.links import markdown
from gnod.ingest.links.mentions import NameFinder, names


def found(text: str, *known: str) -> list[str]:
    links = [(link.start, link.end) for link in markdown.find(text)]
    return [text[each.start : each.end] for each in NameFinder(known).find(text, links, is_markdown=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The sailing boat. SAILING BOAT", ["sailing boat", "SAILING BOAT"]),
        ("sailing-boat, Sailing_Boat, sailing\nboat", ["sailing-boat", "Sailing_Boat", "sailing\nboat"]),
        ("sailing boats, unsailing boat, sailing\n\nboat", []),
        ("[[x|a sailing boat]] [sailing boat](x.md) ![sailing boat](y.png) <https://x.org/sailing-boat>", []),
        ("[sailing boat] and [sailing boat][x]\n\n[x]: y.md\n", ["sailing boat"]),
        ("`sailing boat` sailing boat\n```\nsailing boat\n```\n<!-- sailing boat -->", ["sailing boat"]),
        ("---\nup: sailing boat\n---\nsailing boat", ["sailing boat"]),
        ("[[sailing boat", ["sailing boat"]),
    ],
)
def test_a_name_in_a_text(text: str, expected: list[str]) -> None:
    assert found(text, "Sailing boat") == expected


def test_names_in_other_scripts_and_with_signs() -> None:
    assert found("C++ is not AC++; see c++.", "C++") == ["C++", "c++"]
    assert found("これは東京都です", "東京都") == ["東京都"]
    assert found("हिन्दी हिन्दीभाषा", "हिन्दी") == ["हिन्दी"]
    assert found("Cafés, CAFÉ", "Café") == ["CAFÉ"]
    assert found("a big sailing boat and a sailing boat", "sailing boat", "big sailing boat") == [
        "big sailing boat", "sailing boat",
    ]  # fmt: skip


def test_what_is_a_name() -> None:
    assert names("ab", "x", ["the", "  ", "12", "Uhr", "---"]) == ["Uhr"]
    assert names("Boat", "README", []) == ["Boat"]
    assert names("Boat", "2024-01-01", ["boat", "BOAT "]) == ["Boat"]
    assert names("Boat", "sailing_boat", []) == ["Boat", "sailing_boat"]
    assert names("東京", "x", []) == ["東京"]
    assert len(names("Boat", "x", [f"alias {number}" for number in range(100)])) == 20


@example("", "0\U0002f800")
@given(st.text(max_size=80), st.text(min_size=1, max_size=12))
def test_any_name_in_any_text(text: str, name: str) -> None:
    text = normalize("NFC", text.replace("\0", ""))  # the stored form of texts
    for known in names(name, name, [name]):
        found = list(NameFinder([known]).find(f"{text} {normalize('NFC', known)} {text}", [], is_markdown=False))
        assert found
        assert {each.name for each in found} == {known}
