"""Which models a configuration asks for."""

from __future__ import annotations

import pytest

from gnod.config.model import CollectionConfig, Config, ModelsConfig
from gnod.models import presets, uris
from gnod.models.presets import Use
from gnod.models.supply.fetch.wheel import KNOWN
from gnod.models.uris import WheelFile
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
        assert str(uris.parse(uri)) == uri


def test_what_presets_take_from_wheels_is_pinned() -> None:
    for models in PRESETS.values():
        for uri in filter(None, models.values()):
            parsed = uris.parse(uri)
            if isinstance(parsed, WheelFile):
                assert (parsed.package, parsed.version) in KNOWN


def test_a_collections_own_model_comes_first() -> None:
    settings = config("mini", embed=OWN)
    assert presets.uri_for(settings, "embed", "wiki") == OWN
    assert presets.uri_for(settings, "embed", "notes") == PRESETS["mini"]["embed"]
    assert presets.uri_for(settings, "embed", "gone") == PRESETS["mini"]["embed"]
    assert presets.uri_for(settings, "rerank", "wiki") is None


def test_all_uses_and_each_model_once() -> None:
    settings = config("slim", rerank=OWN, answer=OWN)
    assert [(use.role, use.collection) for use in presets.uses(settings)] == [
        *((role, None) for role in MODEL_ROLES),
        ("rerank", "wiki"),
        ("answer", "wiki"),
    ]
    slim = PRESETS["slim"]
    assert presets.wanted(settings) == [slim["embed"], slim["rerank"], slim["expand"], OWN]


def test_the_configs_models_come_before_the_presets() -> None:
    settings = Config(
        collections=config("slim", embed=OWN).collections,
        models=ModelsConfig(preset="slim", embed="file:///m.gguf", expand="none", rerank="hf:o/r:Q4_0"),
    )
    slim = PRESETS["slim"]
    assert presets.uri_for(settings, "embed", "notes") == "file:/m.gguf"
    assert presets.uri_for(settings, "embed", "wiki") == OWN
    assert presets.uri_for(settings, "expand") is None
    assert presets.uses(settings) == [
        Use("file:/m.gguf", "embed"),
        Use("hf:o/r:Q4_0", "rerank"),
        Use(str(slim["answer"]), "answer"),
        Use(OWN, "embed", "wiki"),
    ]
    assert presets.wanted(settings) == ["file:/m.gguf", "hf:o/r:Q4_0", slim["answer"], OWN]


def test_a_collection_may_have_what_the_config_switches_off() -> None:
    settings = Config(
        collections=config("slim", rerank=OWN).collections, models=ModelsConfig(preset="slim", rerank="none")
    )
    assert presets.uri_for(settings, "rerank") is None
    assert presets.uri_for(settings, "rerank", "wiki") == OWN
    assert [use.collection for use in presets.uses(settings) if use.role == "rerank"] == ["wiki"]
