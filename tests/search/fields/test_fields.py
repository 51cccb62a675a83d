"""Fields in a query: what is a field, what stays text, and which documents pass."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnod.errors import QuerySyntaxError
from gnod.ingest.reading.cpu_time import limit_cpu_time
from gnod.search.fields import reading
from gnod.search.fields.reading import FieldClause, FieldedQuery, separate
from gnod.search.keyword import lexical, listing
from gnod.search.query.parsing import parse_clauses
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex

KNOWN = {"title", "tag", "size", "status"}
TEXT = [
    "note: this",
    "tag: work",
    "title:",
    "12:30",
    "foo::bar",
    "std::vector",
    "tag::x",
    "http://example.org/a:b",
    "tag://x",
    r"C:\temp",
    r"tag:\d+",
    "C:/temp",
    "localhost:8080",
    "error:404",
    "TODO:fix",
    "key:value pairs",
    '"tag:work"',
    '-"tag:work"',
    "x(tag:work",
    "see:tag:work",
    "--tag:work",
    'tag:"work',
    "ratio 3:4",
    "日本:東京",
]


@pytest.mark.parametrize("text", TEXT)
def test_a_colon_in_ordinary_text_stays_text(text: str) -> None:
    found = separate(text, KNOWN.__contains__)
    assert (found.text, found.clauses) == (text, [])


@pytest.mark.parametrize(
    ("text", "rest", "clauses"),
    [
        ("tag:work", "", [("tag", "work", False)]),
        ("red tag:work green", "red  green", [("tag", "work", False)]),
        ("-tag:old red", " red", [("tag", "old", True)]),
        ('red status:"in progress",open', "red ", [("status", '"in progress",open', False)]),
        ("Status:Open", "", [("status", "Open", False)]),
        ("title:deploy red", "deploy red", [("title", "deploy", False)]),
        ('title:"blue green"', '"blue green"', [("title", '"blue green"', False)]),
        ("-title:deploy red", " red", [("title", "deploy", True)]),
        ("size:>10k", "", [("size", ">10k", False)]),
        ("status:a:b", "", [("status", "a:b", False)]),
        ('"tag:a" tag:b', '"tag:a" ', [("tag", "b", False)]),
    ],
)
def test_a_known_name_with_a_value_is_a_field(text: str, rest: str, clauses: list[tuple[str, str, bool]]) -> None:
    found = separate(text, KNOWN.__contains__, lambda name: name == "title")
    assert (found.text, found.clauses) == (rest, [FieldClause(*each) for each in clauses])


LIBRARY = {
    "notes/deploy.md": (
        "---\ntags: [work, ops]\nstatus: open\nyear: 2021\ndue: 2026-12-01\nauthor: Ada Lovelace\ntype: Note\n"
        "Draft: true\n---\n# Deploy the server\n\nBlue and green, then switch."
    ),
    "notes/garden.md": (
        "---\ntags: home\nstatus: [Done, archived]\nyear: 2019\ndue: 2024-05-01T10:00\nauthor: Zoë Öberg\n"
        "draft: false\nrating: 4.5\n---\n# Garden plan\n\nTomatoes and green beans."
    ),
    "work/report-2024.md": (
        '---\ntags: [work, old]\nstatus: in progress\nyear: "2024"\n---\n# Report: über alles\n\nFigures of the year.'
    ),
    "misc/plain.txt": "A plain text about the server and the garden, with a long body. " * 40,
}
EVERYTHING = set(LIBRARY)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    index = SmallIndex(tmp_path_factory.mktemp("library") / "index.sqlite")
    index.add(LIBRARY)
    yield index
    index.close()


def read(index: SmallIndex, query: str) -> FieldedQuery:
    return reading.read(index.reader, query)


def found(index: SmallIndex, query: str) -> set[str]:
    """Return the paths of the documents that pass the fields of the query, and have one of its words."""

    connection = index.reader
    asked = reading.read(connection, query)
    filters = asked.within(Filters())
    if asked.is_filter_only:
        ranked = listing.newest(connection, asked.clauses, filters, limit=100).ranked
    else:
        ranked = lexical.search(connection, parse_clauses(asked.text), filters, limit=100).ranked
    return {document.path for document in documents.by_ids(connection, [each.id for each in ranked]).values()}


DEPLOY, GARDEN, REPORT, PLAIN = LIBRARY


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("tag:work", {DEPLOY, REPORT}),
        ("tag:Work tag:ops", {DEPLOY}),
        ("tag:home,ops", {DEPLOY, GARDEN}),
        ("tag:#o*", {DEPLOY, REPORT}),
        ("tags:work -tag:old", {DEPLOY}),
        ("-tag:work", {GARDEN, PLAIN}),
        ("title:deploy", {DEPLOY}),
        ("title:deploying", {DEPLOY}),
        ("title:server", {DEPLOY}),
        ('title:"deploy the server"', {DEPLOY}),
        ('title:"server deploy"', set()),
        ("title:gard*", {GARDEN}),
        ("title:über", {REPORT}),
        ("title:green", set()),
        ("-title:deploy green", {GARDEN}),
        ("green title:garden,deploy", {DEPLOY, GARDEN}),
        ("path:work", {REPORT}),
        ("path:report-2024", {REPORT}),
        ("path:*.md", EVERYTHING - {PLAIN}),
        ("path:/notes/", {DEPLOY, GARDEN}),
        ("path:Notes/*.md", {DEPLOY, GARDEN}),
        ("path:garden.md", {GARDEN}),
        ("ext:txt", {PLAIN}),
        ("type:note", {DEPLOY}),
        ("author:ada", {DEPLOY}),
        ("author:zoë", {GARDEN}),
        ("author:ÖBERG", {GARDEN}),
        ('author:"ada love"', {DEPLOY}),
        ("-author:ada", {GARDEN, REPORT, PLAIN}),
        ("collection:notes", EVERYTHING),
        ("collection:o*", set()),
        ("title:„deploy the server“", {DEPLOY}),
        ("size:>1k", {PLAIN}),
        ("size:<=1k", EVERYTHING - {PLAIN}),
        ("size:1k..1M", {PLAIN}),
        ("date:2023-11", EVERYTHING),
        ("date:2023", EVERYTHING),
        ("date:>2023", set()),
        ("date:..2022", set()),
        ("before:2024", EVERYTHING),
        ("after:2024", set()),
        ("after:2023-11-14 server", {DEPLOY, PLAIN}),
        ("status:open", {DEPLOY}),
        ("STATUS:done", {GARDEN}),
        ("status:archived,open", {DEPLOY, GARDEN}),
        ('status:"in progress"', {REPORT}),
        ("status:in*", {REPORT}),
        ("-status:open", {GARDEN, REPORT, PLAIN}),
        ("year:2021", {DEPLOY}),
        ("year:2020..2024", {DEPLOY, REPORT}),
        ("year:>=2021", {DEPLOY, REPORT}),
        ("year:<2021", {GARDEN}),
        ("year:..2019", {GARDEN}),
        ("rating:>4", {GARDEN}),
        ("rating:4.5", {GARDEN}),
        ("due:2024", {GARDEN}),
        ("due:2024-05", {GARDEN}),
        ("due:2024-05-01", {GARDEN}),
        ("due:<=2024", {GARDEN}),
        ("due:>2024", {DEPLOY}),
        ("due:2024..2026-12", {DEPLOY, GARDEN}),
        ("due:2024-01..2024", {GARDEN}),
        ("due:<2026-12-01", {GARDEN}),
        ("draft:true", {DEPLOY}),
        ("draft:no", {GARDEN}),
        ("has:draft", {DEPLOY, GARDEN}),
        ("-has:status", {PLAIN}),
        ("has:tag", EVERYTHING - {PLAIN}),
        ("has:author has:due", {DEPLOY, GARDEN}),
        ("has:status -green", {REPORT}),
    ],
)
def test_fields_hold_exactly(library: SmallIndex, query: str, expected: set[str]) -> None:
    assert found(library, query) == expected


def test_only_lex_lines_have_fields(library: SmallIndex) -> None:
    asked = read(library, "lex: green tag:ops\nvec: what is tag:home\nlex: status:open")
    assert (asked.text, len(asked.conditions)) == ("lex: green\nvec: what is tag:home", 2)


def test_plain_text_has_no_lines(library: SmallIndex) -> None:
    text = "note: red\nmore: tag:ops green"
    with pytest.raises(QuerySyntaxError, match="cannot begin with 'note:'"):
        read(library, text)
    asked = reading.read(library.reader, text, is_plain=True)
    assert (asked.text, len(asked.conditions)) == ("note: red\nmore:  green", 1)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ('tag:""', "no value"),
        ("tag:,", "no value"),
        ("size:abc", "not a size"),
        ("size:..", "no limits"),
        ("year:..", "no limits"),
        ("year:2024..2020", "the range 2024..2020 ends before it begins: write 2020..2024"),
        ("size:1M..1k", "ends before it begins"),
        ("date:2024..2022-12", "ends before it begins"),
        ("due:2026-12..2024", "ends before it begins"),
        ("status:b..a", "ends before it begins"),
        ("year:>", "no limits"),
        ("before:tomorrowish", "not a date"),
        ("date:2024-13", "not a date"),
        ("title:---", "no word"),
        ("has:nonsense", "no document has"),
        ("has:statsu", "did you mean status"),
        ("collection:other", "there is no collection 'other': notes"),
        ("has:title", "every document has"),
        ("tag:" + ",".join("abcdefgh" * 9), "more than 64"),
    ],
)
def test_an_impossible_value_says_what_to_write(library: SmallIndex, query: str, message: str) -> None:
    with pytest.raises(QuerySyntaxError, match=message):
        read(library, query)


def test_a_name_that_is_nearly_a_field_is_text_with_a_hint(library: SmallIndex) -> None:
    asked = read(library, "statsu:open tilte:deploy error:404")
    assert asked.text == "statsu:open tilte:deploy error:404"
    assert [hint.partition("did you mean ")[2] for hint in asked.hints] == ["'status:'?", "'title:'?"]
    assert not asked.conditions


def test_text_that_is_a_field_by_accident_is_explained_when_nothing_is_found(library: SmallIndex) -> None:
    asked = read(library, "status:404 tag:x")
    assert asked.hints_for(3) == []
    (hint,) = asked.hints_for(0)
    assert hint.endswith('to search for it as text, write "status:404"')


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("tag:" + "*a" * 2000, set()),
        ("path:" + "*a" * 2000, set()),
        ("path:" + "*" * 4000 + "server", set()),
        ("path:" + "**" * 2000 + "garden.md", {GARDEN}),
        ("status:" + "." * 4000, set()),
        ("year:" + "1.." * 1000, {REPORT}),
        ('tag:"' * 900, set()),
    ],
    ids=lambda query: query[:9] if isinstance(query, str) else "",
)
def test_long_and_hostile_queries_are_bounded(library: SmallIndex, query: str, paths: set[str]) -> None:
    with limit_cpu_time(10):  # the slowest takes 0.01 s
        assert found(library, query) == paths


def test_what_was_removed_has_no_fields(library: SmallIndex, small_index: SmallIndex) -> None:
    small_index.add({"a.md": "---\nmood: good\n---\ntext"})
    assert read(small_index, "mood:good").conditions
    small_index.remove("a.md")
    assert not read(small_index, "mood:good").conditions


PARTS = [
    *(f"{name}:" for name in ("tag", "title", "path", "size", "date", "before", "status", "year", "has", "lex", "vec")),
    *("..", ">", "<=", "=", "*", ",", '"', "-", " ", "\n", "2024", "10k", "open", "/", "a" * 30, "日", "'", "[", "\0"),
]


@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=4), max_size=10).map("".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_string_is_a_query_or_a_clean_error(library: SmallIndex, query: str) -> None:
    with contextlib.suppress(QuerySyntaxError):
        found(library, query)
