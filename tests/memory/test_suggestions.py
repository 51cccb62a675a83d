"""Topics that are taken from the text of a memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.memory.recalling.keywords import MAX_TOPIC_CHARACTERS, folded
from gnod.memory.suggestions import MAX_SUGGESTED, suggest


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("the #garden needs water, #42 too", ["garden"]),
        ("call parse_line() in node.js and fooBar", ["parse_line", "node.js", "fooBar"]),
        ("Ask Heron. Then: Otter asks Ilse", ["Heron", "Ilse"]),
        ("they use it", []),
        ("port 8080 at 10:15", []),
        ("ab und zu", []),
    ],
)
def test_what_is_suggested(text: str, topics: list[str]) -> None:
    assert suggest(text, lambda _: True)[: len(topics) or None] == topics


def test_common_words_are_not_suggested() -> None:
    assert suggest("Ask Heron about the zeppelin", lambda word: word != "heron") == ["zeppelin"]


@given(st.text(max_size=300))
def test_any_text(text: str) -> None:
    found = suggest(text, lambda _: True)
    assert len(found) <= MAX_SUGGESTED
    assert len({folded(topic) for topic in found}) == len(found)
    assert all(0 < len(topic) <= MAX_TOPIC_CHARACTERS for topic in found)
    assert suggest(text, lambda _: False) == []
