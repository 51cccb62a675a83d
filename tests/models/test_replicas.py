"""Encoders and GGUF files give the results of transformers for the same weights: token ids, vectors, logits."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from gnod.models import encoder
from gnod.models.encoder import Dense
from gnod.models.run.engines import PairRanker, TextEmbedder
from gnod.models.run.llama import library
from gnod.models.run.llama.embedding import EmbeddingEngine
from gnod.models.run.llama.library import llama_cpp
from gnod.models.run.llama.ranking import ranking_engine
from gnod.models.run.llama.tokenization import tokenization
from gnod.models.run.messages import ModelSpec
from gnod.models.run.onnx import OnnxEmbedding, OnnxRanking
from gnod.models.supply.encoders import repository
from tests.models import gguf_replicas, replicas
from tests.models.replicas import EMBEDDERS, EXPECTED, QWEN3_RERANKER, RERANKERS

FOUND = json.loads((EXPECTED / "replicas.json").read_text())
VECTORS = np.load(EXPECTED / "replicas.npz")


def prepared(folder: Path, replica: replicas.Replica) -> ModelSpec:
    profile = repository.prepare(replicas.write(folder / "model", replica), folder / "encoder")
    assert profile
    return ModelSpec(path=str(folder / "encoder" / "model.onnx"), window=profile.window, threads=1)


@pytest.mark.parametrize("name", ["bert", "bert-plain", "bert-dense", "xlm-roberta"])
def test_an_encoder_gives_what_transformers_computes(name: str, tmp_path: Path) -> None:
    """These small models lose more to 8 bits than real models, whose cosines are above .99."""
    engine = OnnxEmbedding(prepared(tmp_path, EMBEDDERS[name]))
    tokens = engine._tokenization
    ids = [[*tokens.specials.prefix, *tokens.tokens(text), *tokens.specials.suffix] for text in replicas.texts()]
    assert ids == FOUND["ids"][name]
    assert cosines(engine, name).min() >= 0.98
    engine.close()


def cosines(engine: TextEmbedder, name: str) -> NDArray[np.float32]:
    found = engine.embed(replicas.texts())
    expected = VECTORS[name].astype(np.float32)
    cosines: NDArray[np.float32] = (found * expected).sum(axis=1) / np.linalg.norm(expected, axis=1)
    return cosines


def token_ids(spec: ModelSpec) -> list[list[int]]:
    model = library.load(spec)
    tokens = tokenization(model)
    found = [[*tokens.specials.prefix, *tokens.tokens(text), *tokens.specials.suffix] for text in replicas.texts()]
    llama_cpp.llama_model_free(model)
    return found


@pytest.mark.parametrize("name", ["bert", "xlm-roberta"])
def test_a_cross_encoder_gives_what_transformers_computes(name: str, tmp_path: Path) -> None:
    found = logits(OnnxRanking(prepared(tmp_path, RERANKERS[name])))
    np.testing.assert_allclose(found, FOUND["logits"][name], atol=0.1)


def test_a_cross_encoder_with_large_logits_still_tells_good_documents_apart(tmp_path: Path) -> None:
    spec = prepared(tmp_path, RERANKERS["bert"])
    engine = OnnxRanking(spec)
    texts = [text for _, text in replicas.pairs()]
    before = [score for score, _ in engine.scores("harbour", texts)]
    engine.close()
    settings = encoder.read(tmp_path / "encoder")
    *layers, last = settings.layers
    assert isinstance(last, Dense)
    weight, bias = ((np.frombuffer(data, "<f4") * 100).tobytes() for data in (last.weight, last.bias))
    larger = replace(settings, layers=[*layers, replace(last, weight=weight, bias=bias)])
    (tmp_path / "encoder" / "encoder.json").write_bytes(msgspec.json.encode(larger))
    engine = OnnxRanking(spec)
    after = [score for score, _ in engine.scores("harbour", texts)]
    engine.close()
    assert np.argsort(after).tolist() == np.argsort(before).tolist()
    assert len(set(after)) == len(texts), "none is exactly 0 or 1"


def logits(engine: PairRanker) -> list[float]:
    found = [next(engine.scores(query, [text]))[0] for query, text in replicas.pairs()]
    engine.close()
    return [math.log(score / (1 - score)) for score in found]


# The hub's GGUF files, which llama.cpp's own converter makes.


@pytest.mark.parametrize("name", ["bert", "xlm-roberta", "qwen3", "gemma"])
def test_gguf_files_give_the_same(name: str, tmp_path: Path) -> None:
    spec = ModelSpec(path=str(gguf_replicas.write(tmp_path, EMBEDDERS[name])))
    assert token_ids(spec) == FOUND["ids"][name]
    engine = EmbeddingEngine(spec)
    assert cosines(engine, name).min() >= 0.9999
    engine.close()


@pytest.mark.parametrize("name", ["xlm-roberta", "qwen3"])
def test_rerankers_in_gguf_files_give_the_same(name: str, tmp_path: Path) -> None:
    replica = QWEN3_RERANKER if name == "qwen3" else RERANKERS[name]
    spec = ModelSpec(path=str(gguf_replicas.write(tmp_path, replica)))
    np.testing.assert_allclose(logits(ranking_engine(spec)), FOUND["logits"][name], atol=1e-3)
