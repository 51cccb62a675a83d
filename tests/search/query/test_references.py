from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from gnod.errors import AmbiguousReference, DocumentNotFound, InvalidParams, InvalidReference, PathOutsideRoot
from gnod.locations import Locations, Start
from gnod.search.query import references
from gnod.search.query.filter_dates import moment, period
from gnod.store.documents import writing
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex, prepared


def resolve(index: SmallIndex, ref: str) -> tuple[str, int | None]:
    found = references.resolve(index.reader, ref)
    return f"{found.document.collection}/{found.document.path}", found.line


def docid(index: SmallIndex, path: str) -> str:
    return str(index.rows(f"SELECT source_hash FROM documents WHERE path = '{path}'")[0][0])


def test_every_kind_of_reference(small_index: SmallIndex) -> None:
    small_index.add({"a b/ü.md": "one", "plain.md": "two", "odd:7": "three"})
    digest = docid(small_index, "plain.md")
    for ref, line in [
        ("gno://notes/plain.md", None),
        ("notes/plain.md", None),
        ("notes/plain.md:12", 12),
        ("/data/notes/plain.md", None),
        ("/data/notes/plain.md:3", 3),
        ("#" + digest[:8], None),
        ("#" + digest[:6].upper(), None),
        (digest, None),
    ]:
        assert resolve(small_index, ref) == ("notes/plain.md", line), ref
    assert resolve(small_index, "gno://notes/a%20b/ü.md") == ("notes/a b/ü.md", None)
    assert resolve(small_index, "notes/odd:7") == ("notes/odd:7", None)


@pytest.mark.parametrize(("indexed", "asked"), [("\xfc/\xe9", "u\u0308/e\u0301"), ("u\u0308/\xe9", "\xfc/e\u0301")])
def test_a_reference_may_have_another_unicode_form(small_index: SmallIndex, indexed: str, asked: str) -> None:
    small_index.add({f"{indexed}.md": "one", f"{indexed}/b.md": "two", "\xdc/\xc9.md": "three"})
    for ref in (f"notes/{asked}.md", f"gno://notes/{quote(asked)}.md", f"/data/notes/{asked}.md:1"):
        assert resolve(small_index, ref)[0] == f"notes/{indexed}.md", ref
    assert references.places_of(small_index.reader, f"/data/notes/{asked}") == [("notes", asked)]
    assert references.matching(small_index.reader, f"notes/{asked}*") == [("notes", f"{indexed}.md")]
    assert [each.path for each in documents.under(small_index.reader, "notes", asked, 9, 0)] == [f"{indexed}/b.md"]
    for filters in (Filters(path_prefix=asked), Filters(path_prefix=asked[:2])):
        assert small_index.search("two", filters) == [f"{indexed}/b.md"]
    with pytest.raises(DocumentNotFound):
        resolve(small_index, f"notes/{asked.upper()}/b.md")


def test_the_written_unicode_form_has_priority(small_index: SmallIndex) -> None:
    paths = ["\xe9/a.md", "e\u0301/a.md"]
    small_index.add(dict.fromkeys(paths, "text"))
    for path in paths:
        assert resolve(small_index, f"notes/{path}")[0] == f"notes/{path}"
        assert [each.path for each in documents.under(small_index.reader, "notes", path[:-5], 9, 0)] == [path]


def test_a_reference_to_a_place_in_a_source(small_index: SmallIndex) -> None:
    starts = [Start(3, "Costs, row 2"), Start(5, "Costs, row 2", 4), Start(9, "100% #2")]
    found = replace(prepared("text\n" * 12, "book.xlsx"), locations=Locations("sheet", starts), converter="xlsx/2")
    small_index.add({"other.md": "one"})
    small_index.write(lambda c: writing.put(c, 1, "book.xlsx", found, now=0.0))
    for ref, line in [
        ("notes/book.xlsx:sheet Costs, row 2, row 6", 7),
        ("notes/book.xlsx:sheet 100% #2", 9),
        ("gno://notes/book.xlsx#sheet=100%25%20%232", 9),
        ("gno://notes/book.xlsx#sheet=Costs%2C%20row%202&row=4", 5),
    ]:
        assert resolve(small_index, ref) == ("notes/book.xlsx", line), ref
    with pytest.raises(InvalidReference, match="has no page 3: it has sheets"):
        resolve(small_index, "notes/book.xlsx:p3")
    with pytest.raises(InvalidReference, match=r"has no sheet Costs, row: .*; did you mean 'Costs, row 2'"):
        resolve(small_index, "notes/book.xlsx:sheet Costs, row")


def test_what_is_not_found_comes_with_proposals(small_index: SmallIndex) -> None:
    small_index.add({"guide/setup.md": "one"})
    with pytest.raises(DocumentNotFound, match=r"did you mean notes/guide/setup\.md"):
        resolve(small_index, "notes/setup.md")
    for ref in ("setup", "Setup.MD", "gno://nots/setup.md", "gno://notes/guide/setpu.md", "notes/x/setup:12"):
        with pytest.raises(DocumentNotFound, match=r"did you mean notes/guide/setup\.md"):
            resolve(small_index, ref)
    with pytest.raises(DocumentNotFound, match="gnoctl ls"):
        resolve(small_index, "#00000000")
    with pytest.raises(PathOutsideRoot):
        resolve(small_index, "/etc/passwd")
    with pytest.raises(InvalidReference):
        resolve(small_index, "#xyz")
    with pytest.raises(InvalidReference):
        resolve(small_index, "gno://BAD NAME/x")
    with pytest.raises(DocumentNotFound, match="nor a collection 'nots'; did you mean 'notes'"):
        resolve(small_index, "gno://nots/x.md")
    with pytest.raises(DocumentNotFound, match="nor a collection 'zzz'; `gnoctl collection list` shows them"):
        resolve(small_index, "gno://zzz/x.md")
    for ref in ("notes/guide/setup.md:0", "gno://notes/guide/setup.md:000"):
        with pytest.raises(InvalidReference, match="lines are counted from 1"):
            resolve(small_index, ref)


def test_an_ambiguous_docid_names_the_candidates(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "one", "b.md": "two"})
    small_index.write(
        lambda c: (
            c.execute(
                "UPDATE documents SET source_hash = 'abcdef' || substr(source_hash, 7),"
                " docid = '#abcdef' || substr(source_hash, 7, 2)"
            ).get
        )
    )
    with pytest.raises(AmbiguousReference) as caught:
        resolve(small_index, "#abcdef")
    assert caught.value.details["candidates"] == ["gno://notes/a.md", "gno://notes/b.md"]


def test_globs(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "1", "d/b.md": "2", "d/c.txt": "3"})

    def matching(pattern: str) -> list[str]:
        return [path for _, path in references.matching(small_index.reader, pattern)]

    assert matching("notes/*.md") == ["a.md"]
    assert matching("notes/**/*.md") == ["a.md", "d/b.md"]
    assert matching("gno://notes/d/*.{md,txt}") == ["d/b.md", "d/c.txt"]
    assert matching("**") == ["a.md", "d/b.md", "d/c.txt"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21", "2026-11-21T00:00:00+00:00"),
        ("2026-11-21T14:30", "2026-11-21T14:30:00+00:00"),
        ("2026-11-21T14:30:00Z", "2026-11-21T14:30:00+00:00"),
        ("2026-11-21T14:30:00+02:00", "2026-11-21T12:30:00+00:00"),
        ("7d", "2026-11-14T12:00:00+00:00"),
        ("12h", "2026-11-21T00:00:00+00:00"),
        ("yesterday", "2026-11-20T00:00:00+00:00"),
    ],
)
def test_dates(text: str, expected: str) -> None:
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert datetime.fromtimestamp(moment(text, now=now), UTC).isoformat() == expected


def test_the_end_of_a_day_and_bad_dates() -> None:
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert moment("2026-11-21", end_of_day=True, now=now) - moment("2026-11-21", now=now) == pytest.approx(86400, abs=1)
    for bad in ("", "soon", "2026-13-01", "21.11.2026", "99999y", "x" * 5000):
        with pytest.raises(InvalidParams, match="is not a date") as caught:
            moment(bad, end_of_day=True)
        assert len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2024", "2024-01-01T00:00:00", "2024-12-31T23:59:59"),
        ("2024-02", "2024-02-01T00:00:00", "2024-02-29T23:59:59"),
        ("2024-02-28", "2024-02-28T00:00:00", "2024-02-28T23:59:59"),
        ("20240228", "2024-02-28T00:00:00", "2024-02-28T23:59:59"),
        ("2024-02-28T10:30", "2024-02-28T10:30:00", "2024-02-28T10:30:00"),
        ("1d", "2026-11-20T12:00:00", "2026-11-20T12:00:00"),
    ],
)
def test_a_year_or_a_month_is_a_period(text: str, first: str, last: str) -> None:
    begin, end = period(text, datetime(2026, 11, 21, 12, tzinfo=UTC))
    assert [datetime.fromtimestamp(each, UTC).isoformat()[:19] for each in (begin, end)] == [first, last]
