"""Converted models give what transformers computes from the same weights: token ids, vectors, logits.

The expected values are those of `scripts/replica_outputs.py`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gnod.models.run.llama import library
from gnod.models.run.llama.bindings import llama_cpp
from gnod.models.run.llama.embedding import EmbeddingEngine
from gnod.models.run.llama.ranking import RankingEngine
from gnod.models.run.llama.tokenization import tokenization
from gnod.models.run.messages import ModelSpec
from gnod.models.supply.convert import repository
from gnod.models.supply.convert.repository import WeightsType
from tests.models import gguf_replicas, replicas
from tests.models.replicas import EMBEDDERS, EXPECTED, QWEN3_RERANKER, RERANKERS

FOUND = json.loads((EXPECTED / "replicas.json").read_text())
VECTORS = np.load(EXPECTED / "replicas.npz")


def converted(folder: Path, replica: replicas.Replica, weights: WeightsType) -> ModelSpec:
    model = replicas.write(folder / "model", replica)
    profile = repository.convert(model, folder / "model.gguf", weights=weights)
    return ModelSpec(path=str(folder / "model.gguf"), window=profile.window)


@pytest.mark.slow
@pytest.mark.parametrize(("weights", "least"), [("f32", 0.9999), ("f16", 0.999)])
@pytest.mark.parametrize("name", EMBEDDERS)
def test_vectors_are_those_of_transformers(name: str, weights: WeightsType, least: float, tmp_path: Path) -> None:
    assert cosines(converted(tmp_path, EMBEDDERS[name], weights), name).min() >= least


def cosines(spec: ModelSpec, name: str) -> NDArray[np.float32]:
    engine = EmbeddingEngine(spec)
    found = engine.embed(replicas.texts()).vectors
    engine.close()
    expected = VECTORS[name].astype(np.float32)
    cosines: NDArray[np.float32] = (found * expected).sum(axis=1) / np.linalg.norm(expected, axis=1)
    return cosines


@pytest.mark.parametrize("name", EMBEDDERS)
def test_token_ids_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    assert token_ids(converted(tmp_path, EMBEDDERS[name], "f16")) == FOUND["ids"][name]


def token_ids(spec: ModelSpec) -> list[list[int]]:
    model = library.load(spec)
    tokens = tokenization(model)
    found = [[*tokens.specials.prefix, *tokens.tokens(text), *tokens.specials.suffix] for text in replicas.texts()]
    llama_cpp.llama_model_free(model)
    return found


@pytest.mark.parametrize("name", RERANKERS)
def test_logits_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    np.testing.assert_allclose(logits(converted(tmp_path, RERANKERS[name], "f32")), FOUND["logits"][name], atol=1e-3)


def logits(spec: ModelSpec) -> list[float]:
    engine = RankingEngine(spec)
    found = [next(engine.scores(query, [text]))[0] for query, text in replicas.pairs()]
    engine.close()
    return [math.log(score / (1 - score)) for score in found]


# What the hub offers as GGUF, which llama.cpp's own converter makes.


@pytest.mark.parametrize("name", ["bert", "xlm-roberta", "qwen3", "gemma"])
def test_gguf_files_give_the_same(name: str, tmp_path: Path) -> None:
    spec = ModelSpec(path=str(gguf_replicas.write(tmp_path, EMBEDDERS[name])))
    assert token_ids(spec) == FOUND["ids"][name]
    assert cosines(spec, name).min() >= 0.9999


@pytest.mark.parametrize("name", ["xlm-roberta", "qwen3"])
def test_rerankers_in_gguf_files_give_the_same(name: str, tmp_path: Path) -> None:
    replica = QWEN3_RERANKER if name == "qwen3" else RERANKERS[name]
    spec = ModelSpec(path=str(gguf_replicas.write(tmp_path, replica)))
    np.testing.assert_allclose(logits(spec), FOUND["logits"][name], atol=1e-3)
