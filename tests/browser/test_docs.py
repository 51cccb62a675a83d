"""The site that `make site` builds, opened from the disk: its search works, and it loads nothing from other servers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Visit

pytestmark = pytest.mark.stress
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site like the Makefile: a warning, such as one about a dead link, is an error."""
    folder = tmp_path_factory.mktemp("docs")
    options = ["-W", "--keep-going", "-q", "-d", str(folder / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(folder / "site")]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder / "site"


@pytest.mark.parametrize(("words", "page"), [("supersedes", "memory"), ("egress", "remote-models")])
def test_a_search_finds_a_page(docs: Path, browser: Any, words: str, page: str) -> None:
    tab = browser.new_page()
    visit = Visit(tab, docs.as_uri(), expected="")
    tab.goto(f"{docs.as_uri()}/index.html")

    tab.fill(".sidebar-search", words)
    tab.press(".sidebar-search", "Enter")
    tab.wait_for_selector("#search-results a[href*='adr/']")
    results = [link.get_attribute("href") for link in tab.query_selector_all("#search-results li a")]
    assert "adr/" not in results[0], "decisions come last"
    tab.click(f"#search-results a[href*='{page}.html']")

    assert tab.inner_text("h1")
    assert (visit.abroad, visit.errors) == ([], [])
    tab.close()


def test_every_page_and_picture_is_part_of_the_site(docs: Path, browser: Any) -> None:
    tab = browser.new_page()
    visit = Visit(tab, docs.as_uri(), expected="")
    pages = sorted(docs.glob("*.html"))
    assert len(pages) > 30
    for page in pages:
        tab.goto(page.as_uri())
        broken = "[...document.images].filter(each => each.complete && !each.naturalWidth).map(each => each.src)"
        assert tab.evaluate(broken) == [], page.name
    assert (visit.abroad, visit.errors) == ([], [])
    tab.close()
