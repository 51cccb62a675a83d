"""What a test needs of the system, of its file system or of its user: marks that skip it elsewhere, with the reason."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as several users")
not_as_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")


def needs_linux(why: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(sys.platform != "linux", reason=f"only on Linux: {why}")


def _takes_any_name() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9")).touch()
        except OSError:
            return False
    return True


needs_any_name = pytest.mark.skipif(not _takes_any_name(), reason="this file system has only names that are UTF-8")
needs_proc = needs_linux("reads /proc")
