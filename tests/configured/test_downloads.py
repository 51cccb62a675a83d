"""After a failed download, the daemon retries only the models that the user requested."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnod.configured.configuration import Configuration
from gnod.configured.models import ModelService
from gnod.errors import DownloadFailed
from gnod.models.supply.fetching import FetchProgress
from gnod.store.database import Database
from tests.models.hub_imitation import HubImitation, small_model
from tests.waiting import until

pytestmark = pytest.mark.slow

URI = "hf:org/repo/model.gguf"
REFUSED = 403  # the child that downloads gives up at once


def ignore(_: FetchProgress) -> None:
    pass


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubImitation]:
    with HubImitation({"org/repo": {"model.gguf": small_model(tmp_path / "small.gguf")}}) as serving:
        serving.status = REFUSED
        yield serving


@pytest.fixture
def configuration(tmp_path: Path) -> Iterator[Configuration]:
    (tmp_path / "index.yml").write_text(f'models: {{embed: "{URI}"}}\n')
    database = Database(tmp_path / "index.sqlite")
    yield Configuration(tmp_path / "index.yml", database)
    database.close()


@pytest.fixture
def models(configuration: Configuration, tmp_path: Path) -> ModelService:
    return ModelService(configuration, tmp_path / "models", first_pause_s=0.01)


def network(hub: HubImitation) -> dict[str, str]:
    return {"HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1"}


async def test_a_failed_download_is_tried_again_until_it_succeeds(models: ModelService, hub: HubImitation) -> None:
    with pytest.raises(DownloadFailed):
        await models.pull(URI, ignore, network(hub))
    before = len(hub.requests)
    models.pull_later([URI], network(hub))
    assert URI in models.due_in_s()
    await until(lambda: len(hub.requests) > 2 * before)
    assert models.find(URI) is None
    hub.status = None
    await until(lambda: not models.due_in_s())
    assert models.find(URI)


async def test_it_ends_when_the_hub_has_no_such_model(models: ModelService, hub: HubImitation) -> None:
    hub.status, hub.repositories = None, {}
    models.pull_later([URI], network(hub))
    await until(lambda: not models.due_in_s())
    assert hub.requests
    assert models.find(URI) is None


async def test_it_ends_when_the_config_no_longer_names_the_model(
    models: ModelService, configuration: Configuration, hub: HubImitation
) -> None:
    models.pull_later([URI], network(hub))
    await until(lambda: bool(hub.requests))
    await configuration.edit(lambda path: path.write_text("models: {preset: none}\n"))
    await until(lambda: not models.due_in_s())
    assert models.find(URI) is None


@pytest.mark.parametrize("ends", ["clear", "clear_all", "pull"])
async def test_the_user_ends_it(ends: str, configuration: Configuration, hub: HubImitation, tmp_path: Path) -> None:
    models = ModelService(configuration, tmp_path / "models", first_pause_s=3600)
    models.pull_later([URI], network(hub))
    assert 3500 < models.due_in_s()[URI] <= 3600
    hub.status = None
    if ends == "pull":
        assert (await models.pull(URI, ignore, network(hub))).fetched
    else:
        await (models.clear(URI) if ends == "clear" else models.clear_all())
    assert not models.due_in_s()


async def test_it_ends_with_the_daemon(models: ModelService, hub: HubImitation) -> None:
    models.pull_later([URI], network(hub))
    await until(lambda: bool(hub.requests))
    await models.close()
    before = len(hub.requests)
    await asyncio.sleep(0.1)
    assert len(hub.requests) == before


async def test_a_download_in_the_background_can_be_removed(models: ModelService, hub: HubImitation) -> None:
    hub.status, hub.holds_after = None, 1000
    models.pull_later([URI], network(hub))
    await until(lambda: bool(hub.downloads))
    await models.clear(URI)
    assert not models.is_pulling(URI)
    assert not models.files.partial_bytes(URI)
