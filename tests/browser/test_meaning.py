"""The page with an embedding model: hybrid and vector search, related documents."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Site
from tests.machine import temporary_machine

pytestmark = [pytest.mark.slow, pytest.mark.stress]  # embeds, and starts a daemon, a server and a model

HITS = "#hits [role=option]"
NOTES = {
    "herons_md": "# Herons\n\nGrey birds wade in shallow water and catch fish.\n",
    "taxes_md": "# Taxes\n\nThe return is due in May; receipts are kept for ten years.\n",
    "storks_md": "# Storks\n\nWhite birds with long legs that nest on roofs and eat frogs.\n",
    "bread_md": "# Bread\n\nFlour, water, salt and time.\n",
}


@pytest.fixture(scope="module")
def site(browser: object, minilm_onnx: Path, measured_models: Path) -> Iterator[Site]:
    with temporary_machine() as machine:
        machine.place(measured_models)
        machine.write(**NOTES)
        machine.config.parent.mkdir(exist_ok=True)
        machine.config.write_text(
            f'models: {{embed: "file:{minilm_onnx}", rerank: none, expand: none, answer: none}}\n'
            f"collections:\n  - {{name: notes, path: {machine.notes}}}\n"
        )
        machine.ok("index")
        machine.ok("embed")
        with contextlib.closing(Site(machine)) as site:
            yield site


def test_other_words_find_a_document_and_what_is_related(visit: Any) -> None:
    page = visit()
    page.type("#query", "wildlife near ponds")  # words of no document
    page.wait_for_selector(f"{HITS} >> nth=0 >> text=Herons")
    assert "The best" in page.inner_text("#count")
    page.click("#modes >> text=Keyword")
    page.wait_for_selector("#nothing >> text=No document matches")
    page.click("#modes >> text=Vector")
    page.wait_for_selector(f"{HITS} >> nth=0 >> text=Herons")
    page.keyboard.press("Enter")
    page.wait_for_selector("#reader h1 >> text=Herons")
    page.keyboard.press("Alt+l")
    page.click("#links .of-related summary")
    page.wait_for_selector("#links .of-related li >> nth=0 >> text=Storks")
    assert "similarity 0." in page.inner_text("#links .of-related li >> nth=0")


def test_documents_that_are_only_loosely_similar_are_folded(visit: Any) -> None:
    page = visit()
    page.type("#query", "flour")
    page.wait_for_selector(f"{HITS} >> nth=0 >> text=Bread")
    page.wait_for_selector("#hits >> text=Show 3 documents that are only loosely similar")
    assert page.locator(HITS).count() == 1
    page.click("#hits >> text=Show 3 documents")
    page.wait_for_selector(f"{HITS} >> nth=3")
    assert "Bread" in page.inner_text(f"{HITS} >> nth=0")
    assert "only loosely similar" in page.inner_text(f"{HITS} >> nth=1")
    page.fill("#query", "parliamentary elections in Uruguay")
    page.wait_for_selector("#nothing >> text=No document is clearly about")
    page.wait_for_selector("#nothing >> text=Show 4 documents that are only loosely similar")
