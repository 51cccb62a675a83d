"""Converted models give what transformers computes from the same weights: token ids, vectors, logits.

The expected values are those of `scripts/replica_outputs.py`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from gnod.models.convert import repository
from gnod.models.convert.repository import WeightsType
from gnod.models.llama import library
from gnod.models.llama.embedding import EmbeddingEngine
from gnod.models.llama.ranking import RankingEngine
from gnod.models.llama.tokenization import tokenization
from gnod.models.messages import ModelSpec
from tests.models import replicas
from tests.models.replicas import EMBEDDERS, EXPECTED, RERANKERS

FOUND = json.loads((EXPECTED / "replicas.json").read_text())
VECTORS = np.load(EXPECTED / "replicas.npz")


def converted(folder: Path, replica: replicas.Replica, weights: WeightsType) -> ModelSpec:
    model = replicas.write(folder / "model", replica)
    profile = repository.convert(model, folder / "model.gguf", weights=weights)
    return ModelSpec(path=str(folder / "model.gguf"), window=profile.window)


@pytest.mark.parametrize(("weights", "least"), [("f32", 0.9999), ("f16", 0.999)])
@pytest.mark.parametrize("name", EMBEDDERS)
def test_vectors_are_those_of_transformers(name: str, weights: WeightsType, least: float, tmp_path: Path) -> None:
    engine = EmbeddingEngine(converted(tmp_path, EMBEDDERS[name], weights))
    found = engine.embed(replicas.texts()).vectors
    engine.close()
    expected = VECTORS[name].astype(np.float32)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert (found * expected).sum(axis=1).min() >= least


@pytest.mark.parametrize("name", EMBEDDERS)
def test_token_ids_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    model = library.load(converted(tmp_path, EMBEDDERS[name], "f16"))
    tokens = tokenization(model)
    found = [[*tokens.specials.prefix, *tokens.tokens(text), *tokens.specials.suffix] for text in replicas.texts()]
    assert found == FOUND["ids"][name]


@pytest.mark.parametrize("name", RERANKERS)
def test_logits_are_those_of_transformers(name: str, tmp_path: Path) -> None:
    engine = RankingEngine(converted(tmp_path, RERANKERS[name], "f32"))
    scores = [next(iter(engine.scores(query, [text], ended=lambda: False)))[0] for query, text in replicas.pairs()]
    engine.close()
    found = [math.log(score / (1 - score)) for score in scores]
    np.testing.assert_allclose(found, FOUND["logits"][name], atol=1e-3)
