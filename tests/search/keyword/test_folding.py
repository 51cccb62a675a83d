"""Texts are folded for word search. Long texts are folded like short ones."""

from __future__ import annotations

import sys

import pytest

from gnod.search.keyword.folding import PlainText, fold_in_place

LONG = 60_000


def test_every_character_keeps_its_place_and_loses_case_and_diacritics() -> None:
    assert fold_in_place("Žluťoučký KŮŇ Häuser İÉ Ｐ２") == "zlutoucky kun hauser ie p2"


@pytest.mark.slow
@pytest.mark.stress
def test_every_character_is_folded_alike_in_long_texts() -> None:
    letters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000 and chr(code) != "Σ"]
    assert fold_in_place("".join(letters)) == "".join(map(fold_in_place, letters))


@pytest.mark.parametrize("text", ["plain Words", "ΟΔΟΣ και Ο", "Быстрый Й", "ﬀ 😀 Éa"])
def test_a_long_text_is_folded_like_its_lines(text: str) -> None:
    count = LONG // len(text)
    assert fold_in_place(f"{text}\n" * count) == f"{fold_in_place(text)}\n" * count


@pytest.mark.parametrize(
    ("written", "plain"), [("don’t ﬁt", "don't fit"), ("ℍ\u0306", "H\u0306"), ("a\u00a0ﬁ\u200bb’", "a fib'")]
)
def test_characters_of_several_kinds_are_normalised(written: str, plain: str) -> None:
    assert PlainText(written).text == PlainText(plain).text
