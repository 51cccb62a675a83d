"""The keywords of queries and topics, and the topics that are taken from the text of a memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.memory.recalling.keywords import MAX_TOPIC_CHARACTERS, folded, keywords, lookup_words, topic_words
from gnod.memory.suggestions import MAX_SUGGESTED, suggest


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("How do we deploy Node.js?", ["deploy", "node.js"]),
        ("auth", ["auth"]),
        ("AUTH auth Auth", ["auth"]),
        ("Wie wird die Datenbank gesichert?", ["datenbank", "gesichert"]),
        ("C++ und C#", ["c++", "c#"]),
        ("Ｆｕｌｌ　ｗｉｄｔｈ", ["full", "width"]),
        ("cafe\u0301", ["café"]),
        ("部署方式", ["部署", "署方", "方式"]),
        ("कैसे करें", ["कैसे", "करें"]),
        ("как настроить сервер", ["настроить", "сервер"]),
        ("real\u00adtime \u200bkey", ["realtime", "key"]),
        ("", []),
        ("?!", []),
    ],
)
def test_keywords(query: str, words: list[str]) -> None:
    assert keywords(query) == words


@pytest.mark.parametrize(
    ("topic", "query"),
    [
        ("auth", "how is auth done"),
        ("Error Handling", "error"),
        ("error handling", "handling of files"),
        ("blue green", "blue-green deployment"),
        ("blue-green", "the green one of both"),
        ("Node.js", "node"),
        ("snake_case", "what is snake_case"),
        ("Größe", "GRÖSSE der Schrift"),
        ("部署", "部署方式"),
        ("配置", "数据库配置"),
        ("करें", "कैसे करें"),
        ("сервер", "Сервер не отвечает"),
        ("user@example.com", "user@example.com"),
        ("C++", "C++ build"),
    ],
)
def test_a_query_finds_the_topic(topic: str, query: str) -> None:
    assert set(lookup_words(keywords(query))) & set(topic_words(topic))


@pytest.mark.parametrize(("topic", "query"), [("show", "how"), ("C++", "C"), ("C", "C#"), ("auth", "author")])
def test_a_query_does_not_find_the_topic(topic: str, query: str) -> None:
    assert not set(lookup_words(keywords(query))) & set(topic_words(topic))


@given(st.text(max_size=80))
def test_any_text_is_a_query_and_a_topic(text: str) -> None:
    words = keywords(text)
    assert words == list(dict.fromkeys(words))
    assert set(words) <= set(lookup_words(words))
    assert topic_words(text)[0] == folded(text)
    assert folded(folded(text)) == folded(text)


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
def test_any_text_has_few_short_suggestions(text: str) -> None:
    found = suggest(text, lambda _: True)
    assert len(found) <= MAX_SUGGESTED
    assert len({folded(topic) for topic in found}) == len(found)
    assert all(0 < len(topic) <= MAX_TOPIC_CHARACTERS for topic in found)
    assert suggest(text, lambda _: False) == []
