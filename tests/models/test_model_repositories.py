"""Repositories with safetensors: from a hub on loopback and from a folder, converted by the real child process."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Protocol

import gguf
import pytest

from gnod.errors import DownloadFailed, GnoError, ModelCorrupt, ModelNotFound, ModelRejected
from gnod.models.files import Installed, ModelFiles
from gnod.models.profiles import Profile
from gnod.models.run.llama import library
from gnod.models.run.llama.embedding import EmbeddingEngine
from gnod.models.run.llama.generation import GenerationEngine
from gnod.models.run.llama.ranking import RankingEngine
from gnod.models.run.messages import ModelSpec
from gnod.models.supply import fetching
from gnod.models.supply.convert import repository
from gnod.models.supply.fetching import FetchProgress
from tests.models import replicas, tiny_bert
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


async def test_a_repository_is_converted(
    fetch: Fetch, hub: HubImitation, files: ModelFiles, steps: list[FetchProgress]
) -> None:
    installed = await fetch()
    assert installed.profile == Profile("find: {text}", "{title}\n{text}", "{text}", window=256, piece=600)
    assert files.find(URI) == installed
    assert files.partial_bytes(URI) == 0
    engine = EmbeddingEngine(ModelSpec(path=str(installed.path), window=256))
    assert engine.embed(["A text"]).vectors.shape == (1, 40)
    engine.close()
    precisions = {tensor.tensor_type.name for tensor in gguf.GGUFReader(installed.path).tensors}
    assert precisions == {"F32", "BF16" if library.prefers_bf16() else "F16"}
    downloads = [step for step in steps if step.stage == "download"]
    assert downloads[-1].done == downloads[-1].total
    assert [step.done for step in downloads] == sorted(step.done for step in downloads)
    assert {step.stage for step in steps} == {"download", "convert", "check"}
    unused = ("pytorch_model.bin", "model.onnx", "README.md")
    assert not any(hub.sent[name] for name in unused)


async def test_a_folder_is_converted(fetch: Fetch, hub: HubImitation, folder: Path, files: ModelFiles) -> None:
    by_hub, local = await fetch(), await fetch(f"file:{folder}")
    assert local.profile == by_hub.profile
    assert files.find(f"file:{folder}") == local
    assert files.remove(f"file:{folder}") > 0
    assert files.find(f"file:{folder}") is None
    assert (folder / "model.safetensors").exists()


async def test_a_dropped_download_is_resumed(fetch: Fetch, hub: HubImitation) -> None:
    small = [name for name in hub.repositories["org/repo"] if name.endswith(".json")]
    hub.drops = [10**9] * (len(small) + 4)
    hub.drops.append(100_000)
    hub.drops += [100_000] * 3
    await fetch()
    assert any(each.start >= 100_000 for each in hub.downloads)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"config.json": b'{"model_type": "llama"}'}, ModelRejected, "of type llama; gnod converts bert, "),
        ({"config.json": None}, ModelRejected, "has no config.json"),
        ({"model.safetensors": None}, ModelRejected, r"has no safetensors \(model.safetensors\).*choose another"),
        ({"model.safetensors": None, "a.gguf": b"GGUF"}, ModelRejected, "name one, as in hf:org/repo/a.gguf"),
        ({"2_Dense/model.safetensors": None}, ModelRejected, r"no safetensors \(2_Dense/model.safetensors\)"),
        ({"model.safetensors": b"<html>"}, ModelCorrupt, "is cut off or not a safetensors file"),
        ({"2_Dense/config.json": b'{"in_features": 3, "out_features": 4}'}, ModelCorrupt, "2_Dense takes 3 values"),
        ({"1_Pooling/config.json": b'{"pooling_mode_max_tokens": true}'}, ModelRejected, "its pooling is max"),
    ],
)
async def test_what_cannot_be_converted_is_refused_before_the_download(
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
    assert hub.sent["model.safetensors"] < 50_000
    assert not hub.sent["tokenizer.json"]
    assert files.partial_bytes(URI) == 0


async def test_weights_of_another_shape_are_refused_before_the_download(fetch: Fetch, hub: HubImitation) -> None:
    config = json.loads(hub.repositories["org/repo"]["config.json"])
    hub.repositories["org/repo"]["config.json"] = json.dumps(config | {"vocab_size": 1601}).encode()
    with pytest.raises(ModelCorrupt, match=r"word_embeddings.weight has shape \(1600, 32\).*needs \(1601, 32\)"):
        await fetch()
    assert hub.sent["model.safetensors"] < 50_000


async def test_truncated_weights_leave_the_old_model(fetch: Fetch, hub: HubImitation, files: ModelFiles) -> None:
    installed = await fetch()
    weights = hub.repositories["org/repo"]["model.safetensors"]
    hub.repositories["org/repo"]["model.safetensors"] = weights[:-1000]
    with pytest.raises(ModelCorrupt, match=r"is cut off: tensor .* lies beyond its end"):
        await fetch(force=True)
    assert files.find(URI) == installed


@pytest.mark.parametrize(
    ("status", "code", "error", "says"),
    [
        (404, "RepoNotFound", ModelNotFound, "no repository org/repo"),
        (403, "GatedRepo", DownloadFailed, "org/repo is gated: accept its terms.*HF_TOKEN"),
        (501, None, DownloadFailed, "an internal error"),
    ],
)
async def test_a_repository_that_is_not_there_or_gated(
    status: int, code: str | None, error: type[GnoError], says: str, fetch: Fetch, hub: HubImitation
) -> None:
    hub.status, hub.error_code = status, code
    with pytest.raises(error, match=says):
        await fetch()


async def test_weights_in_several_files(fetch: Fetch, hub: HubImitation) -> None:
    model, _ = replicas.weights(replicas.EMBEDDERS["bert-dense"])
    files = hub.repositories["org/repo"]
    del files["model.safetensors"]
    halves = [dict(list(model.items())[:10]), dict(list(model.items())[10:])]
    names = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    for name, half in zip(names, halves, strict=True):
        files[name] = tiny_bert.safetensors(half)
    index = {tensor: name for name, half in zip(names, halves, strict=True) for tensor in half}
    files["model.safetensors.index.json"] = json.dumps({"weight_map": index}).encode()
    assert (await fetch()).bytes > 100_000


def test_a_reranker_gives_no_vectors(tmp_path: Path) -> None:
    repository.convert(replicas.write(tmp_path / "m", replicas.RERANKERS["bert"]), tmp_path / "m.gguf")
    with pytest.raises(ModelRejected, match="use it as `rerank`"):
        EmbeddingEngine(ModelSpec(path=str(tmp_path / "m.gguf")))


@pytest.mark.parametrize(("name", "says"), [("bert", "no classification head"), ("qwen3", "for embeddings only")])
def test_an_embedder_ranks_nothing(name: str, says: str, tmp_path: Path) -> None:
    repository.convert(replicas.write(tmp_path / "m", replicas.EMBEDDERS[name]), tmp_path / "m.gguf")
    with pytest.raises(ModelRejected, match=says):
        RankingEngine(ModelSpec(path=str(tmp_path / "m.gguf")))


def test_a_converted_model_writes_no_text(tmp_path: Path) -> None:
    repository.convert(replicas.write(tmp_path / "m", replicas.EMBEDDERS["qwen3"]), tmp_path / "m.gguf")
    with pytest.raises(ModelRejected, match="for embeddings only"):
        GenerationEngine(ModelSpec(path=str(tmp_path / "m.gguf")))
