"""Properties, embeds, bases and formulas of notes: their lines, their limits, and hostile ones."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gnoctl.web.rendering import bases
from gnoctl.web.rendering.document import Rendering
from gnoctl.web.rendering.embeds import EmbeddedNote, shown_lines
from gnod.protocol.documents import DocumentEntry
from tests.web.test_constructs import LISTED
from tests.web.test_rendering import HOSTILE, check, document, link, shown

NOTE = (
    "# A\n\nOne.\n\n- x\n  y ^item\n  - inner\n- z\n\n| t |\n| - |\n| u |\n\n^table\n\n"
    "## B\n\nTwo.\n\n### C\n\nThree.\n\n## D\n\nFour.\n"
)


def test_properties_have_their_lines_and_values_lead_to_searches() -> None:
    text = "---\ntitle: A\nyears:\n  - 1982\n  - 1990\nsite: https://x.org/a\nempty:\n---\n# A\n"
    metadata = {"title": "A", "years": [1982, 1990], "site": "https://x.org/a", "empty": None}
    html = shown(text, metadata=metadata).html
    assert re.findall(r'<tr data-line="(\d+)"><th scope="row">(\w+)', html) == [
        ("2", "title"),
        ("3", "years"),
        ("6", "site"),
        ("7", "empty"),
    ]
    assert re.findall(r'href="/search\?q=(years[^"]*)"', html) == ["years%3A%221982%22", "years%3A%221990%22"]
    assert '<a href="https://x.org/a" target="_blank" rel="noopener noreferrer">' in html
    assert '<h1 data-line="9"' in html


def test_lines_that_are_not_valid_are_shown_with_the_properties() -> None:
    text = "---\n# comment\na: 1\nb:\n  - x\n- y\n<lost line>\nc d: [\n---\ntext\n"
    html = shown(text, metadata={"a": 1, "b": ["x", "y"], "C d": "["}).html
    assert re.findall(r'<tr data-line="(\d+)"><td colspan="2"><code>([^<]*)</code>', html) == [
        ("7", "&lt;lost line&gt;")
    ]
    assert '<summary data-line="1">3 properties</summary>' in html


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_properties_and_embeds_are_text(text: str) -> None:
    check(
        shown("---\na: 1\n---\n", metadata={text: [text, {text: text}], "tags": text, "site": f"https://{text}"}).html
    )
    embed = link("B", "gno://notes/b.md", kind="embed", fragment=text, to_line=1)
    note = EmbeddedNote(embed, document(f"{text}\n", "b.md", title=text))
    check(Rendering(document("![[B]]\n")).part_at(1, [embed], {"B": note}).html)
    named = [replace(LISTED[0], path=f"{text}.md", metadata={text: text})]
    base = bases.tables(f"views:\n  - name: {text!r}\n    order: [file.name, {text!r}]\n", named)
    check(base or "")


@pytest.mark.parametrize(
    ("fragment", "line", "lines"),
    [
        ("", None, (1, 26)),
        ("B", 16, (16, 22)),
        ("A#C", 20, (20, 22)),
        ("^item", 6, (5, 7)),
        ("^table", 14, (10, 12)),
    ],
)
def test_an_embed_shows_what_it_names(fragment: str, line: int | None, lines: tuple[int, int]) -> None:
    embed = link("A", "gno://notes/a.md", kind="embed", fragment=fragment, to_line=line)
    first, last = shown_lines(document(NOTE), embed)
    assert (first, last - (not NOTE.split("\n")[last - 1])) == lines


def test_an_embed_says_what_its_note_does_not_have() -> None:
    embed = link("B", "gno://notes/b.md", kind="embed", fragment="Gone", has_place=False)
    html = (
        Rendering(document("![[B]]\n")).part_at(1, [embed], {"B": EmbeddedNote(embed, document(NOTE, title="B"))}).html
    )
    assert '<p class="embed">B has no Gone.</p>' in html


def test_a_long_note_is_embedded_in_part() -> None:
    embed = link("A", "gno://notes/b.md", kind="embed")
    note = EmbeddedNote(embed, document("A line.\n\n" * 5000, "b.md"))
    html = Rendering(document("![[A]]\n")).part_at(1, [embed], {"A": note}).html
    assert html.count("A line.") == 100
    assert "The note goes on" in html
    assert html.count("data-line") == 1  # its lines belong to another document


@pytest.mark.parametrize("line", ["[" * 5_000_000, "word " * 9_000])
def test_a_note_with_long_lines_is_embedded_in_part(line: str) -> None:
    embed = link("A", "gno://notes/b.md", kind="embed")
    note = EmbeddedNote(embed, document(f"{line}\n" * (10_000_000 // len(line)), "b.md"))
    started = time.process_time()
    html = Rendering(document("![[A]]\n")).part_at(1, [embed], {"A": note}).html
    assert time.process_time() - started < 10
    assert len(html) < 100_000
    assert "The note goes on" in html


def test_a_note_that_is_embedded_often_is_a_link_at_last() -> None:
    embed = link("A", "gno://notes/b.md", kind="embed")
    inner = EmbeddedNote(embed, document("word " * 5000 + "\n", "b.md"))
    note = EmbeddedNote(embed, document("![[A]]\n" * 150, "b.md"), [embed], {"A": inner})
    html = Rendering(document("![[A]]\n" * 300)).part_at(1, [embed], {"A": note}).html
    assert len(html) < 1_100_000
    assert html.count('<div class="embed"') > 1
    assert html.count('<a href="/doc/notes/b.md" rel') > 200
    check(html)


def test_the_lines_of_blocks_are_in_order() -> None:
    """The page searches the last block that begins at a line or before it, and footnotes are moved to the end."""
    html = shown("a[^1]\n\n[^1]: early\n\nb\n\n> [!note] T\n> c\n\nd[^2]\n\n[^2]: late\n").html
    lines = [int(line) for line in re.findall(r'data-line="(\d+)"', html)]
    assert lines == sorted(lines)
    assert lines[-1] == 12


def test_a_part_of_a_long_text_has_its_footnotes_and_addresses() -> None:
    text = "x[^a] and [b][r]\n\n" + "text\n\n" * 600 + "[^a]: The note\n\n[r]: https://x.org/r\n"
    html = shown(text).html
    assert "The note" in html
    assert 'href="https://x.org/r"' in html
    last = Rendering(document(text)).part_at(1204)
    assert last.start > 1
    assert "[^a]" not in last.html


def row(name: str, tags: tuple[str, ...] = (), **metadata: object) -> DocumentEntry:
    return replace(LISTED[0], path=name, tags=list(tags), metadata=metadata)


_NAMES = st.sampled_from(
    ["and", "or", "not", "filters", "order", "sort", "property", "direction", "limit", "name", "year"]
)
ROWS = [
    row("boats/Albatros.md", ("boat/sail",), year=1982, port="Pier", kinds=["Ketch", "Yawl"]),
    row("boats/Bussard.md", ("boat",), year=1995, port="", kinds="Sloop"),
    row("Pier.md", kinds=None),
    row("boats/Template.base"),
]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ("file.hasTag('boat')", ["Albatros", "Bussard"]),
        ("file.hasTag('boat/sail')", ["Albatros"]),
        ("file.inFolder('boats')", ["Albatros", "Bussard", "Template.base"]),
        ("'!file.name.contains(\"Template\")'", ["Albatros", "Bussard", "Pier"]),
        ("year > 1990", ["Bussard"]),
        ("year >= 1982 && year != 1995", ["Albatros"]),
        ("note.year == 1982 || file.path == 'Pier.md'", ["Albatros", "Pier"]),
        ("kinds.contains(link('Types/Ketch'))", ["Albatros"]),
        ("kinds.containsAny('sloop', 'yawl')", ["Albatros", "Bussard"]),
        ("port.isEmpty()", ["Bussard", "Pier", "Template.base"]),
        ("file.ext == 'base'", ["Template.base"]),
        ("port == this", ["Albatros"]),
        ("file.hasProperty('port') && !(year < 1990)", ["Bussard"]),
        ("{or: [year == 1995, {and: [year == 1982]}]}", ["Albatros", "Bussard"]),
        ("{not: [file.inFolder('boats')]}", ["Pier"]),
    ],
)
def test_a_base_selects_notes(filters: str, expected: list[str]) -> None:
    found = bases.tables(f"filters: {filters}\nviews:\n  - type: table\n", ROWS, this="Pier.md")
    assert re.findall(r"<td><a [^>]*>([^<]*)</a>", found or "") == expected


def test_a_view_has_columns_an_order_and_a_limit() -> None:
    text = (
        "properties: {note.year: {displayName: Built}}\nviews:\n  - name: All\n"
        "    order: [file.name, year, formula.x]\n"
        "    sort: [{property: year, direction: DESC}]\n    limit: 2\n  - name: None\n    filters: year > 3000\n"
    )
    found = bases.tables(text, ROWS) or ""
    assert re.findall(r"<th>(\w+)</th>", found)[:2] == ["name", "Built"]
    assert re.findall(r"<td>(?:<a [^>]*>)?([^<]*)", found) == ["Bussard", "1995", "Albatros", "1982"]
    assert "All <span>2</span>" in found
    assert "None <span>0</span>" in (bases.tables(text, ROWS, view="none") or "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a",
        "views: 3",
        "views: [1, 2]",
        "views:\n  - filters: formula.x > 2\n",
        "views:\n  - filters: file.hasLink(this)\n",
        "views:\n  - filters: __import__('os').system('x')\n",
        "views:\n  - filters: ().__class__.__bases__\n",
        "views:\n  - filters: 9**9**9**9\n",
        "views:\n  - filters: '" + "(" * 900 + "'\n",
        "views:\n  - filters: " + "{and: [" * 300 + "a" + "]}" * 300,
        "views:\n  - filters: " + "x" * 2000,
        "a: &a [x]\nviews:\n  - filters: *a\n",
        "a: [" * 3000,
        "views:\n  - order: 7\n",
        "views:\n  - sort: [{property: 'a b('}]\n",
    ],
)
def test_a_base_that_is_not_plain_is_text(text: str) -> None:
    assert bases.tables(text, ROWS) is None
    html = Rendering(document(f"{text}\n", "a.base", "text/1"), ROWS).part_at(1).html
    check(html)


_YAML = st.recursive(
    st.sampled_from([None, True, 3, "year", "file.name", "year > 3", "a b", "", "DESC", "file.hasTag('boat')"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(
    st.fixed_dictionaries(
        {"views": st.lists(st.dictionaries(_NAMES, _YAML), max_size=2)},
        optional={"filters": _YAML, "properties": _YAML},
    )
)
def test_any_base_is_a_table_or_text(base: dict[str, object]) -> None:
    check(bases.tables(json.dumps(base), ROWS) or "")


@pytest.mark.parametrize(
    "formula", ["\\text{<img src=x onerror=alert(1)>}", "\\href{javascript:alert(1)}{x}", "{" * 900, "\\frac"]
)
def test_a_formula_is_text_or_safe(formula: str) -> None:
    html = shown(f"a ${formula}$ b\n").html
    check(html)
    assert "javascript:" not in html or "<code>" in html


@pytest.mark.slow
def test_bad_notes_do_not_take_long() -> None:
    tasks = "".join(f"- [ ] task {n} ==m== #t $x$\n" for n in range(100_000))
    for text in (
        tasks,
        "%%" * 20_000,
        "==a " * 10_000,
        "> [!a]\n" * 300,
        "> " * 300 + "[!a]",
        "#+BEGIN_A\n" * 2000,
        "$$\n" * 2001,
    ):
        started = time.process_time()
        shown(f"{text}\n")
        assert time.process_time() - started < 10, text[:20]
