"""Rows: the values of chosen fields."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gnod.errors import InvalidParams
from gnod.search.fields import field_values, reading
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex

NOTES = {
    "log/a.md": "---\ntype: decision\nauthor: Mara Lind\ndate: 2026-03-01\nstatus: accepted\ntags: [db, Work/X]\n"
    "done: false\nweight: 1.50\nsince: 2025\n"
    "place: {city: Bonn}\n---\n# Use it\n\ntext",
    "b.txt": "no fields",
    "c.md": "---\ntype: [decision, draft]\nauthors: [Mara, Tom]\ncreated: 2025-05-02T23:30\nSTATUS: ''\nempty: []\n"
    "---\n# 決定\n\ncost:: 12\n\n#idea",
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    index = SmallIndex(tmp_path_factory.mktemp("rows") / "index.sqlite")
    index.add(NOTES)
    yield index
    index.close()


def values(index: SmallIndex, path: str, *names: str) -> dict[str, object]:
    found = {path: id_ for id_, _, path in documents.addresses(index.reader)}
    (row,) = field_values.rows(index.reader, [found[path]], names)
    return row.values


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("log/a.md", {"title": "Use it", "date": "2026-03-01", "author": "Mara Lind", "status": "accepted"}),
        ("log/a.md", {"tag": ["db", "Work/X"], "tags": ["db", "Work/X"], "Type": "decision", "folder": "notes/log"}),
        ("log/a.md", {"done": False, "weight": "1.50", "since": 2025, "place": {"city": "Bonn"}, "ext": "md"}),
        ("log/a.md", {"uri": "gno://notes/log/a.md", "path": "log/a.md", "collection": "notes", "Status": "accepted"}),
        ("c.md", {"title": "決定", "date": "2025-05-02", "author": ["Mara", "Tom"], "type": ["decision", "draft"]}),
        ("c.md", {"cost": 12, "tag": ["idea"], "created": "2025-05-02T23:30"}),
        ("b.txt", {"title": "b", "modified": "2023-11-14", "date": "2023-11-14", "size": 9, "folder": "notes"}),
    ],
)
def test_a_row_has_the_values_as_the_document_states_them(
    notes: SmallIndex, path: str, expected: dict[str, object]
) -> None:
    assert values(notes, path, *expected) == expected


def test_what_a_document_does_not_have_is_left_out(notes: SmallIndex) -> None:
    assert values(notes, "b.txt", "author", "status", "tag", "cost", "lang", "title") == {"title": "b"}
    assert values(notes, "c.md", "status", "empty") == {}


def test_rows_are_in_the_order_of_the_documents(notes: SmallIndex) -> None:
    ids = [id_ for id_, *_ in documents.addresses(notes.reader)]
    for order in (ids, ids[::-1]):
        assert [row.uri for row in field_values.rows(notes.reader, order, ["title"])] == [
            documents.by_ids(notes.reader, [id_])[id_].uri for id_ in order
        ]
    assert field_values.rows(notes.reader, [], ["title"]) == []


@pytest.mark.parametrize(("name", "advice"), [("titel", "did you mean title"), ("zzz", "use tag"), ("cosst", "cost")])
def test_a_column_that_no_document_has_is_an_error(notes: SmallIndex, name: str, advice: str) -> None:
    with pytest.raises(InvalidParams, match=f"no document has a column '{name}': .*{advice}"):
        field_values.rows(notes.reader, [], [name])


def test_year_means_the_date_unless_documents_have_a_year(notes: SmallIndex, small_index: SmallIndex) -> None:
    small_index.add({"a.md": "---\nyear: 1999\ndate: 2026-01-01\n---\nx"})

    def found(index: SmallIndex, query: str) -> list[str]:
        where, bound = reading.read(index.reader, query).within(Filters()).condition()
        return [path for (path,) in index.reader.execute(f"SELECT path FROM documents d WHERE {where}", bound)]

    assert found(notes, "year:2026") == ["log/a.md"]
    assert set(found(notes, "year:2025..2026 type:decision")) == {"log/a.md", "c.md"}
    assert (found(small_index, "year:1999"), found(small_index, "year:2026")) == (["a.md"], [])
