"""The prompts of embedding models, how they are filled, and how texts are cut into pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.models.embedding_profiles import (
    EmbeddingText,
    Profile,
    apply_document_template,
    apply_query_template,
    cut,
    profile_of,
)
from gnod.presets import PRESETS

CHUNK = EmbeddingText("Cranes", "Cranes > Wind", "Stop at 20 m/s.")
MINILM = profile_of("hf:org/all-minilm:F16")
E5 = profile_of("hf:org/e5-small:F16")
NOMIC = profile_of("hf:nomic-ai/nomic-embed-text-v1.5-GGUF:Q8_0")


@pytest.mark.parametrize(
    ("uri", "query", "document"),
    [
        (PRESETS["mini"]["embed"], "wind", "Cranes > Wind\nStop at 20 m/s."),
        (PRESETS["mini-multilingual"]["embed"], "query: wind", "passage: Cranes > Wind\nStop at 20 m/s."),
        (
            PRESETS["slim"]["embed"],
            "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:wind",
            "Cranes > Wind\nStop at 20 m/s.",
        ),
        (PRESETS["multilingual"]["embed"], "wind", "Cranes > Wind\nStop at 20 m/s."),
        ("file:/models/own.gguf", "wind", "Cranes > Wind\nStop at 20 m/s."),
        *(
            (uri, "Represent this sentence for searching relevant passages: wind", "Cranes > Wind\nStop at 20 m/s.")
            for uri in (
                "hf:CompendiumLabs/bge-small-en-v1.5-gguf:Q8_0",
                "hf:mixedbread-ai/mxbai-embed-large-v1/gguf/mxbai-embed-large-v1-f16.gguf",
                "file:/models/snowflake-arctic-embed-s.gguf",
                "http://127.0.0.1:1/v1#bge-base-en-v1.5",
            )
        ),
        ("file:/models/snowflake-arctic-embed-l-v2.0.gguf", "query: wind", "Cranes > Wind\nStop at 20 m/s."),
        ("file:/models/granite-embedding-125m.gguf", "wind", "Cranes > Wind\nStop at 20 m/s."),
        ("https://api.openai.com/v1#text-embedding-3-small", "wind", "Cranes > Wind\nStop at 20 m/s."),
        (
            "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
            "task: search result | query: wind",
            "title: Cranes > Wind | text: Stop at 20 m/s.",
        ),
    ],
)
def test_templates_of_known_models(uri: str, query: str, document: str) -> None:
    profile = profile_of(uri)
    assert apply_query_template(profile, "wind") == query
    assert apply_document_template(profile, CHUNK) == document


@pytest.mark.parametrize(
    ("uri", "known"),
    [
        ("file:/models/multilingual-e5-small-q8_0.gguf", E5),
        ("hf:intfloat/multilingual-e5-large/model.gguf", E5),
        ("hf:phate334/multilingual-e5-large-gguf:Q4_K_M", E5),
        ("hf:org/collection/E5_base.gguf", E5),
        ("pypi:some-models==1#models/multilingualE5.gguf", E5),
        ("file:/models/AllMiniLM-L6.gguf", MINILM),
        ("hf:leliuga/all-MiniLM-L12-v2-GGUF:F16", MINILM),
        ("file:/models/nomic_embed_text.gguf", NOMIC),
        # A directory, organisation, version, quantisation or part of a word does not identify the model.
        ("file:/home/mike5/x.gguf", Profile()),
        ("file:/home/e5/x.gguf", Profile()),
        ("file:/srv/all-minilm/x.gguf", Profile()),
        ("hf:e5/some-model/model.gguf", Profile()),
        ("hf:org/some-model/e5/model.gguf", Profile()),
        ("hf:org/some-model:E5", Profile()),
        ("file:/models/mike5.gguf", Profile()),
        ("file:/models/some-0e5.gguf", Profile()),
        ("file:/models/fp8_e5m2.gguf", Profile()),
        ("pypi:some-package==1.e5#bge_m3/model", Profile()),
    ],
)
def test_a_profile_is_chosen_by_the_name_of_the_model(uri: str, known: Profile) -> None:
    assert profile_of(uri) == known


def test_a_heading_at_the_start_of_the_text_is_not_repeated() -> None:
    profile = MINILM
    chunk = EmbeddingText("Cranes", "Cranes > Wind", "## Wind\n\nStop.")
    assert apply_document_template(profile, chunk) == "Cranes\n## Wind\n\nStop."
    assert (
        apply_document_template(profile, EmbeddingText("Cranes", "Cranes", "# Cranes\n\nTall.")) == "# Cranes\n\nTall."
    )
    assert apply_document_template(profile, EmbeddingText("", "", "Tall.")) == "Tall."
    gemma = profile_of("file:/models/embeddinggemma-300M.gguf")
    assert apply_document_template(gemma, EmbeddingText("", "", "Tall.")) == "title: none | text: Tall."


def test_compatibility_characters_are_folded_for_e5() -> None:
    profile = E5
    assert apply_query_template(profile, "ＡＢＣ ﬁne") == "query: ABC fine"
    assert apply_document_template(profile, EmbeddingText("ﬁ", "", "①")) == "passage: fi\n1"


@given(st.text(), st.text(), st.text())
def test_templates_keep_any_text_unchanged(title: str, heading: str, text: str) -> None:
    for profile in (MINILM, Profile(), profile_of("hf:Qwen/Qwen3-Embedding-0.6B-GGUF:Q8_0")):
        assert apply_document_template(profile, EmbeddingText(title, heading, text)).endswith(text)
        assert apply_query_template(profile, text).endswith(text)


@given(st.text(alphabet=st.sampled_from("ab .\n。é"), max_size=400), st.integers(1, 60))
def test_pieces_are_the_text_in_parts(text: str, limit: int) -> None:
    spans = cut(text, limit)
    assert "".join(text[start:end] for start, end in spans) == text
    assert spans[0].start == 0
    assert all(end - start <= limit for start, end in spans)
    assert all(end > start for start, end in spans) or not text


def test_without_a_limit_the_text_is_one_piece() -> None:
    assert cut("word " * 1000, None) == [(0, 5000)]
    assert cut("", 10) == [(0, 0)]


def test_a_blank_line_comes_before_a_sentence_and_a_sentence_before_a_space() -> None:
    text = "One sentence here. And two.\n\nThree words more and some. Last one is here."
    assert [text[start:end].strip() for start, end in cut(text, 50)] == [
        "One sentence here. And two.",
        "Three words more and some. Last one is here.",
    ]
    assert [end - start for start, end in cut("x" * 100, 40)] == [40, 40, 20]


def test_pieces_are_of_like_length() -> None:
    text = "Seven words make one short sentence here. " * 40
    lengths = [end - start for start, end in cut(text, 600)]
    assert len(lengths) == 3
    assert max(lengths) - min(lengths) < 120
