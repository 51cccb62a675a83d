"""Marks for requirements on the system, the file system or the user. They skip a test elsewhere, with the reason."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as several users")
not_as_root = pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not restrict root")


def needs_linux(why: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(sys.platform != "linux", reason=f"only on Linux: {why}")


def _takes_any_name() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9")).touch()
        except OSError:
            return False
    return True


needs_any_name = pytest.mark.skipif(not _takes_any_name(), reason="this file system accepts only UTF-8 names")
needs_proc = needs_linux("reads /proc")
