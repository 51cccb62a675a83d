"""The recipes of packaging/: they name the present version, and their languages accept them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gnod import __version__

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"


@pytest.mark.parametrize(
    ("file", "version"),
    [
        ("aur/PKGBUILD", r"^pkgver=(.+)$"),
        ("homebrew/gnod.rb", r"gnod-([\w.]+)\.tar\.gz"),
        ("nix/flake.nix", r'version = "(.+)";'),
    ],
)
def test_a_recipe_names_the_present_version(file: str, version: str) -> None:
    assert re.findall(version, (PACKAGING / file).read_text(), re.MULTILINE) == [__version__]


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("aur/PKGBUILD", ["shellcheck"]),
        ("homebrew/gnod.rb", ["ruby", "-c"]),
        ("nix/flake.nix", ["nix-instantiate", "--parse"]),
    ],
)
def test_a_recipe_is_valid(file: str, command: list[str]) -> None:
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    checked = subprocess.run([*command, str(PACKAGING / file)], capture_output=True, text=True, check=False, timeout=60)
    assert checked.returncode == 0, checked.stdout + checked.stderr
