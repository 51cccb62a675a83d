"""How texts are dressed for a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.models.presets import PRESET_MODELS
from gnod.models.profiles import EmbeddingText, Profile, dress_document, dress_query, profile_of

CHUNK = EmbeddingText("Cranes", "Cranes > Wind", "Stop at 20 m/s.")


@pytest.mark.parametrize(
    ("uri", "query", "document"),
    [
        (PRESET_MODELS["mini"]["embed"], "wind", "Cranes > Wind\nStop at 20 m/s."),
        (PRESET_MODELS["mini-multilingual"]["embed"], "query: wind", "passage: Cranes > Wind\nStop at 20 m/s."),
        (
            PRESET_MODELS["slim"]["embed"],
            "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: wind",
            "Cranes > Wind\nStop at 20 m/s.",
        ),
        (PRESET_MODELS["multilingual"]["embed"], "wind", "Cranes > Wind\nStop at 20 m/s."),
        ("file:/models/own.gguf", "wind", "title: Cranes > Wind | text: Stop at 20 m/s."),
        (
            "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
            "task: search result | query: wind",
            "title: Cranes > Wind | text: Stop at 20 m/s.",
        ),
    ],
)
def test_the_forms_of_known_models(uri: str, query: str, document: str) -> None:
    profile = profile_of(uri)
    assert dress_query(profile, "wind") == query
    assert dress_document(profile, CHUNK) == document


def test_a_heading_that_the_text_begins_with_is_not_said_twice() -> None:
    profile = profile_of("minilm")
    chunk = EmbeddingText("Cranes", "Cranes > Wind", "## Wind\n\nStop.")
    assert dress_document(profile, chunk) == "Cranes\n## Wind\n\nStop."
    assert dress_document(profile, EmbeddingText("Cranes", "Cranes", "# Cranes\n\nTall.")) == "# Cranes\n\nTall."
    assert dress_document(profile, EmbeddingText("", "", "Tall.")) == "Tall."
    assert dress_document(Profile(), EmbeddingText("", "", "Tall.")) == "title: none | text: Tall."


def test_compatibility_characters_are_folded_for_e5() -> None:
    profile = profile_of("multilingual-e5-small")
    assert dress_query(profile, "ＡＢＣ ﬁne") == "query: ABC fine"
    assert dress_document(profile, EmbeddingText("ﬁ", "", "①")) == "passage: fi\n1"


@given(st.text(), st.text(), st.text())
def test_braces_and_anything_else_in_a_text_stay(title: str, heading: str, text: str) -> None:
    for uri in ("minilm", "unknown", "qwen3-embedding"):
        assert dress_document(profile_of(uri), EmbeddingText(title, heading, text)).endswith(text)
        assert dress_query(profile_of(uri), text).endswith(text)
