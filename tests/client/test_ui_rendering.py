"""The terminal UI draws documents, which are hostile."""

from __future__ import annotations

import pytest
from hypothesis import given

from gnoctl.printing import text
from gnoctl.ui.rendering import LONGEST, draw
from gnoctl.ui.styles import is_match
from gnod.protocol.documents import DocumentText
from tests.client.samples import document, few, hostile_text

KINDS = {
    "markdown": {"mime": "text/markdown", "converter": "markdown/1"},
    "code": {"mime": "text/x-python", "converter": "code/2", "path": "a.py"},
    "text": {"mime": "text/plain", "converter": "text/1", "path": "a.log"},
    "pdf": {"mime": "application/pdf", "converter": "pdf/3"},
}


def lines(shown: DocumentText, *words: str, width: int = 60) -> list[str]:
    return [strip.text.rstrip() for block in draw(shown, [*words], width) for strip in block.strips]


def matches(shown: DocumentText, *words: str) -> list[str]:
    strips = [strip for block in draw(shown, [*words], 60) for strip in block.strips]
    return [segment.text for strip in strips for segment in strip if is_match(segment.style)]


@pytest.mark.parametrize("kind", KINDS)
@few
@given(hostile_text)
def test_a_terminal_obeys_nothing_that_is_drawn(kind: str, content: str) -> None:
    for line in lines(document(content, **KINDS[kind]), "é"):
        assert text.is_safe(line)
        assert "\n" not in line
        assert "\t" not in line


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_know_their_lines(kind: str) -> None:
    content = "# One\n\ntwo\n\n- three\n- four\n\nfive\n"
    blocks = [*draw(document(content, start_line=11, **KINDS[kind]), [], 60)]
    starts = {block.line: block.strips[0].text.strip() for block in blocks}
    assert starts[11].endswith("One")
    assert starts[13] == "two"
    assert starts[18] == "five"


def test_removed_blank_lines_count() -> None:
    shown = document("one\n\nfour\n", line_map=[(3, 1)], **KINDS["markdown"])
    assert [block.line for block in draw(shown, [], 60)] == [1, 4]


def test_matches_are_highlighted_as_whole_words_in_any_case() -> None:
    content = "The heron. *Herons* and a **heron**nest, 東京都.\n"
    assert matches(document(content, **KINDS["markdown"]), "heron", "京") == ["heron", "京"]
    assert matches(document("HERON = heron_count\n", **KINDS["code"]), "heron") == ["HERON"]


def test_tables_are_drawn_and_frontmatter_is_not_markdown() -> None:
    content = "---\ntitle: a\n---\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    drawn = lines(document(content, **KINDS["markdown"]))
    assert drawn[:3] == ["---", "title: a", "---"]
    assert not any("|" in line for line in drawn)
    assert any(line.split() == ["1", "2"] for line in drawn)


def test_the_middle_of_a_table_is_a_table() -> None:
    shown = document("| 1 | a \\| b |\n| 2 | c |\n\nafter\n", start_line=90, **KINDS["markdown"])
    assert any(line.split() == ["2", "c"] for line in lines(shown))
    assert [block.line for block in draw(shown, [], 60)] == [90, 93]


@pytest.mark.parametrize("kind", KINDS)
def test_a_line_of_a_megabyte_is_cut(kind: str) -> None:
    drawn = lines(document("x" * 1_000_000 + "\nend\n", **KINDS[kind]))
    assert sum(map(len, drawn)) <= LONGEST + 10
    assert "end" in drawn[-1] or "end" in drawn[-2]
