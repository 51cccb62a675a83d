"""Test the split of documents into passages."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest.reading.cpu_time import limit_cpu_time
from gnod.ingest.text.canonical import canonicalise
from gnod.ingest.text.chunking import MAX_CHARACTERS, ChunkText, cut
from gnod.ingest.text.outline import Markup, headings_above, outline, title_heading

WORDS = st.sampled_from(
    [
        "word ",
        "sentence ends. ",
        "\n\n",
        "\n",
        "# Heading\n\n",
        "## Sub\n",
        "```\ncode\n",
        "```\n",
        "日本語。",
        "x" * 700,
    ]
)


def passages(text: str) -> list[ChunkText]:
    return cut(text, outline(text))


@given(st.lists(WORDS, max_size=120).map("".join))
def test_passages_cover_the_text_within_the_limit(text: str) -> None:
    text = canonicalise(text)
    covered = 0
    for p in passages(text):
        assert 0 < p.end - p.start <= MAX_CHARACTERS
        assert text[p.start : p.end].strip()
        assert not text[covered : p.start].strip()
        assert p.start_line == text.count("\n", 0, p.start) + 1
        assert p.end_line == text.count("\n", 0, p.end - 1) + 1
        covered = max(covered, p.end)
    assert not text[covered:].strip()


def test_a_short_document_is_one_passage_and_an_empty_one_has_none() -> None:
    assert passages("# A\n\ntext\n") == [ChunkText(0, 9, 1, 3, "A")]
    assert passages("\n") == []


def test_a_heading_is_a_better_cut_than_a_paragraph() -> None:
    text = "para one. " * 200 + "\n\n# Next\n\n" + "para two. " * 200 + "\n"
    assert text[passages(text)[1].start :].startswith("# Next")


def test_a_fence_that_fits_is_not_cut() -> None:
    fence = "```python\n" + "line = 1\n" * 200 + "```\n"
    text = "prose. " * 300 + "\n\n" + fence + "\nmore prose. " * 100 + "\n"
    start = text.index("```python")
    end = text.index("```\n", start + 10)
    assert any(p.start <= start and end <= p.end for p in passages(text))


def test_passages_overlap_by_at_most_fifteen_percent() -> None:
    text = "One sentence follows another here. " * 400 + "\n"
    found = passages(text)
    overlaps = [a.end - b.start for a, b in pairwise(found)]
    assert len(overlaps) > 5
    assert all(0 < overlap <= 480 for overlap in overlaps)


@pytest.mark.slow
@pytest.mark.parametrize("edits", [40, pytest.param(150, marks=pytest.mark.stress)])
@pytest.mark.parametrize("has_headings", [False, True])
def test_an_edit_changes_few_passages(has_headings: bool, edits: int) -> None:
    """This holds for edits of every length. In 300 edits of text without headings, 99 % changed three or fewer."""
    chance = random.Random(1)
    paragraphs = _paragraphs(chance, has_headings)
    before = _texts("\n\n".join(paragraphs))
    assert len(before) >= 100
    changed = []
    for _ in range(edits):
        edited = list(paragraphs)
        at = chance.randrange(len(edited))
        if edited[at].startswith("#"):
            continue  # the heading is a part of the embedded text
        new = " ".join(chance.choices(_VOCABULARY, k=chance.choice([1, 20, 100, 300])))
        match chance.choice(["replace", "insert", "delete", "append"]):
            case "replace":
                edited[at] = new
            case "insert":
                edited.insert(at, new)
            case "delete":
                del edited[at]
            case _:
                edited[at] += " " + new
        changed.append(len(_texts("\n\n".join(edited)) - before))
    assert sum(n <= 3 for n in changed) >= 0.97 * len(changed)
    assert max(changed) <= 6


def _texts(text: str) -> set[tuple[str, str]]:
    text = canonicalise(text)
    return {(p.heading, text[p.start : p.end]) for p in passages(text)}


_VOCABULARY = [f"{a}{b}{c}" for a in "bdklm" for b in "aeiou" for c in ("n", "st", "rk", "lo")]


def _paragraphs(chance: random.Random, has_headings: bool) -> list[str]:
    found: list[str] = []
    while sum(map(len, found)) < 250_000:
        words = chance.choices(_VOCABULARY, k=chance.randint(10, 150))
        is_heading = has_headings and chance.random() < 0.1
        found.append("## " + " ".join(words[:4]) if is_heading else " ".join(words).capitalize() + ".")
    return found


def test_heading_path_and_lines() -> None:
    text = "# Top\n\n" + "intro. " * 500 + "\n\n## Sub\n\n" + "detail. " * 500 + "\n\n# Other\n\nend\n"
    assert {"Top", "Top > Sub"} <= {p.heading for p in passages(text)} <= {"Top", "Top > Sub", "Other"}
    assert passages(text)[-1].end_line == text.count("\n")


def test_headings_in_fences_and_after_an_open_fence_do_not_count() -> None:
    text = "# Real\n\n```\n# code\n```\n\n## Also real\n\n```python\n# never closed\n"
    assert [h.text for h in outline(text).headings] == ["Real", "Also real"]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# Learn C#", "Learn C#"),
        ("## F# and C# ##", "F# and C#"),
        ("# Music in F#\t###  ", "Music in F#"),
        ("### A B ###", "A B"),
        ("# Channel #boats", "Channel #boats"),
        ("# Issue #7", "Issue #7"),
        ("# ## #", "##"),
        ("## ##", ""),
        ("Learn C#\n===", "Learn C#"),
    ],
)
def test_only_signs_after_a_space_close_a_heading(line: str, heading: str) -> None:
    text = f"{line}\n\nwords\n"
    assert [each.text for each in outline(text).headings] == [heading]
    assert headings_above(text, len(text) - 2) == [heading]


@pytest.mark.parametrize(
    ("markup", "text", "title"),
    [
        ("markdown", "# Learn C#\n", "Learn C#"),
        ("markdown", "# One\n\n## Two\n", "One"),
        ("markdown", "Title\n=====\n\ntext\n", "Title"),
        ("markdown", "\n<!-- made by x -->\n[![Build](a.svg)](b) ![](c.png)\n<p>\n\n# One\n", "One"),
        ("markdown", "(label)=\n# One\n", "One"),
        ("markdown", "[[Home]] #tag/sub\nup:: [[Index]]\n# One\n", "One"),
        ("markdown", "text\n\n# One\n", None),
        ("markdown", "## Two\n\n# One\n", None),
        ("markdown", "# One\n\n# Two\n", None),
        ("markdown", "## Two\n\ntext\n", None),
        ("markdown", "```\n# code\n```\n", None),
        ("markdown", "<!--" * 4_000 + "\n\n# One\n", "One"),
        ("plain", "# only a comment\n", None),
    ],
)
def test_the_title_is_the_only_first_heading(markup: Markup, text: str, title: str | None) -> None:
    with limit_cpu_time(5):
        assert title_heading(text, outline(text, markup).headings) == title


@pytest.mark.slow
@pytest.mark.parametrize("text", ["x" * 3_000_000, "a\n" * 500_000, "# h\n" * 20_000, "```\n" * 50_000, "[" * 50_000])
def test_odd_documents_are_fast(text: str) -> None:
    started = time.process_time()
    passages(canonicalise(text))
    assert time.process_time() - started < 10
