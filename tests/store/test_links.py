"""Targets of links. They follow changes of files, although the linking documents are not read again."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gnod.store.links import links
from gnod.store.tables import documents
from tests.small_index import SmallIndex


def leads(index: SmallIndex, path: str, collection: str = "notes") -> list[list[str]]:
    """Return, for each link in a document, the paths of the documents that it may mean."""

    connection = index.reader
    document = documents.by_path(connection, collection, path)
    assert document is not None
    found = links.outgoing(connection, document.id)
    return [[meant.path for meant in links.meant(connection, each)] for each in found]


def from_where(index: SmallIndex, path: str, **options: int) -> tuple[list[str], int]:
    connection = index.reader
    document = documents.by_path(connection, "notes", path)
    assert document is not None
    found, total = links.incoming(connection, document.id, **options)
    by_id = documents.by_ids(connection, [each.document_id for each in found])
    return [by_id[each.document_id].path for each in found], total


def asked(index: SmallIndex, function: Any, *arguments: object) -> Any:
    return function(index.reader, *arguments)


def orphans(index: SmallIndex, collection: str | None, prefix: str) -> list[str]:
    ids = links.orphans(index.reader, collection, prefix)
    by_id = documents.by_ids(index.reader, ids)
    return [by_id[each].path for each in ids]


def test_a_name_is_an_exact_path_then_the_shortest_then_an_alias(small_index: SmallIndex) -> None:
    texts = {
        "start.md": "[[Plan]] [[deep/Plan]] [[a/b/Plan.md]] [[PLAN]] [[The plan]] [[nothing]] [[report.pdf]]",
        "a/b/Plan.md": "x",
        "c/Plan.md": "---\naliases: [The plan]\n---\n",
        "deep/Plan.md": "y",
        "e/deep/Plan.md": "y",
    }
    small_index.add(texts)
    twice = ["c/Plan.md", "deep/Plan.md"]
    assert leads(small_index, "start.md") == [
        twice, ["deep/Plan.md"], ["a/b/Plan.md"], twice, ["c/Plan.md"], [], [],
    ]  # fmt: skip
    small_index.add({"Plan.md": "of the root"})
    assert leads(small_index, "start.md")[0] == ["Plan.md"]


def test_among_equally_short_paths_the_note_prefers_its_own_folder(small_index: SmallIndex) -> None:
    small_index.add(
        {
            "a/Plan.md": "x",
            "b/plan.md": "y",
            "c/Plan.md": "z",
            "d/e/Plan.md": "z",
            "a/start.md": "[[Plan]] [[plan]] ![[Plan]] [x](Plan.md)",
            "b/start.md": "---\nup: Plan\n---\n",
            "d/start.md": "[[Plan]]",
            "start.md": "[[plan]]",
        }
    )
    assert leads(small_index, "a/start.md") == [["a/Plan.md"]] * 4
    assert leads(small_index, "b/start.md") == [["b/plan.md"]]
    assert leads(small_index, "d/start.md") == [["a/Plan.md", "c/Plan.md"]]  # a shorter path is preferred
    assert leads(small_index, "start.md") == [["b/plan.md"]]  # the case of the link is preferred
    assert from_where(small_index, "a/Plan.md") == (["a/start.md"] * 4 + ["d/start.md"], 5)
    assert from_where(small_index, "b/plan.md", limit=1, offset=1) == (["start.md"], 2)
    small_index.remove("d/start.md")
    assert orphans(small_index, "notes", "c") == ["c/Plan.md"]
    assert orphans(small_index, "notes", "a") == ["a/start.md"]


def test_a_path_is_relative_and_has_no_other_names(small_index: SmallIndex) -> None:
    small_index.add(
        {
            "d/start.md": "[a](a.md) [b](../a.md) [c](/d/a.md) [d](A.md) [e](e/) [f](other.md) [g](../../a.md)"
            " [h](#here)",
            "d/a.md": "x",
            "a.md": "x",
            "d/e/README.md": "---\naliases: other\n---\n",
        }
    )
    assert leads(small_index, "d/start.md") == [
        ["d/a.md"], ["a.md"], ["d/a.md"], ["d/a.md"], ["d/e/README.md"], [], [], ["d/start.md"],
    ]  # fmt: skip


def test_names_that_differ_only_in_case_or_normalisation(small_index: SmallIndex) -> None:
    small_index.add(
        {
            "Note.md": "x",
            "note.md": "y",
            "Cafe\u0301.md": "z",
            "start.md": "[[Note]] [[note]] [[NOTE]] [x](note.md) [[café]] [x](Caf%C3%A9.md)",
        }
    )
    assert leads(small_index, "start.md") == [
        ["Note.md"], ["note.md"], ["Note.md", "note.md"], ["note.md"], ["Cafe\u0301.md"], ["Cafe\u0301.md"],
    ]  # fmt: skip
    assert from_where(small_index, "note.md") == (["start.md"] * 3, 3)
    assert from_where(small_index, "Note.md", limit=1, offset=1) == (["start.md"], 2)


def test_no_link_leads_to_another_collection(small_index: SmallIndex) -> None:
    small_index.add({"secret.md": "x", "sub/secret.md": "y"}, collection="other")
    small_index.add(
        {
            "start.md": "[[secret]] [a](../other/secret.md) [b](%2e%2e/other/secret.md) [c](..%2Fother%2Fsecret.md)"
            " [[../other/secret]] [d](gno://other/secret.md) [e](/../other/secret.md) [f](file:///data/other/secret.md)",
        }
    )
    assert leads(small_index, "start.md") == [[]] * 8
    assert asked(small_index, links.unresolved, "notes", "", 100, 0)[1] == 6


def test_no_spelling_leads_out_of_the_collection(small_index: SmallIndex) -> None:
    """Single and double percent-encodings of both slashes, in any syntax, cannot hide the way up."""
    chosen = random.Random(7)
    ups = ["..", "%2e%2e", ".%2E", "%2e.", "%252e%252e", "..%2f..", "..\\\\..", "%2e%2e%5c%2e%2e", "...", "%00.."]
    ends = ["other/secret.md", "other/secret", "other%2Fsecret.md", "%6fther/secret.md", "secret.md", "OTHER/SECRET"]
    ways = ["/".join([*chosen.choices(ups, k=chosen.randrange(1, 4)), chosen.choice(ends)]) for _ in range(200)]
    ways += [f"/{way}" for way in ways[:50]] + [f"d/../../{end}" for end in ends] + [f"gno://{end}" for end in ends]
    text = "\n\n".join(f"[x]({way}) [[{way}]] ![[{way}|x]] [y](<{way}>)\n\n[z][r]\n\n[r]: {way}" for way in ways)
    small_index.add({"secret.md": "x", "a/secret.md": "x"}, collection="other")
    small_index.add({"d/start.md": text, "e.md": "x"})
    assert not any(leads(small_index, "d/start.md"))
    assert asked(small_index, links.linked, 3) == set()


def test_links_follow_their_targets(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "[[b]] [x](b.md)\n[[a]]"})
    assert leads(small_index, "a.md") == [[], [], ["a.md"]]
    small_index.add({"b.md": "new", "c/b.md": "[[b]]"})
    assert leads(small_index, "a.md") == [["b.md"], ["b.md"], ["a.md"]]
    assert from_where(small_index, "b.md") == (["a.md", "a.md", "c/b.md"], 3)
    small_index.remove("b.md")
    assert leads(small_index, "a.md") == [["c/b.md"], [], ["a.md"]]
    small_index.add({"a.md": "no link"})
    assert from_where(small_index, "c/b.md") == (["c/b.md"], 1)
    small_index.remove("a.md", "c/b.md")
    assert small_index.rows("SELECT (SELECT count(*) FROM links), (SELECT count(*) FROM names)") == [(0, 0)]


def test_orphans_and_unresolved(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "[[b]] [[c]] https://example.org", "b.md": "[[b]]", "d/e.md": "[x](missing.md)"})

    assert orphans(small_index, None, "") == ["a.md", "d/e.md"]
    assert orphans(small_index, "notes", "d") == ["d/e.md"]
    found, _ = asked(small_index, links.unresolved, None, "", 100, 0)
    assert [(each.link.target, each.link.line) for each in found] == [("c", 1), ("missing.md", 1)]
    assert asked(small_index, links.unresolved, "notes", "d", 100, 0)[1] == 1


@pytest.mark.slow
def test_cycles_and_many_links(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "[[b]]", "b.md": "[[a]] [[b]]", "many.md": "[[a]] " * 20_000})
    assert from_where(small_index, "a.md", limit=2) == (["b.md", "many.md"], 20_001)
    assert from_where(small_index, "b.md") == (["a.md", "b.md"], 2)
