"""Documents and their data in other tables."""

from __future__ import annotations

from gnod.store.documents import collections
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex


def test_documents_with_one_text_share_its_content(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# Same\n\ntext\n", "b.md": "# Same\n\ntext\n"})
    assert small_index.rows("SELECT count(*) FROM content") == [(1,)]
    small_index.remove("a.md")
    assert small_index.rows("SELECT count(*) FROM content") == [(1,)]
    assert small_index.search("same") == ["b.md"]
    small_index.remove("b.md")
    for table in ("content", "chunks", "documents_fts"):
        assert small_index.rows(f"SELECT count(*) FROM {table}") == [(0,)]


def test_an_edit_replaces_terms_content_and_chunks(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# Old\n\nzebra\n"})
    small_index.add({"a.md": "# New\n\nlion\n"})
    assert small_index.search("zebra") == []
    assert small_index.search("lion") == ["a.md"]
    assert small_index.rows("SELECT count(*) FROM content") == [(1,)]
    assert small_index.rows("SELECT count(*) FROM documents") == [(1,)]


def test_a_removed_document_leaves_one_row_and_can_come_back(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n\nzebra\n"}, title="T")
    small_index.remove("a.md")
    assert small_index.rows("SELECT active, removed_at FROM documents") == [(0, 1.0)]
    assert small_index.search("zebra") == []
    small_index.add({"a.md": "# A\n\nzebra\n"})
    assert small_index.search("zebra") == ["a.md"]
    assert small_index.rows("SELECT count(*) FROM documents_fts") == [(1,)]


def test_removing_a_collection_removes_only_its_own_documents(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "shared text"}, collection="one")
    small_index.add({"a.md": "shared text", "b.md": "other"}, collection="two")
    assert small_index.write(lambda c: collections.remove(c, "two")) == 2
    assert small_index.search("shared") == ["a.md"]
    assert small_index.rows("SELECT count(*) FROM content") == [(1,)]
    assert small_index.rows("SELECT count(*) FROM documents_fts") == [(1,)]


def test_renaming_a_collection_touches_no_document(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "zebra"}, collection="one")
    before = small_index.rows("SELECT * FROM documents")
    small_index.write(lambda c: collections.rename(c, "one", "two"))
    assert small_index.rows("SELECT * FROM documents") == before
    assert small_index.search("zebra", Filters(collections=("two",))) == ["a.md"]


def test_listing_below_a_prefix_respects_path_parts(small_index: SmallIndex) -> None:
    small_index.add({"a/x.md": "1", "a/b/y.md": "2", "ab/z.md": "3", "a.md": "4"})

    def paths(prefix: str) -> list[str]:
        return [d.path for d in documents.under(small_index.reader, "notes", prefix, 10, 0)]

    assert paths("a") == ["a/b/y.md", "a/x.md"]
    assert paths("a/b/y.md") == ["a/b/y.md"]
    assert paths("") == ["a.md", "a/b/y.md", "a/x.md", "ab/z.md"]


def test_frontmatter_dates_and_tags(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "---\ndate: 2024-05-06\ntags: [Red, blue]\ntype: Note\nauthor: Ada L.\n---\nzebra\n"})
    assert small_index.rows("SELECT tag FROM tags ORDER BY tag") == [("blue",), ("red",)]
    day = 1714953600.0
    for filters, found in [
        (Filters(tags_all=("red", "blue")), True),
        (Filters(tags_all=("red", "green")), False),
        (Filters(tags_any=("green", "blue")), True),
        (Filters(types=("note",)), True),
        (Filters(author="ada"), True),
        (Filters(author="bob"), False),
        (Filters(since=day, until=day), True),
        (Filters(since=day + 1), False),
        (Filters(path_prefix="a"), True),
        (Filters(path_prefix="b"), False),
        (Filters(languages=("de",)), False),
        (Filters(collections=("other",)), False),
    ]:
        assert (small_index.search("zebra", filters) == ["a.md"]) is found, filters
