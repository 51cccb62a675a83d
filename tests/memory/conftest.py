"""Fixtures for the tests of memories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from tests.memory.memory_bench import Kept


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    found = Kept(tmp_path / "memory.sqlite")
    yield found
    found.database.close()


@pytest.fixture
def no_keyring(keyring_file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine where no keyring runs, as over SSH."""
    from keyring.backends.fail import Keyring

    monkeypatch.delenv("PYTHON_KEYRING_BACKEND", raising=False)
    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())  # type: ignore[no-untyped-call]
    yield
    keyring.set_keyring(before)
