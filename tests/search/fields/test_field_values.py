"""The values of fields: sort results by them, count them, and return them as rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gnod.errors import InvalidParams
from gnod.search.fields import field_values, reading
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex

SHELF = {
    "b.md": "---\ntags: [x, y]\nyear: 2021\nstatus: open\nrating: 10\n---\n# beta\n\ntext",
    "a.md": "---\ntags: x\nyear: '2019'\nstatus: [done, open]\nrating: 9\ndraft: true\n---\n# Alpha\n\ntext "
    + "x " * 99,
    "c.txt": "gamma",
    "d.md": "---\nyear: later\nstatus: open\ntype: note\n---\n# delta\n\ntext",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    index = SmallIndex(tmp_path_factory.mktemp("shelf") / "index.sqlite")
    index.add(SHELF)
    yield index
    index.close()


def every(connection: Connection) -> list[int]:
    return [id_ for id_, *_ in documents.addresses(connection)]


def ids(connection: Connection, paths: Sequence[str]) -> list[int]:
    found = {path: id_ for id_, _, path in documents.addresses(connection)}
    return [found[path] for path in paths]


def ordered(index: SmallIndex, sort: str, whole: str = "abcd", limited: str = "") -> str:
    """Return the letters of the documents in order. Documents in `limited` lack a word of the query."""
    paths = {path[0]: path for path in SHELF}

    ranked = [
        RankedDocument(id_, 1.0, None, {"every_word": float(letter not in limited)})
        for letter, id_ in zip(whole, ids(index.reader, [paths[letter] for letter in whole]), strict=True)
    ]
    letters = dict(zip([each.id for each in ranked], whole, strict=True))
    return "".join(letters[each.id] for each in field_values.ordered(index.reader, ranked, sort))


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("title", "abcd"),
        ("-title", "dcba"),
        ("size", "cdba"),
        ("-size", "abdc"),
        ("path", "abcd"),
        ("year", "abdc"),  # numbers, also in texts, come before texts; documents without the field come last
        ("-year", "dbac"),
        ("rating", "abcd"),
        ("-rating", "bacd"),
        ("Status", "abdc"),
        ("draft", "abcd"),
        ("modified", "abcd"),
        ("-modified", "abcd"),
        ("Newest", "abcd"),
    ],
)
def test_results_are_sorted_by_a_field(shelf: SmallIndex, sort: str, expected: str) -> None:
    assert ordered(shelf, sort) == expected


def test_documents_with_all_words_stay_first(shelf: SmallIndex) -> None:
    assert ordered(shelf, "path", limited="ac") == "bdac"


@pytest.mark.parametrize(
    ("sort", "message"), [("siez", "did you mean size"), ("before", "frontmatter"), ("yaer", "did you mean year")]
)
def test_an_unknown_order_names_those_that_exist(shelf: SmallIndex, sort: str, message: str) -> None:
    with pytest.raises(InvalidParams, match=message):
        ordered(shelf, sort)


def counted(index: SmallIndex, *names: str) -> dict[str, list[tuple[str, int]]]:
    found = field_values.count(index.reader, names, ids(index.reader, list(SHELF)))
    return {name: [(each.value, each.documents) for each in counts] for name, counts in found.items()}


def test_facets_count_documents(shelf: SmallIndex) -> None:
    assert counted(shelf, "tag", "status", "type", "year", "draft", "collection", "date") == {
        "tag": [("x", 2), ("y", 1)],
        "status": [("open", 3), ("done", 1)],
        "type": [("note", 1)],
        "year": [("2019", 1), ("2021", 1), ("later", 1)],
        "draft": [("true", 1)],
        "collection": [("notes", 4)],
        "date": [("2023", 4)],
    }


def test_places_kinds_and_ages_are_counted(tmp_path: Path) -> None:
    now = int(time.time())
    index = SmallIndex(tmp_path / "index.sqlite")
    texts = {"Plans/a/x.md": now, "plans/y.MD": now - 8 * 86400, "v2.0/README": 1, "top.tar.gz": now - 40 * 86400}
    for path, mtime_s in texts.items():
        index.add({path: path}, mtime_s=str(mtime_s))
    index.add({"plans/y.MD": "the same path"}, "other", mtime_s="1")
    found = field_values.count(index.reader, ["folder", "ext", "after"], every(index.reader))
    index.close()
    assert found == {
        "folder": [
            ("notes", 4),
            ("notes/Plans", 2),
            ("notes/Plans/a", 1),
            ("notes/v2.0", 1),
            ("other", 1),
            ("other/plans", 1),
        ],
        "ext": [("md", 3), ("gz", 1)],
        "after": [("1y", 3), ("30d", 2), ("7d", 1)],
    }


def test_all_fields_of_the_frontmatter_are_counted_and_prose_is_not(small_index: SmallIndex) -> None:
    found = {
        "a.md": "---\ntitle: a\ntags: [x]\nStatus: open\nmade by: [ada, '9']\nabout: " + "word " * 30 + "\n---\n",
        "b.md": '---\nstatus: open\nMade by: ada\nodd"name: 1\ndone: true\nat: {x: 1}\n---\nb',
    }
    small_index.add(found)

    def work(connection: Connection) -> dict[str, list[field_values.Count]]:
        return field_values.count(connection, ["*"], ids(connection, [*found]))

    assert small_index.database.submit_read(work).result() == {
        "made by": [("ada", 2), ("9", 1)],
        "status": [("open", 2)],
        "at": [("1", 1)],
        "done": [("true", 1)],
    }


def test_each_counted_value_is_a_filter_that_passes_as_many(shelf: SmallIndex) -> None:
    names = ["tag", "type", "ext", "folder", "collection", "date", "after", "*"]
    found = field_values.count(shelf.reader, names, ids(shelf.reader, list(SHELF)))
    assert {"status", "year", "rating", "draft"} < found.keys()
    for name, counts in found.items():
        for value, amount in counts:
            condition = reading.chosen(shelf.reader, {name: [value]})[name]
            select = f"SELECT count(*) FROM documents d WHERE {condition.where}"
            assert shelf.reader.execute(select, condition.values).get == amount, (name, value)
    unknown = reading.chosen(shelf.reader, {"gone": ["x"], "author": ["x"]})
    assert {condition.where for condition in unknown.values()} == {"0"}


def test_copies_count_once(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "---\ntags: x\n---\none", "b.md": "---\ntags: x\n---\none"}, source="same")

    def work(connection: Connection) -> list[field_values.Count]:
        return field_values.count(connection, ["tag"], ids(connection, ["a.md", "b.md"]))["tag"]

    assert small_index.database.submit_read(work).result() == [("x", 1)]


def test_there_are_no_facets_of_an_unknown_field(shelf: SmallIndex) -> None:
    with pytest.raises(InvalidParams, match="no facets for 'size'"):
        counted(shelf, "size")


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
