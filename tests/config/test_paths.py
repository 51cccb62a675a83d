"""gnod's folders equal those of platformdirs. On Linux, gnod does not import it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from platformdirs import PlatformDirs

from gnod import paths
from tests.systems import needs_linux

VARIABLES = {"config": "XDG_CONFIG_HOME", "data": "XDG_DATA_HOME", "cache": "XDG_CACHE_HOME"}


@needs_linux("elsewhere platformdirs decides")
@pytest.mark.parametrize("kind", VARIABLES)
@pytest.mark.parametrize("value", [None, "", " ", "/somewhere/else", "/trailing/"])
def test_the_fast_path_on_linux_agrees_with_platformdirs(
    kind: str, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    for name in ("GNO_CONFIG_DIR", "GNO_DATA_DIR", "GNO_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLES[kind], value)
    expected = getattr(PlatformDirs("gno", appauthor=False), f"user_{kind}_path")
    assert getattr(paths.resolve(), f"{kind}_dir") == expected


@needs_linux("elsewhere it is needed")
def test_the_fast_path_on_linux_does_not_import_platformdirs() -> None:
    script = "import sys; from gnod import paths; paths.resolve(); print('platformdirs' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
