"""Which systems `make` accepts, what `make wheels` checks, and what the install page promises are the same; the recipes
of packaging/ and the Debian package name the present version, and their languages accept them."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gnod import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def make_venv() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts/make_venv.py"))


def test_make_accepts_the_pythons_whose_wheels_are_checked(make_venv: dict[str, Any]) -> None:
    checked = runpy.run_path(str(ROOT / "scripts/check_wheels.py"))["PYTHONS"]
    assert sorted(make_venv["PYTHONS"]) == sorted(checked)
    oldest, newest = (".".join(map(str, version)) for version in (checked[0], checked[-1]))
    for page in ("README.md", "docs/install.md"):
        assert f"Python {oldest} to {newest}" in (ROOT / page).read_text()
    for version in checked:
        assert make_venv["_python_problem"](version) is None


@pytest.mark.parametrize("version", [(2, 7), (3, 10), (3, 15), (4, 0)])
def test_other_pythons_are_refused_with_one_that_is_here(version: tuple[int, int], make_venv: dict[str, Any]) -> None:
    problem = make_venv["_python_problem"](version)
    assert f"is {version[0]}.{version[1]}: " in problem
    assert "`make PYTHON=" in problem


def test_intel_macs_are_refused_in_one_sentence(make_venv: dict[str, Any]) -> None:
    assert "gnod needs Apple silicon" in make_venv["_machine_problem"]("darwin", "x86_64")
    for system, machine in (("darwin", "arm64"), ("linux", "x86_64"), ("linux", "aarch64")):
        assert make_venv["_machine_problem"](system, machine) is None
    assert "macOS with Apple silicon" in (ROOT / "README.md").read_text()


PACKAGING = ROOT / "packaging"


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


def test_the_changelog_of_debian_begins_with_this_version() -> None:
    first = (ROOT / "debian/changelog").read_text().splitlines()[0]
    assert first.startswith(f"gnod ({__version__}) ")
