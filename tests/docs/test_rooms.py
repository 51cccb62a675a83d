"""A newcomer finds things from the tree: folders stay small and say what they are for; the pages name what exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_MODULES = 21
PACKAGES = sorted({path.parent for top in ("gnod", "gnoctl") for path in (ROOT / top).rglob("*.py")})


def test_no_folder_is_a_bag() -> None:
    sizes = {str(folder.relative_to(ROOT)): len(list(folder.glob("*.py"))) for folder in PACKAGES}
    assert {folder: size for folder, size in sizes.items() if size > MOST_MODULES} == {}


def test_every_package_says_what_it_is_for() -> None:
    starts = {folder: folder / "__init__.py" for folder in PACKAGES}
    silent = [folder for folder, start in starts.items() if not start.exists() or not _docstring(start)]
    assert silent == []


def _docstring(path: Path) -> str | None:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "architecture.md"])
def test_a_page_names_paths_that_exist(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", text)
    below = [ROOT, ROOT / "gnod", ROOT / "gnoctl"]
    assert len(named) > 10
    assert [path for path in named if not any((folder / path).exists() for folder in below)] == []


def test_the_table_names_constants_that_exist() -> None:
    """`NAME` in `path`."""
    text = (ROOT / "docs" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+)`(?:, or `\w+`,)? (?:in|of) `((?:gnod|gnoctl)/[a-z_/]+\.py)`", text)
    assert len(named) > 10
    assert [(name, path) for name, path in named if not re.search(rf"\b{name}\b", (ROOT / path).read_text())] == []
