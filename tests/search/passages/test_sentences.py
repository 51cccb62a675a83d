"""Units that can be quoted: for any text, every unit is a range of the text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.search.passages.sentences import MAX_CHARACTERS, units

SAMPLES = Path(__file__).resolve().parents[3] / "samples"

PIECES = (
    *("# Head", "## Sub ##", "Title\n===", "---", "- item. Two.", "1. one", "* [ ] todo", "| a | b |", "|---|---|"),
    *("```", "~~~", "    code", "> quoted. Twice.", "Dr. No came. He went!", "Am 3. Mai. Dann?", "e.g. this", "\n"),
    *(
        "彼は「はい。」と言った。次。",
        "यह है। वह है।",
        "<!-- page 2 -->",
        "a: b",
        "\t",
        "\u2028",
        "x" * 700,
        "…",
        "Colon:",
    ),
)


def quoted(text: str, language: str | None = None, *, is_code: bool = False) -> list[str]:
    return [text[unit.start : unit.end] for unit in units(text, language, is_code=is_code)]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=30)).map("\n".join), st.sampled_from([None, "en", "de"]))
def test_units_are_ranges_in_order(text: str, language: str | None) -> None:
    for is_code in (False, True):
        found = units(text, language, is_code=is_code)
        ends = [0, *(unit.end for unit in found)]
        for before, unit in zip(ends, found, strict=False):
            part = text[unit.start : unit.end]
            assert before <= unit.start < unit.end <= len(text)
            assert part == part.strip(" \t\n\r\u3000")
            assert len(part) <= MAX_CHARACTERS
            assert any(map(str.isalnum, part))
            low, high = unit.lead
            assert 0 <= low <= high <= unit.start


@given(st.lists(st.sampled_from(["One ends.", "Two ends here!", "Is three?", "四。", "Five… "]), max_size=9))
def test_no_sentence_is_lost(sentences: list[str]) -> None:
    text = " ".join(sentences)
    assert "".join("".join(quoted(text)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("It rains. It stops.", "en", ["It rains.", "It stops."]),
        ("Ask Dr. Who, e.g. by phone. He (J. R. Smith) knows.", "en", 2),
        ("Am 3. November kam er. Im 15. Jahrhundert auch.", "de", 2),
        ('He said "Stop." Then he left.', "en", ['He said "Stop."', "Then he left."]),
        ("Version 3.2.1 costs 5.50 €. Buy it.", "en", 2),
        ("彼は「はい。」と言った。終わり。", "ja", ["彼は「はい。」と言った。", "終わり。"]),
        ("यह घर है। वह पेड़ है।", "hi", 2),
        ("A line that\ngoes on. Next\none.", "en", ["A line that\ngoes on.", "Next\none."]),
        ("Title\n=====\n\nText.", "en", ["Text."]),
        ("| Lamp | Meaning |\n|---|---|\n| Tap | No water |", "en", ["Tap | No water"]),
        ("- Error **F28**: press. Then wait.\n- [x] Done.", "en", ["Error **F28**: press. Then wait.", "Done."]),
        ("```\nx = 1\n\ny = 2\n```\nText.", "en", ["x = 1", "y = 2", "Text."]),
        ("---\nauthor: Mara\n---\nText.", "en", ["author: Mara", "Text."]),
    ],
)
def test_where_units_begin_and_end(text: str, language: str, expected: list[str] | int) -> None:
    found = quoted(text, language)
    assert found == expected if isinstance(expected, list) else len(found) == expected, found


def test_headings_and_leads() -> None:
    text = "# A\n\nWhat we change:\n\n- one thing\n\n## B\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n# C\n\nlast"
    found = {text[unit.start : unit.end]: (unit.heading, text[slice(*unit.lead)].strip()) for unit in units(text)}
    assert found == {
        "What we change:": ("A", ""),
        "one thing": ("A", "What we change:"),
        "1 | 2": ("A > B", "x | y"),
        "last": ("C", ""),
    }


def test_every_word_of_the_sample_is_in_a_unit_or_above_one() -> None:
    files = list(SAMPLES.rglob("*.md"))
    assert files
    for file in files:
        text = file.read_text(encoding="utf-8")
        found = units(text)
        kept = " ".join([*(text[unit.start : unit.end] for unit in found), *(unit.heading for unit in found)])
        lost = set(re.findall(r"[^\W\d]+", text)) - set(re.findall(r"[^\W\d]+", kept))
        assert not lost, (file, lost)
