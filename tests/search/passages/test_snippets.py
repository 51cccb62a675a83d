"""Snippets: whole sentences and lines if they fit, never only markup, and always the matched place."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnod.analysis.markup import head_end
from gnod.analysis.terms import Analyzer
from gnod.search.keyword import expression
from gnod.search.keyword.marks import TermFinder
from gnod.search.passages import snippets
from gnod.search.passages.best_passage import ShownPassage, best_passage
from gnod.search.passages.snippets import SNIPPET_CHARACTERS, SNIPPET_LINES
from gnod.search.query.parsing import parse_text

FILLER = "The harbour has twelve berths and a crane. Nobody works on Fridays. "
PIECES = [
    "# A heading\n",
    "\n",
    "Below\n=====\n",
    "| name | size |\n| --- | :-: |\n",
    "| Albatros | 7.2 |\n",
    "<!-- a comment -->\n",
    "```console\n",
    "```\n",
    "$ make install\n",
    "    indented = code(1)\n",
    "- An item. It has two sentences.\n",
    "  which goes on here\n",
    "3. The third\n",
    ".. highlight:: console\n",
    "A sentence that is wrapped over\ntwo lines of the text. And another one!\n",
    "これは文です。もう一つの文です。\n",
    "x" * 400 + "\n",
    FILLER * 6 + "\n",
    "---\n",
    "> quoted text with words\n",
]
MARKUP = r"\s*(\|[ |:-]+\||```.*|<!--.*-->|[-=]+|\.\. highlight.*)?"
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join)


def passage(text: str, query: str) -> ShownPassage:
    analyzers = [Analyzer("en")]
    return best_passage(TermFinder(text, analyzers), expression.build(parse_text(query), analyzers).query_terms())


@given(texts, st.data())
def test_any_place_of_any_text(text: str, data: st.DataObject) -> None:
    words = list(re.finditer(r"\w+", text))
    if not words:
        return
    word = data.draw(st.sampled_from(words))
    start, end = snippets.around(text, word.start(), word.end())
    shown = text[start:end]
    assert 0 <= start <= word.start() < word.end() <= end <= len(text)
    assert shown == shown.strip()
    assert len(shown) <= max(SNIPPET_CHARACTERS, word.end() - start)
    if word.start() >= head_end(text):  # the metadata becomes one line
        assert len([line for line in shown.splitlines() if line.strip()]) <= SNIPPET_LINES
    assert start == 0 or not (text[start - 1].isascii() and text[start - 1].isalnum() and text[start].isalnum())
    matched = text[text.rfind("\n", 0, word.start()) + 1 :].splitlines()[0]
    if not re.fullmatch(MARKUP, matched):
        lines = shown.splitlines()
        assert not re.fullmatch(MARKUP, lines[0]), "it begins with markup"
        assert matched.startswith("|") or not re.fullmatch(MARKUP, lines[-1]), "it ends with markup"


@given(texts)
@example("---\n" + "x" * 300)
@example("# A heading\n---\n.. highlight:: console\n")
@example("# A heading\n\n---\n")
def test_the_opening_of_any_text(text: str) -> None:
    start, end = snippets.opening(text)
    assert 0 <= start <= end <= len(text)
    assert end - start <= SNIPPET_CHARACTERS
    shown = text[start:end]
    assert any(map(str.isalnum, shown)) or all(re.fullmatch(MARKUP, line) for line in text.splitlines())


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        (
            f"# Report\n\n{FILLER}On Monday the site\nwas down for an hour. The certificate had expired.\n\n"
            "What we change:\n\n- x",
            "certificate",
            f"{FILLER}On Monday the site\nwas down for an hour. The certificate had expired.\n\nWhat we change:\n\n- x",
        ),
        (
            "| berth | boat |\n| --- | --- |\n| A1 | Albatros |\n| A2 | Piccola |\n",
            "Piccola",
            "| berth | boat |\n| --- | --- |\n| A1 | Albatros |\n| A2 | Piccola |",
        ),
        (
            "| berth | boat |\n| --- | --- |\n" + "| A1 | Albatros |\n" * 30 + "| A2 | Piccola |\n",
            "Piccola",
            "| A1 | Albatros |\n" * 3 + "| A2 | Piccola |",
        ),
        (".. highlight:: console\n\nInstall the crane first.\n", "crane", "Install the crane first."),
        (
            "<!-- a note to editors -->\n\nThe crane is yellow.\n\n| a | b |\n| --- | --- |\n",
            "crane",
            "The crane is yellow.",
        ),
        (
            "---\ntitle: Crane\ntags: [x]\n---\n\n# About\n\nThe crane is yellow.\n",
            "crane",
            "# About\n\nThe crane is yellow.",
        ),
        ("---\ntitle: Crane\n---\n\nA page.\n", "crane", "title: Crane"),
        ("```console\n$ crane up\n```\n", "crane", "$ crane up"),
    ],
)
def test_the_whole_snippet(text: str, query: str, shown: str) -> None:
    assert passage(text, query).snippet == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("---\ntitle: x\n---\n<!-- c -->\n# Crane\n\nIt is yellow. It is high.\n", "It is yellow. It is high."),
        ("| a | b |\n| --- | --- |\n| 1 | 2 |\n", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("# Only a heading\n", "# Only a heading"),
        ("```python\nx = 1\n```\n", "x = 1"),
        ("", ""),
        ("---\n", ""),
    ],
)
def test_the_opening(text: str, shown: str) -> None:
    assert passage(text, "zebra").snippet == shown


def test_a_long_sentence_is_cut_between_words_around_the_place() -> None:
    text = f"{'word and ' * 200}needle {'more and ' * 200}"
    shown = passage(text, "needle").snippet
    assert "needle" in shown
    assert 200 <= len(shown) <= SNIPPET_CHARACTERS
    assert {shown.split()[0], shown.split()[-1]} <= {"word", "and", "more"}


def test_code_is_cut_at_its_lines() -> None:
    text = "".join(f"def f{n}(a):\n    return g{n}(a)\n" for n in range(50))
    lines = passage(text, "g31").snippet.splitlines()
    assert len(lines) == SNIPPET_LINES
    assert any("g31" in line for line in lines)
    assert all(re.fullmatch(r"def f\d+\(a\):|    return g\d+\(a\)", f"{line}") for line in lines[1:])
