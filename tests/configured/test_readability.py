"""When a model is measured again. A model that fails is not started for every search."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from gnod.configured.configuration import Configuration
from gnod.configured.embedding_models import ReadabilityService
from gnod.configured.models import ModelFactory, ModelService
from gnod.models.remote.models import FingerprintsInMemory, RemoteModels
from gnod.models.run.inference import Inference
from gnod.store.database import Database
from tests.gates import OpenGate


async def _settled(service: ReadabilityService, uri: str) -> None:
    """Request the result once, and wait until no measurement runs."""
    assert service.of(uri) is None
    await asyncio.sleep(0)
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == f"measure {uri}"))


async def test_a_failed_measurement_waits_before_the_next_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 100)
    uri = f"file:{broken}"
    database, inference = Database(tmp_path / "index.sqlite"), Inference(idle_unload_s=300)
    configuration = Configuration(tmp_path / "index.yml", database)
    models = ModelService(configuration, tmp_path / "models")
    factory = ModelFactory(configuration, models.files, inference, RemoteModels(FingerprintsInMemory(), OpenGate()))
    try:
        patient = ReadabilityService(models, factory)
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                await _settled(patient, uri)
            assert [record.message for record in caplog.records] == ["model.not_measured"]
            models.installed.emit(uri)
            await _settled(patient, uri)
            assert len(caplog.records) == 2, "another file may be there now"
            eager = ReadabilityService(models, factory, retry_s=0.0)
            for _ in range(2):
                await _settled(eager, uri)
            assert len(caplog.records) == 4
    finally:
        await models.close()
        await inference.close()
        database.close()
