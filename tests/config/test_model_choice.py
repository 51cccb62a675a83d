"""Which models a configuration asks for."""

from __future__ import annotations

import pytest

from gnod.config import model_uris
from gnod.config.model import CollectionConfig, Config, ModelsConfig, Use
from gnod.presets import MODEL_ROLES, PRESETS

OWN = "hf:org/repo:Q8_0"


def config(preset: str, **own: str) -> Config:
    collections = (
        CollectionConfig(name="notes", path="/notes"),
        CollectionConfig(name="wiki", path="/wiki", models=own),
    )
    return Config(collections=collections, models=ModelsConfig(preset=preset))


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_every_role_and_good_addresses(preset: str) -> None:
    models = PRESETS[preset]
    assert tuple(models) == MODEL_ROLES
    assert models["embed"]
    assert bool(models["answer"]) != preset.startswith("mini"), "too small a model writes nothing that can be relied on"
    for uri in filter(None, models.values()):
        assert str(model_uris.parse(uri)) == uri


def test_a_collections_own_model_comes_first() -> None:
    settings = config("mini", embed=OWN)
    assert settings.model_for("embed", "wiki") == OWN
    assert settings.model_for("embed", "notes") == PRESETS["mini"]["embed"]
    assert settings.model_for("embed", "gone") == PRESETS["mini"]["embed"]
    assert settings.model_for("rerank", "wiki") is None


def test_all_uses() -> None:
    settings = config("slim", rerank=OWN, answer=OWN)
    assert [(use.role, use.collection) for use in settings.model_uses()] == [
        *((role, None) for role in MODEL_ROLES),
        ("rerank", "wiki"),
        ("answer", "wiki"),
    ]


def test_the_configs_models_come_before_the_presets() -> None:
    settings = Config(
        collections=config("slim", embed=OWN).collections,
        models=ModelsConfig(preset="slim", embed="file:/m.gguf", expand="none", rerank="hf:o/r:Q4_0"),
    )
    slim = PRESETS["slim"]
    assert settings.model_for("embed", "notes") == "file:/m.gguf"
    assert settings.model_for("embed", "wiki") == OWN
    assert settings.model_for("expand") is None
    assert settings.model_uses() == [
        Use("file:/m.gguf", "embed"),
        Use("hf:o/r:Q4_0", "rerank"),
        Use(str(slim["answer"]), "answer"),
        Use(OWN, "embed", "wiki"),
    ]


def test_a_collection_may_have_what_the_config_switches_off() -> None:
    settings = Config(
        collections=config("slim", rerank=OWN).collections, models=ModelsConfig(preset="slim", rerank="none")
    )
    assert settings.model_for("rerank") is None
    assert settings.model_for("rerank", "wiki") == OWN
    assert [use.collection for use in settings.model_uses() if use.role == "rerank"] == ["wiki"]
