"""Attached collections for tests."""

from __future__ import annotations

from pathlib import Path

from gnod.configured.configuration import Configuration
from gnod.shared.attached import AttachedCollections
from gnod.shared.engine import SharedEngine


def not_attached(configuration: Configuration, folder: Path) -> AttachedCollections:
    """Return none."""

    async def connect(address: str, _: str) -> SharedEngine:
        raise AssertionError(address)

    return AttachedCollections(configuration, folder, "shared-", connect, lambda *_: None)
