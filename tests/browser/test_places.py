"""Addresses with a line, a row, a page or a heading: their target is on the screen, and marked."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.generated_pdfs import assembled
from tests.browser.conftest import Site
from tests.machine import temporary_machine
from tests.machine import wait_until as until
from tests.pdf_files import pdf

pytestmark = pytest.mark.slow

LINES = 3_000
PATIENCE_S = 6
PAGES = 60

# Returns the marked and visible text, or nothing until the parts around it are loaded.
SHOWN = """() => {
  const body = document.querySelector(".reader-body").getBoundingClientRect();
  const isNear = ({ top, bottom }) => bottom > body.top - 2400 && top < body.bottom + 2400;
  if ([...document.querySelectorAll(".chunk:empty")].some((each) => isNear(each.getBoundingClientRect()))) return [];
  const ranges = [...(CSS.highlights.get("place") ?? [])];
  const marked = ranges.length ? ranges : [...document.querySelectorAll(".doc .target")];
  const isShown = ({ top, bottom }) => top >= body.top - 1 && top < body.bottom - 10 && bottom > body.top;
  const page = [...document.querySelectorAll(".page.ready")].find((each) => isShown(each.getBoundingClientRect()));
  const found = marked.filter((each) => isShown(each.getBoundingClientRect()));
  return found.map((each) => each.textContent ?? String(each)).concat(page ? [`page ${page.dataset.page}`] : []);
}"""


def log() -> str:
    return "".join(f"{number % 24:02}:00 entry {number} {'long ' * (number % 40)}\n" for number in range(1, LINES + 1))


def markdown() -> tuple[str, dict[str, str]]:
    """Return a note with short and long paragraphs, lists, code, quotes and tables, and the text of each of its lines,
    by fragment."""
    lines: list[str] = []
    places: dict[str, str] = {}
    chance = random.Random(1)

    def add(text: str) -> None:
        lines.append(text)

    for block in range(400):
        if block % 20 == 0:
            places[f"part-{block}"] = f"Part {block}"
            add(f"## Part {block}")
            add("")
        kind = chance.choice(("text", "list", "code", "quote", "table"))
        if kind == "code":
            add("```python")
        if kind == "table":
            lines.extend(["| name | value |", "| --- | --- |"])
        for _ in range(chance.choice((1, 5, 60)) if kind != "list" else 8):
            word = f"word{len(lines) + 1}"
            before, after = {"list": ("- ", ""), "quote": ("> ", ""), "table": ("| ", " | 1 |")}.get(kind, ("", ""))
            places[f"L{len(lines) + 1}"] = word
            add(f"{before}{word}{after}")
        if kind == "code":
            add("```")
        add("")
    return "\n".join(lines) + "\n", places


NOTE, NOTE_PLACES = markdown()
PLACES = {
    "log.txt": {f"L{line}": f"entry {line} " for line in range(1, LINES + 1)},
    "note.md": {name: text for name, text in NOTE_PLACES.items() if name.startswith("L")},
    "note.md#": {name: text for name, text in NOTE_PLACES.items() if not name.startswith("L")},
    "code.py": {f"L{line}": f"f{line}()" for line in range(1, LINES + 1)},
    "table.csv": {f"row={row}": f"cell{row}" for row in range(2, LINES)},
    "paper.pdf": {f"page={page}": f"page {page}" for page in range(1, PAGES + 1)},
}


def linked_pdf() -> bytes:
    """Return a PDF of three pages with an outline. The first has two columns and links to the last page and to the web;
    the last has no text."""
    first = b"BT /F1 12 Tf 72 700 Td (A left column) Tj 300 0 Td (A right column) Tj -300 -20 Td (second line) Tj ET"
    second = b"BT /F1 24 Tf 72 700 Td (In the middle) Tj ET"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %d 0 R/Resources<</Font<</F1 6 0 R>>>>%s>>"
    link = b"<</Type/Annot/Subtype/Link/Rect[%s]/Border[0 0 0]%s>>"
    to_last = link % (b"72 600 172 620", b"/Dest[5 0 R/Fit]")
    to_web = link % (b"72 560 172 580", b"/A<</S/URI/URI(https://example.org/a)>>")
    to_script = link % (b"72 520 172 540", b"/A<</S/URI/URI(javascript:alert\\(1\\))>>")
    stream = b"<</Length %d>>stream\n%s\nendstream"
    return assembled(
        [
            b"<</Type/Catalog/Pages 2 0 R/Outlines 10 0 R>>",
            b"<</Type/Pages/Kids[3 0 R 4 0 R 5 0 R]/Count 3>>",
            page % (7, b"/Annots[" + to_last + to_web + to_script + b"]"),
            page % (8, b""),
            page % (9, b""),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
            stream % (len(first), first),
            stream % (len(second), second),
            stream % (0, b""),
            b"<</Type/Outlines/First 11 0 R/Last 12 0 R/Count 2>>",
            b"<</Title(Beginning)/Parent 10 0 R/Next 12 0 R/Dest[3 0 R/Fit]>>",
            b"<</Title(End)/Parent 10 0 R/Prev 11 0 R/Dest[5 0 R/Fit]>>",
        ]
    )


@pytest.fixture(scope="module")
def site(browser: object) -> Iterator[Site]:
    """Long files in six formats, without models."""
    with temporary_machine() as machine:
        (machine.notes / "log.txt").write_text(log())
        (machine.notes / "note.md").write_text(NOTE)
        (machine.notes / "code.py").write_text("".join(f"f{line}()\n" for line in range(1, LINES + 1)))
        (machine.notes / "one line.md").write_text("needle " * 10_000 + "\n")
        (machine.notes / "שלום السلام.md").write_text("# שלום\n\n" + "".join(f"שורה {n}\n\n" for n in range(900)))
        rows = "".join(f"cell{row},{row}\n" for row in range(2, LINES + 1))
        (machine.notes / "table.csv").write_text(f"name,value\n{rows}")
        (machine.notes / "linked.pdf").write_bytes(linked_pdf())
        (machine.notes / "paper.pdf").write_bytes(pdf([f"Page {number} of zqx" for number in range(1, PAGES + 1)]))
        machine.ok("init", str(machine.notes), "--name", "far")
        machine.quiet()
        with contextlib.closing(Site(machine)) as site:
            yield site


def go(page: Any, address: str) -> None:
    """Open an address like a link of the page."""
    page.evaluate("(to) => { history.pushState({}, '', to); dispatchEvent(new PopStateEvent('popstate')); }", address)


@pytest.mark.parametrize("of_each", [2, pytest.param(36, marks=pytest.mark.stress)])
def test_an_address_leads_to_the_place_that_it_names(visit: Any, of_each: int) -> None:
    page = visit()
    chance = random.Random(of_each)
    addresses = [
        (f"/doc/far/{name.rstrip('#')}#{fragment}", text)
        for name, places in PLACES.items()
        for fragment, text in chance.sample(sorted(places.items()), min(of_each, len(places)))
    ]
    chance.shuffle(addresses)
    missed = []
    for address, text in addresses:
        go(page, address)
        try:
            until(lambda text=text: any(text in each for each in page.evaluate(SHOWN)), PATIENCE_S)
        except AssertionError:
            missed.append((address, text, page.evaluate(SHOWN)))
    assert not missed, f"{len(missed)} of {len(addresses)}: {missed[:5]}"


def text_of(page: Any, name: str) -> str:
    """Return the text of the ranges that have a highlight."""
    found = page.evaluate("(name) => [...(CSS.highlights.get(name) ?? [])].join('|')", name)
    assert isinstance(found, str)
    return found


def test_matches_are_those_of_the_whole_document(visit: Any) -> None:
    page = visit("/doc/far/log.txt?q=entry#L1500")
    page.wait_for_selector(".matches >> text=3,000 matches")
    page.focus(".reader-body")
    for key, number in (("n", 1500), ("n", 1501), ("Shift+N", 1500)):
        page.keyboard.press(key)
        page.wait_for_selector(f".matches >> text={number:,} of 3,000")
    assert text_of(page, "current") == "entry"
    go(page, "/doc/far/note.md?q=%22part+380%22")
    page.wait_for_selector(".matches >> text=1 match")
    until(lambda: text_of(page, "match") == "Part 380")
    go(page, "/doc/far/code.py?q=nothing")
    page.wait_for_selector("#reader h1 >> text=code")
    page.wait_for_selector(".doc >> text=f1()")
    assert not page.is_visible(".matches")


@pytest.mark.stress
def test_a_line_that_is_cut_and_a_name_from_right_to_left(visit: Any) -> None:
    page = visit("/doc/far/one%20line.md?q=needle")
    page.wait_for_selector(".doc >> text=more characters")
    page.wait_for_selector(".matches >> text=+ matches")  # not all matches are shown
    go(page, "/doc/far/שלום السلام.md?q=שורה#L1003")
    page.wait_for_selector(".doc .target >> text=שורה 500")
    page.wait_for_selector(".matches >> text=900 matches")


def test_a_long_document_has_one_scroll_bar_and_an_outline_with_a_filter(visit: Any) -> None:
    page = visit("/doc/far/note.md")
    page.wait_for_selector(".doc >> text=Part 0")
    body = page.locator(".reader-body")
    height = body.evaluate("(body) => body.scrollHeight")
    body.evaluate("(body) => (body.scrollTop = body.scrollHeight)")
    page.wait_for_selector(f".doc >> text={[*NOTE_PLACES.values()][-1]}")
    assert 0.5 < body.evaluate("(body) => body.scrollHeight") / height < 2
    assert page.locator(".chunk:empty").count() > 2  # parts that were not read are not loaded
    page.click("text=Outline")
    page.keyboard.type("part 26")
    assert page.locator(".outline a").all_inner_texts() == ["Part 260"]
    page.click(".outline a")
    page.wait_for_selector(".doc .target >> text=Part 260")
    assert "#L" in page.url


def test_the_text_of_a_pdf_lies_over_its_pages(visit: Any) -> None:
    page = visit("/doc/far/linked.pdf")
    layer = page.locator("[data-page='1'] .layer")
    layer.locator("text=A left column").wait_for()
    assert layer.locator("span").all_inner_texts() == ["A left column ", "A right column\n", "second line\n"]
    box, sheet = (page.locator(each).bounding_box() for each in (".layer span >> nth=0", "[data-page='1'] .sheet"))
    assert box["x"] - sheet["x"] == pytest.approx(72 / 612 * sheet["width"], abs=2)
    # A selection from the first line to the second contains the text of the page.
    selected = page.evaluate(
        """() => {
          const [first, , last] = document.querySelectorAll(".layer span");
          getSelection().setBaseAndExtent(first.firstChild, 2, last.firstChild, 6);
          return String(getSelection()).split(/\\s+/).join(" ");
        }"""
    )
    assert selected == "left column A right column second"
    # The browser's own search finds text that was never on the screen.
    until(lambda: page.evaluate("getSelection().removeAllRanges() ?? find('In the middle')"))

    assert page.locator(".layer a").evaluate_all("(links) => links.map((link) => link.getAttribute('href'))") == [
        "#page=3",
        "https://example.org/a",
    ]
    page.click(".layer a >> nth=0")
    page.wait_for_url("**/doc/far/linked.pdf#page=3")  # this page has no text, so the index does not know it
    until(lambda: page.input_value(".page-number") == "3")
    page.click("text=Outline")
    page.click(".outline a >> text=Beginning")
    until(lambda: page.input_value(".page-number") == "1")
    page.fill(".page-number", "2")
    page.keyboard.press("Enter")
    until(lambda: "page 2" in page.evaluate(SHOWN))
    before = page.locator("[data-page='2'] .sheet").bounding_box()["width"]
    page.click("[aria-label='Larger']")
    until(
        lambda: page.locator("[data-page='2'] .sheet").bounding_box()["width"] == pytest.approx(1.25 * before, rel=0.01)
    )
    assert page.input_value(".page-number") == "2"
