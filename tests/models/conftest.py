"""Fixtures of the tests of models: where they are kept, and what a download reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnod.models.fetching import FetchProgress
from gnod.models.files import ModelFiles


@pytest.fixture
def files(tmp_path: Path) -> ModelFiles:
    return ModelFiles(tmp_path / "models")


@pytest.fixture
def steps() -> list[FetchProgress]:
    return []
