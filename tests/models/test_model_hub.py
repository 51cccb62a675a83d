"""Downloads from a hub on loopback, with the hub's real client in the real child process."""

from __future__ import annotations

import asyncio
import hashlib
import resource
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from gnod.errors import (
    DownloadFailed,
    GnoError,
    ModelCorrupt,
    ModelNotFound,
    ModelRejected,
    Offline,
    StorageFailed,
)
from gnod.models.files import Installed, ModelFiles, Pin
from gnod.models.supply import catalogue, fetching
from gnod.models.supply.fetching import FetchProgress
from gnod.presets import PRESETS
from tests.models.hub_imitation import HubImitation, small_model
from tests.waiting import until

pytestmark = pytest.mark.slow

URI = "hf:org/repo/model.gguf"


class Fetch(Protocol):
    def __call__(
        self, uri: str = URI, *, force: bool = False, accept: str = "", **network: str
    ) -> Awaitable[Installed]: ...


@pytest.fixture
def model(tmp_path: Path) -> bytes:
    return small_model(tmp_path / "small.gguf")


@pytest.fixture
def hub(model: bytes) -> Iterator[HubImitation]:
    with HubImitation({"org/repo": {"model.gguf": model, "README.md": b"# small"}}) as serving:
        yield serving


@pytest.fixture
def fetch(hub: HubImitation, files: ModelFiles, steps: list[FetchProgress]) -> Fetch:
    async def call(uri: str = URI, *, force: bool = False, accept: str = "", **network: str) -> Installed:
        environment = {"HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1,localhost", **network}
        return await fetching.fetch(uri, files, steps.append, environment, force=force, accept=accept)

    return call


def partial(files: ModelFiles) -> Path:
    return files.partial_for(URI) / "download"


async def test_a_model_is_downloaded_once(
    fetch: Fetch, hub: HubImitation, files: ModelFiles, model: bytes, steps: list[FetchProgress]
) -> None:
    installed = await fetch()
    assert installed.path.read_bytes() == model
    assert installed.sha256 == hashlib.sha256(model).hexdigest()
    assert files.find(URI) == installed
    assert files.partial_bytes(URI) == 0
    downloads = [step for step in steps if step.stage == "download"]
    assert [step.done for step in downloads] == sorted(step.done for step in downloads)
    assert downloads[-1] == FetchProgress("download", len(model), len(model))
    asked = len(hub.requests)
    assert await fetch() == installed
    assert len(hub.requests) == asked
    again = await fetch(force=True)
    assert again.fetched_at > installed.fetched_at
    assert len(hub.downloads) == 2


@pytest.mark.parametrize(
    ("quant", "chosen"), [("q4_k_m", "Model-Q4_K_M.gguf"), ("Q8_0", "model.q8_0.GGUF"), ("Q4_K", "Model-Q4_K.gguf")]
)
async def test_a_quantisation_is_looked_up(
    quant: str, chosen: str, fetch: Fetch, hub: HubImitation, model: bytes
) -> None:
    names = ["Model-Q4_K_M.gguf", "Model-Q4_K.gguf", "mmproj-Q8_0.gguf", "model.q8_0.GGUF", "Q4_K_M.safetensors"]
    hub.repositories["org/repo"] = {name: model if name == chosen else b"another" for name in names}
    assert (await fetch(f"hf:org/repo:{quant}")).path.read_bytes() == model


@pytest.mark.stress
async def test_a_quantisation_that_is_not_there_or_not_clear(fetch: Fetch, hub: HubImitation, model: bytes) -> None:
    hub.repositories["org/repo"] = {
        "a-Q4_0.gguf": model,
        "b-Q4_0.gguf": model,
        "m-Q8_0-00001-of-00003.gguf": model,
        "m-Q8_0-00002-of-00003.gguf": model,
    }
    with pytest.raises(ModelNotFound, match=r"no file for Q5_0; its models: a-Q4_0\.gguf, b-"):
        await fetch("hf:org/repo:Q5_0")
    with pytest.raises(ModelRejected, match=r"several files for Q4_0: .*hf:org/repo/a-Q4_0\.gguf"):
        await fetch("hf:org/repo:Q4_0")
    for uri in ("hf:org/repo:Q8_0", "hf:org/repo/m-Q8_0-00001-of-00003.gguf"):
        with pytest.raises(ModelRejected, match="one of 3 parts"):
            await fetch(uri)
    assert not hub.downloads


async def test_a_part_under_another_name_is_refused(
    fetch: Fetch, hub: HubImitation, tmp_path: Path, files: ModelFiles
) -> None:
    hub.repositories["org/repo"]["model.gguf"] = small_model(tmp_path / "part.gguf", parts=3)
    with pytest.raises(ModelRejected, match="one of 3 parts"):
        await fetch()
    assert files.partial_bytes(URI) == 0


async def test_a_dropped_download_is_resumed(fetch: Fetch, hub: HubImitation, model: bytes) -> None:
    hub.drops = [100_000, 50_000]
    assert (await fetch()).path.read_bytes() == model
    assert [each.start for each in hub.downloads] == [0, 100_000, 150_000]


async def test_a_server_without_ranges_starts_again(fetch: Fetch, hub: HubImitation, model: bytes) -> None:
    hub.drops, hub.ignores_ranges = [100_000], True
    assert (await fetch()).path.read_bytes() == model


@pytest.mark.stress
async def test_what_was_fetched_is_kept_for_the_next_pull(
    fetch: Fetch, hub: HubImitation, files: ModelFiles, model: bytes
) -> None:
    hub.drops, hub.drops_for_ever = [], True
    with pytest.raises(DownloadFailed, match=r"connection to 127\.0\.0\.1:\d+ broke: .*is kept"):
        await fetch()
    partial(files).write_bytes(model[:300_000])
    hub.drops_for_ever = False
    hub.requests.clear()
    assert (await fetch()).path.read_bytes() == model
    assert [each.start for each in hub.downloads] == [300_000]


@pytest.mark.stress
async def test_another_file_on_the_hub_is_not_mixed_with_what_is_here(
    fetch: Fetch, hub: HubImitation, files: ModelFiles, model: bytes, tmp_path: Path
) -> None:
    hub.drops_for_ever = True
    with pytest.raises(DownloadFailed):
        await fetch()
    partial(files).write_bytes(model[:300_000])
    hub.drops_for_ever = False
    hub.repositories["org/repo"]["model.gguf"] = newer = small_model(tmp_path / "newer.gguf", size=120_000)
    assert (await fetch()).path.read_bytes() == newer
    assert hub.downloads[-1].start == 0


async def test_a_pull_after_cancelling_resumes(
    fetch: Fetch, hub: HubImitation, files: ModelFiles, model: bytes
) -> None:
    hub.holds_after = 250_000
    pulling = asyncio.ensure_future(fetch())
    await until(lambda: partial(files).exists() and partial(files).stat().st_size == 250_000)
    pulling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pulling
    assert files.find(URI) is None
    hub.release()
    hub.requests.clear()
    assert (await fetch()).path.read_bytes() == model
    assert [each.start for each in hub.downloads] == [250_000]


async def test_two_processes_that_want_the_same_fetch_it_once(
    fetch: Fetch, hub: HubImitation, steps: list[FetchProgress]
) -> None:
    first, second = await asyncio.gather(fetch(), fetch())
    assert first == second
    assert len(hub.downloads) == 1


@pytest.mark.parametrize("difference", [+1000, -1000])
async def test_a_wrong_announced_size_is_detected(
    difference: int, fetch: Fetch, hub: HubImitation, files: ModelFiles, model: bytes
) -> None:
    hub.announced = len(model) + difference
    with pytest.raises(ModelCorrupt, match="truncated" if difference > 0 else "sends more"):
        await fetch()
    assert files.find(URI) is None
    assert files.partial_bytes(URI) == 0


async def test_too_little_disk_space_is_reported_before_the_download(fetch: Fetch, hub: HubImitation) -> None:
    hub.announced = 10**15
    with pytest.raises(StorageFailed, match=r"1,000,000\.1 GB are needed and [\d.,]+ [GM]B are free.*GNO_CACHE_DIR"):
        await fetch()
    assert not hub.downloads


async def test_a_full_disk_is_reported_and_the_download_kept(fetch: Fetch, files: ModelFiles) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(StorageFailed, match=r"the disk is full.*what was fetched is kept"):
            await fetch()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert 0 < partial(files).stat().st_size <= 200_000


async def test_a_refusal_says_what_to_do(fetch: Fetch, hub: HubImitation) -> None:
    hub.status, hub.error_code = 403, "GatedRepo"
    with pytest.raises(DownloadFailed, match=r"is gated: accept its terms.*HF_TOKEN"):
        await fetch()
    assert len(hub.requests) == 1


@pytest.mark.parametrize("status", [503, 429])
@pytest.mark.stress
async def test_requests_are_retried_when_the_hub_fails(status: int, fetch: Fetch, hub: HubImitation) -> None:
    hub.status = status
    with pytest.raises(DownloadFailed, match=f"refused with status {status}; try again later"):
        await fetch()
    assert len(hub.requests) > 2


async def test_a_file_that_is_not_there(fetch: Fetch) -> None:
    with pytest.raises(ModelNotFound, match="no such file"):
        await fetch("hf:org/repo/other.gguf")
    with pytest.raises(ModelNotFound, match="no repository org/other"):
        await fetch("hf:org/other:Q4_0")


async def test_a_web_page_instead_of_a_model_is_recognised(fetch: Fetch, hub: HubImitation, files: ModelFiles) -> None:
    hub.page = b"<!doctype html><html><body>Please log in</body></html>"
    with pytest.raises(ModelCorrupt, match="login or error page"):
        await fetch()
    assert files.partial_bytes(URI) == 0


async def test_a_network_that_wants_a_login(fetch: Fetch, hub: HubImitation) -> None:
    hub.is_captive = True
    with pytest.raises(GnoError, match="login") as caught:
        await fetch()
    assert isinstance(caught.value, DownloadFailed | ModelCorrupt)


async def test_another_hash_is_damage(fetch: Fetch, hub: HubImitation, files: ModelFiles) -> None:
    hub.etag = "0" * 64
    with pytest.raises(ModelCorrupt, match="SHA-256"):
        await fetch()
    assert files.find(URI) is None
    assert files.partial_bytes(URI) == 0


async def test_a_truncated_file_on_the_hub_itself(fetch: Fetch, hub: HubImitation, model: bytes) -> None:
    hub.repositories["org/repo"]["model.gguf"] = model[:-5000]
    with pytest.raises(ModelCorrupt, match="is truncated: it has"):
        await fetch()


async def test_a_later_download_is_of_the_same_commit(fetch: Fetch, hub: HubImitation, model: bytes) -> None:
    first = await fetch()
    assert first.pin == Pin(hub.commit, {"model.gguf": hashlib.sha256(model).hexdigest()})
    hub.requests.clear()
    first.path.write_bytes(model[:1000])  # damage does not erase the record
    assert (await fetch(force=True)).pin == first.pin
    assert {each.path for each in hub.requests} == {
        f"/api/models/org/repo/revision/{hub.commit}",
        f"/org/repo/resolve/{hub.commit}/model.gguf",
    }


async def test_a_file_that_has_changed_since_is_refused_unless_accepted(
    fetch: Fetch, hub: HubImitation, model: bytes, tmp_path: Path
) -> None:
    first = await fetch()
    hub.commit = "e" * 40  # the recorded one is gone
    hub.repositories["org/repo"]["model.gguf"] = newer = small_model(tmp_path / "newer.gguf", size=120_000)
    found = hashlib.sha256(newer).hexdigest()
    hub.requests.clear()
    says = f"its SHA-256 is {found}, and {first.sha256} was expected.* --accept {found} {URI}`"
    with pytest.raises(ModelCorrupt, match=says):
        await fetch(force=True)
    assert not hub.downloads, "the hub states the hash before the download"
    accepted = await fetch(force=True, accept=found)
    assert (accepted.sha256, accepted.pin.revision) == (found, hub.commit)
    assert (await fetch(force=True)).sha256 == found, "what was accepted is expected from then on"


async def test_a_presets_file_with_another_hash_is_refused_unless_accepted(
    fetch: Fetch, hub: HubImitation, model: bytes
) -> None:
    uri = str(PRESETS["slim"]["embed"])
    hub.repositories["Qwen/Qwen3-Embedding-0.6B-GGUF"] = {"Qwen3-Embedding-0.6B-Q8_0.gguf": model}
    hub.commit = catalogue.MODELS[uri].revision
    found = hashlib.sha256(model).hexdigest()
    with pytest.raises(ModelCorrupt, match=f"its SHA-256 is {found}, and 06507c7b.* was expected"):
        await fetch(uri)
    assert not hub.downloads
    installed = await fetch(uri, accept=found)
    assert (installed.sha256, installed.pin.revision) == (found, hub.commit)
    assert f"/resolve/{hub.commit}/" in hub.downloads[0].path


async def test_a_forced_pull_that_fails_leaves_the_old_file(fetch: Fetch, hub: HubImitation, files: ModelFiles) -> None:
    installed = await fetch()
    hub.etag = "0" * 64
    with pytest.raises(ModelCorrupt):
        await fetch(force=True)
    assert files.find(URI) == installed


@pytest.mark.parametrize("variable", ["HF_HUB_OFFLINE", "GNO_OFFLINE"])
async def test_offline_sends_no_request(
    variable: str, fetch: Fetch, hub: HubImitation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(Offline, match=f"{variable} forbids that"):
        await fetch()
    assert not hub.requests
    await fetch(GNO_OFFLINE="0", HF_HUB_OFFLINE="0")
    assert (await fetch()).uri == URI  # the model is installed


async def test_the_token_is_sent_only_to_the_hub(fetch: Fetch, hub: HubImitation, model: bytes) -> None:
    with HubImitation(hub.repositories) as storage:
        hub.redirects_to = storage.url.replace("127.0.0.1", "localhost")
        assert (await fetch(HF_TOKEN="hf_secret")).path.read_bytes() == model
        assert {each.token for each in hub.requests} == {"Bearer hf_secret"}
        assert {each.token for each in storage.requests} == {None}


async def test_a_refused_connection_is_reported(fetch: Fetch) -> None:
    with pytest.raises(DownloadFailed, match=r"no connection to 127\.0\.0\.1:1:"):
        await fetch(HF_ENDPOINT="http://127.0.0.1:1")


async def test_an_unreachable_proxy_is_reported(fetch: Fetch, hub: HubImitation) -> None:
    with pytest.raises(DownloadFailed):
        await fetch(HTTP_PROXY="http://127.0.0.1:1", NO_PROXY="")
    assert not hub.requests


@pytest.mark.parametrize("endpoint", ["ftp://127.0.0.1", "not an address"])
async def test_an_invalid_endpoint_is_reported(endpoint: str, fetch: Fetch) -> None:
    with pytest.raises(DownloadFailed, match="HF_ENDPOINT"):
        await fetch(HF_ENDPOINT=endpoint)
