"""The keyring of the tests of memories, for daemons that keep some."""

from __future__ import annotations

from tests.memory.conftest import keyring_file

__all__ = ["keyring_file"]
