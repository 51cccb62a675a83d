"""Related documents: similar, linked, or cited together; each with its reasons."""

from __future__ import annotations

import pytest

from gnod.errors import NotEmbedded
from gnod.search.related import related_documents
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from tests.search.meaning.test_vector_search import Meaning, at
from tests.small_index import SmallIndex

LINKS = {
    "start.md": "# Start\n\n[[target]] [[target]] [[far]]",
    "target.md": "# Target\n",
    "far.md": "# Far\n",
    "source.md": "# Source\n\n[[start]] [[cited]]",
    "source2.md": "# Source 2\n\n[[start]] [[cited]] [[cited]] [[start]]",
    "cited.md": "# Cited\n",
    "alone.md": "# Alone\n",
}
Shown = list[tuple[str, dict[str, float]]]


@pytest.fixture
def meaning(small_index: SmallIndex) -> Meaning:
    small_index.add(LINKS)
    return Meaning(small_index)


def like(meaning: Meaning, path: str, filters: Filters | None = None, limit: int = 20) -> Shown:
    connection = meaning.index.reader
    document = documents.by_path(connection, "notes", path)
    assert document is not None
    found = related_documents.related(
        connection, meaning.nearest, document, meaning.served, filters or Filters(), limit=limit
    )
    by_id = documents.by_ids(connection, [each.id for each in found])
    assert all(0 < each.score <= 1 for each in found)
    return [(by_id[each.id].path, {k: round(v, 2) for k, v in each.components.items()}) for each in found]


def test_documents_with_links_but_no_vectors(meaning: Meaning) -> None:
    assert like(meaning, "start.md") == [
        ("target.md", {"links_to": 2}),
        ("source2.md", {"linked_from": 2}),
        ("cited.md", {"cited_together": 2}),
        ("far.md", {"links_to": 1}),
        ("source.md", {"linked_from": 1}),
    ]
    assert [path for path, _ in like(meaning, "start.md", Filters(path_prefix="source"), limit=1)] == ["source2.md"]
    with pytest.raises(NotEmbedded):
        like(meaning, "alone.md")
    with pytest.raises(NotEmbedded):
        like(meaning, "start.md", Filters(path_prefix="alone"))


def test_links_and_vectors_add_up(meaning: Meaning) -> None:
    for path, angle in (("start.md", 0), ("alone.md", 30), ("target.md", 60), ("far.md", 120)):
        meaning.embed(path, at(angle))
    meaning.index.add({"copy.md": LINKS["start.md"]})
    found = like(meaning, "start.md")
    assert dict(found)["target.md"] == {"links_to": 2, "similar": 0.75}
    assert found[0] == ("alone.md", {"similar": 0.93})
    assert dict(found)["far.md"] == {"links_to": 1}
    assert not {"start.md", "copy.md"} & dict(found).keys()
    assert len(found) == 6


def test_near_copies_come_once(meaning: Meaning) -> None:
    meaning.embed("start.md", at(0))
    meaning.add({f"draft {number}.md": at(20 + number / 10) for number in range(8)})
    meaning.add({"other.md": at(-40)})
    assert [path for path, _ in like(meaning, "start.md", limit=7) if path in ("draft 0.md", "other.md")] == [
        "draft 0.md",
        "other.md",
    ]
    assert len(like(meaning, "start.md")) == 14


def test_a_filter_finds_what_many_links_hide(meaning: Meaning) -> None:
    meaning.index.add({f"many/{number}.md": "[[start]] [[start]] [[start]]" for number in range(60)})
    assert [path for path, _ in like(meaning, "start.md", Filters(path_prefix="source."), limit=1)] == ["source.md"]
