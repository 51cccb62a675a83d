"""Fixtures of the model tests: the folder of models, and the reports of a download."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnod.models.files import ModelFiles
from gnod.models.supply.fetching import FetchProgress


@pytest.fixture
def files(tmp_path: Path) -> ModelFiles:
    return ModelFiles(tmp_path / "models")


@pytest.fixture
def steps() -> list[FetchProgress]:
    return []
