"""Choosing a preset in index.yml, models that replace the preset's, and models of collections."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnod.config import edit
from gnod.config.load import load, parse_text
from gnod.config.model import CollectionConfig, Config
from gnod.errors import ConfigInvalid

PATH = Path("index.yml")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "models:\n  preset: mini\n"),
        ("version: '1.0'", "version: '1.0'\nmodels:\n  preset: mini\n"),
        ("models: {}\n", "models: {preset: mini}\n"),
        ("models:\n", "models: {preset: mini}\n"),
        ("models: ~ # none\n", "models: {preset: mini} # none\n"),
        ("models:\n  preset: slim # small\n  gpu: 'off'\n", "models:\n  preset: mini # small\n  gpu: 'off'\n"),
        ('models: {gpu: "off", preset: "slim"}\n', 'models: {gpu: "off", preset: "mini"}\n'),
        ("models: {gpu: auto}\n", "models: {gpu: auto, preset: mini}\n"),
        ("models:\n  # a note\n  gpu: auto\n", "models:\n  # a note\n  preset: mini\n  gpu: auto\n"),
        ("models:\n  preset:\n  gpu: auto\n", "models:\n  preset: mini\n  gpu: auto\n"),
        ("models:\n  preset: ~\n", "models:\n  preset: mini\n"),
        ("models:\n  activePreset: slim\n", "models:\n  activePreset: mini\n"),
        ("{version: '1.0'}\n", "{version: '1.0', models: {preset: mini}}\n"),
        ("models:\r\n  gpu: auto\r\n", "models:\r\n  preset: mini\r\n  gpu: auto\r\n"),
        ("  models:\n     gpu: auto\n", "  models:\n     preset: mini\n     gpu: auto\n"),
        ("models:\n  preset: slimm\n", "models:\n  preset: mini\n"),
        ("models:\n  preset: mini\n", "models:\n  preset: mini\n"),
        ("models:\n  expand: none\n", "models:\n  preset: mini\n  expand: none\n"),
    ],
)
def test_the_preset_is_set_and_the_rest_stays(before: str, after: str, path: Path) -> None:
    path.write_text(before, newline="")
    edit.use_preset(path, "mini")
    assert path.read_bytes().decode() == after
    assert load(path).config.models.preset == "mini"
    path.unlink()
    edit.use_preset(path, "mini-multilingual")
    assert path.read_text() == f"{edit.STARTER}models:\n  preset: mini-multilingual\n"


@pytest.mark.parametrize("text", ["x: &m {gpu: auto}\nmodels: *m\n", "x: &n\nmodels: *n\n"])
def test_a_layout_that_cannot_be_followed_is_left_alone(text: str, path: Path) -> None:
    path.write_text(text)
    with pytest.raises(ConfigInvalid, match="edit it by hand"):
        edit.use_preset(path, "mini")
    assert path.read_text() == text


def test_a_collections_own_models_are_read_in_their_canonical_form(path: Path) -> None:
    models = 'models: {embed: "file:///m.gguf/", gen: "pypi:a==1#b/c"}'
    _, loaded = parse_text(f"collections: [{{name: a, path: /a, {models}}}]", PATH)
    assert loaded.config.collections[0].models == {"embed": "file:/m.gguf", "answer": "pypi:a==1#b/c"}
    assert not loaded.warnings
    edit.add_collection(path, CollectionConfig(name="a", path="/a", models={"embed": "file:///m.gguf"}))
    assert load(path).config.model_for("embed", "a") == "file:/m.gguf"
    with pytest.raises(ConfigInvalid, match="is not a model's address"):
        edit.add_collection(path, CollectionConfig(name="b", path="/b", models={"embed": "nothing"}))


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("hf:a", "collections[0].models.embed: 'hf:a' is not a model's address: '' is not a name on the hub"),
        ("a/b/c.gguf", "did you mean hf:a/b/c.gguf?"),
        ("https://huggingface.co/a/b/resolve/main/c.gguf", "did you mean hf:a/b/c.gguf?"),
    ],
)
def test_a_bad_address_is_a_fault_with_its_line(uri: str, says: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        parse_text(f'collections:\n  - name: a\n    path: /a\n    models:\n      embed: "{uri}"\n', PATH)
    assert says in caught.value.message
    assert "index.yml:5: " in caught.value.message


def test_a_server_that_gno_would_ask_is_a_warning() -> None:
    _, loaded = parse_text("models: {answer: 'http://localhost:8080/v1'}", PATH)
    assert loaded.config.models == Config().models
    assert "so the preset's is used" in loaded.warnings[0]
    _, loaded = parse_text('collections: [{name: a, path: /a, models: {embed: "http://localhost:8080/v1"}}]', PATH)
    assert loaded.config.collections[0].models == {}
    assert "does not name a model of the server, so the preset's is used" in loaded.warnings[0]


def test_a_server_of_ours_is_an_address() -> None:
    text = (
        'models: {embed: "http://localhost:8080/v1/embeddings#minilm"}\nmemory: {egress: lan}\n'
        "collections: [{name: a, path: /a}, {name: b, path: /b, egress: any}]"
    )
    _, loaded = parse_text(text, PATH)
    assert loaded.config.model_for("embed") == "http://localhost:8080/v1#minilm"
    assert [each.egress for each in loaded.config.collections] == ["local", "any"]
    assert loaded.config.memory.egress == "lan"
    assert not loaded.warnings


def test_models_instead_of_the_presets() -> None:
    text = "models: {preset: mini, embed: 'hf:a/b:Q8_0', rerank: NONE, expand: ~, gen: 'file:/m.gguf'}"
    _, loaded = parse_text(text, PATH)
    models = loaded.config.models
    assert (models.embed, models.rerank, models.expand, models.answer) == ("hf:a/b:Q8_0", "none", None, "file:/m.gguf")
    assert not loaded.warnings


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("", False),
        ("models:\n  gpu: 'off'\n", False),
        ("models:\n", False),
        ("models:\n  preset:\n", False),
        ("models: {preset: mini}\n", True),
        ("models:\n  activePreset: slim\n", True),
        ("models:\n  embed: hf:a/b/c.gguf\n", True),
        ("models:\n  rerank: hf:a/b/c.gguf\n", False),
    ],
)
def test_whether_the_file_chooses_models(path: Path, text: str, does: bool) -> None:
    assert not edit.names_preset(path)
    path.write_text(text)
    assert edit.names_preset(path) == does
