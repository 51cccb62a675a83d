"""Test workbooks: the displayed text of cells, and the text outside cells."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable
from typing import Any

import pytest
from openpyxl import Workbook  # type: ignore[import-untyped]
from openpyxl.chart import BarChart, Reference  # type: ignore[import-untyped]
from openpyxl.comments import Comment  # type: ignore[import-untyped]
from openpyxl.workbook.defined_name import DefinedName  # type: ignore[import-untyped]

from gnod.ingest.formats import ConversionFailed, Converted, convert
from gnod.ingest.formats.office.number_format import number_format
from tests.office_files import package, record, xls

_OFFICE = "http://schemas.openxmlformats.org"
MAIN = f'xmlns="{_OFFICE}/spreadsheetml/2006/main" xmlns:r="{_OFFICE}/officeDocument/2006/relationships"'
START = "xl/workbook.xml"


def made(fill: Callable[[Any], None]) -> Converted:
    book = Workbook()
    book.active.title = "Costs"
    fill(book)
    buffer = io.BytesIO()
    book.save(buffer)
    return convert(buffer.getvalue(), "a.xlsx", max_characters=100_000)


def cells(xml: str, others: dict[str, str] | None = None, sheets: str = "", namespaces: str = MAIN) -> Converted:
    """Convert a workbook whose first sheet has these rows."""
    sheets = sheets or '<sheet name="Costs" sheetId="1" r:id="r1"/>'
    parts = {
        START: f"<workbook {namespaces}><sheets>{sheets}</sheets></workbook>",
        "xl/sheet1.xml": f"<worksheet {namespaces}><sheetData>{xml}</sheetData></worksheet>",
        **(others or {}),
    }
    related = [("worksheet", "xl/sheet1.xml"), *((name[3:-4], name) for name in others or {})]
    return convert(package(START, parts, {START: related}), "a.xlsx", max_characters=100_000)


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("General", 0.1 + 0.2, "0.3"),
        ("General", 1e-7, "0.0000001"),
        ("0.0%", 0.125, "12.5%"),
        ("0", -0.4, "0"),
        ("0000", 5.0, "0005"),
        ("#,##0.00", 1234567.891, "1234567.89"),
        ("#,##0,", 1234567.0, "1235"),
        ('0.0,,"M"', 12345678.0, "12.3M"),
        ("#.##", 0.5, ".5"),
        ("0.0###", 1.5, "1.5"),
        ("0.00E+00", 12345.678, "1.23E+04"),
        ("# ?/?", 1.25, "1 1/4"),
        ("# ?/8", 0.25, "2/8"),
        ('#,##0.00 "EUR"', 1234.5, "1234.50 EUR"),
        ("[$€-407] #,##0.00", 3.14159, "€ 3.14"),
        ("#,##0;(#,##0);-", -1234.0, "(1234)"),
        ("#,##0;(#,##0);-", 0.0, "-"),
        (";;;", 5.0, ""),
        ('[<100]"few";"many"', 7.0, "few"),
        ('[<100]"few";"many"', 700.0, "many"),
        ("[Red]0.0", 2.25, "2.3"),
        ("(000) 000-0000", 5551234567.0, "(555) 123-4567"),
        ('@" pieces"', "nine", "nine pieces"),
        ("DD.MM.YYYY", 46146.0, "04.05.2026"),
        ("[$-407]d. MMMM yyyy", 46146.0, "4. Mai 2026"),
        ("dddd, mmm d", 46146.0, "Monday, May 4"),
        ('yyyy"年"m"月"d"日"', 46146.0, "2026年5月4日"),
        ("h:mm AM/PM", 0.55, "1:12 PM"),
        ("mm:ss.0", 0.0012345, "01:46.6"),
        ("[h]:mm:ss", 1.5, "36:00:00"),
        ("yyyy-mm-dd hh:mm", 60.5, "1900-02-28 12:00"),
    ],
)
def test_a_number_is_shown_in_its_format(code: str, value: float | str, shown: str) -> None:
    assert number_format(code).shown(value).strip() == shown


@pytest.mark.parametrize(
    "code", ['"', "[", "\\", ";;;;;", "0/0", "E+", "_", "*", "[$-xyz]", "?/", "h" * 50, "#,#.,%E+0"]
)
@pytest.mark.parametrize("value", [0.0, -1.5, 1e300, 5e-324, 2958466.0, "text"])
def test_any_format_shows_something_or_nothing(code: str, value: float | str) -> None:
    assert isinstance(number_format(code).shown(value), str)


def test_cells_are_written_as_they_are_shown_with_what_the_format_hides() -> None:
    def fill(book: Any) -> None:
        sheet = book.active
        sheet.append(["share", 0.125, "sum", 1234.5, "third", 1 / 3])
        sheet.append(["due", dt.date(2026, 5, 4), "done", True, "at", dt.time(13, 5)])
        for place, code in {"B1": "0.0%", "D1": '#,##0.00 "EUR"', "F1": "0%", "B2": "DD.MM.YYYY", "F2": "h:mm"}.items():
            sheet[place].number_format = code

    lines = made(fill).markdown.split("\n")
    assert lines[2] == "| share | 12.5% | sum | 1234.50 EUR | third | 33% (33.3333333333333%) |"
    assert lines[4] == "| due | 04.05.2026 (2026-05-04) | done | TRUE | at | 13:05 |"


def test_formulas_show_their_result_or_else_themselves() -> None:
    row = (
        '<row r="1"><c r="A1"><f>SUM(B1:B2)</f><v>7</v></c><c r="B1"><f>"total "&amp;"word"</f><v></v></c>'
        '<c r="C1" t="str"><f>""</f><v></v></c><c r="D1" t="e"><f>1/0</f><v>#DIV/0!</v></c></row>'
    )
    assert '| 7 | ="total "&"word" |  | #DIV/0! |' in cells(row).markdown


def test_text_outside_cells() -> None:
    def fill(book: Any) -> None:
        sheet = book.active
        sheet.append(["item", 3])
        sheet["A1"].comment = Comment("agreed by phone", "Ann")
        chart = BarChart()
        chart.title = "Costs by quarter"
        chart.add_data(Reference(sheet, min_col=2, min_row=1))
        sheet.add_chart(chart, "D1")
        sheet.oddHeader.center.text = "Confidential && final"
        sheet.oddFooter.center.text = "Page &P of &N"
        sheet.evenFooter.left.text, sheet.evenFooter.right.text = "&[Tab]", "Page &[Page] of &[Pages]"
        book.defined_names["Rate"] = DefinedName("Rate", attr_text="0.19")
        book.defined_names["Prices"] = DefinedName("Prices", attr_text="Costs!$A$1:$B$1")
        hidden = book.create_sheet("Old")
        hidden.append(["earlier"])
        hidden.sheet_state = "hidden"

    result = made(fill)
    first, _, second = result.markdown.partition("## Old (hidden)\n\n| earlier |")
    beside = first.partition("| item | 3 |\n| --- | --- |\n\n")[2].strip().split("\n\n")
    assert beside == ["Confidential & final", "> agreed by phone", "Costs by quarter", "Rate = 0.19", "Prices"]
    assert second == "\n| --- |"
    assert result.locations is not None
    assert result.locations.described == "sheets Costs, Old"


def test_threads_of_comments_replace_their_notes() -> None:
    def part(name: str, inner: str) -> str:
        return (
            f'<{name} xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments">{inner}</{name}>'
        )

    parts = {
        START: f'<workbook {MAIN}><sheet name="Costs" r:id="r1"/></workbook>',
        "xl/sheet1.xml": f'<worksheet {MAIN}><row r="1"><c t="str"><v>cell</v></c></row></worksheet>',
        "xl/persons.xml": part("personList", '<person id="{1}" displayName="Ann"/>'),
        "xl/threads.xml": part(
            "ThreadedComments",
            '<threadedComment ref="A1" personId="{1}"><text>why?</text></threadedComment>'
            '<threadedComment ref="A1" personId="{2}"><text>because</text></threadedComment>',
        ),
        "xl/notes.xml": f'<comments {MAIN}><comment ref="A1"><text><t>[Threaded comment] old</t></text></comment>'
        '<comment ref="B2"><text><r><t>plain</t></r></text></comment></comments>',
    }
    relations = {
        START: [("worksheet", "xl/sheet1.xml"), ("person", "xl/persons.xml")],
        "xl/sheet1.xml": [("threadedComment", "xl/threads.xml"), ("comments", "xl/notes.xml")],
    }
    result = convert(package(START, parts, relations), "a.xlsx", max_characters=1000)
    assert result.markdown.partition("| --- |\n\n")[2] == "> Ann: why?\n> because\n\n> plain"


def test_strict_files_have_dates_and_shared_texts() -> None:
    strict = (
        'xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main"'
        ' xmlns:r="http://purl.oclc.org/ooxml/officeDocument/relationships"'
    )
    others = {
        "xl/sharedStrings.xml": f"<sst {strict}><si><r><t>two </t></r><r><t>runs</t></r><rPh><t>x</t></rPh></si></sst>",
        "xl/styles.xml": f'<styleSheet {strict}><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>',
    }
    row = '<row r="2"><c r="B2" t="s"><v>0</v></c><c t="d" s="0"><v>1990-10-01T00:00:00</v></c><c><v>5</v></c></row>'
    assert cells(row, others, namespaces=strict).markdown.endswith(
        "|  | two runs | 1990-10-01 | 5 |\n| --- | --- | --- | --- |"
    )


def test_names_that_programs_give_are_not_headings() -> None:
    sheets = '<sheet name="{}" sheetId="1" r:id="r1"/>'
    row = '<row><c t="str"><v>x</v></c></row>'
    for name in ("Sheet1", "Sheet", "Worksheet 2", "Sheet1 (2)", "Tabelle2", "Лист1", "工作表3"):
        assert cells(row, sheets=sheets.format(name)).markdown == "| x |\n| --- |"
    for name in ("Costs", "Q1", "2026", "Plan", "Plan 2026"):
        assert cells(row, sheets=sheets.format(name)).markdown.startswith(f"## {name}\n")


def test_rows_and_columns_that_a_file_claims_stay_bounded() -> None:
    far = '<row r="1048576"><c r="XFD1" t="str"><v>far</v></c></row><row r="9"><c r="ZZZ1"><v>1</v></c></row>'
    with pytest.raises(ConversionFailed, match="longer than"):  # 16,384 columns take more than 100,000 characters
        cells(far)
    assert cells(far.replace("XFD", "CV")).markdown.count("|") == 2 * 101


def test_a_workbook_of_1997() -> None:
    beside = record(0x14, b"\6\0\0&CTop") + record(0x15, b"\x0c\0\0Page &P of &N")
    beside += record(0x1B6, bytes(18)) + record(0x3C, b"\0in a box") + record(0x100D, b"\0\0\5\0Chart")
    data = xls({"Sheet1": [["item", 12.5]], "Costs": [["paint"]]}, beside=beside)
    result = convert(data, "a.xls", max_characters=1000)
    assert (
        result.markdown
        == "| item | 12.5 |\n| --- | --- |\n\n## Costs\n\n| paint |\n| --- |\n\nTop\n\nin a box\n\nChart"
    )
    assert result.locations is not None
    assert result.locations.described == "sheets Sheet1, Costs"
