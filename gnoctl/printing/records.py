"""Lists of documents for programs: CSV, Markdown, XML, paths; and tables of chosen fields. Imported only on request."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

import msgspec

from gnoctl.printing import text
from gnoctl.printing.output import note
from gnoctl.printing.terminal import Terminal, columns
from gnod.protocol.documents import DocumentEntry, DocumentText
from gnod.protocol.search import Hit, Row

RecordFormat = Literal["files", "csv", "md", "xml"]


class ListedRecord(NamedTuple):
    """One document in a list. `fields`: their values in the order of the CSV columns; `body`: snippet or text."""

    docid: str
    uri: str
    title: str
    fields: dict[str, str]
    score: float | None = None
    body: str | None = None


# The columns of CSV and the attributes of XML.
_FIELDS: dict[type, tuple[str, ...]] = {
    Hit: ("collection", "path", "line", "end_line", "modified", "source"),
    DocumentEntry: ("collection", "path", "modified", "size", "mime", "source"),
    DocumentText: ("collection", "path", "modified"),
}


def record_of(document: Hit | DocumentEntry) -> ListedRecord:
    fields = {name: str(getattr(document, name)) for name in _FIELDS[type(document)]}
    record = ListedRecord(document.docid, document.uri, document.title, fields)
    if isinstance(document, Hit):
        body = document.snippet if document.text is None else document.text
        fields["also"] = " ".join(each.uri for each in document.also)
        return record._replace(score=document.score, body=body)
    return record._replace(body=document.text) if isinstance(document, DocumentText) else record


def write_records(output: RecordFormat, records: Iterable[ListedRecord]) -> None:
    writer = {"files": file_lines, "csv": csv_lines, "md": markdown_lines, "xml": xml_lines}[output]
    for piece in writer(records):
        sys.stdout.write(piece)


def file_lines(records: Iterable[ListedRecord]) -> Iterator[str]:
    """`#docid,score,uri`, or without the score. The address comes last: it may hold commas."""
    for record in records:
        score = () if record.score is None else (f"{record.score:.4f}",)
        yield ",".join((text.line(record.docid), *score, _uri(record))) + "\n"


def csv_lines(records: Iterable[ListedRecord]) -> Iterator[str]:
    header_written = False
    for record in records:
        row = {"docid": record.docid}
        if record.score is not None:
            row["score"] = f"{record.score:.4f}"
        row |= {"uri": _uri(record), "title": record.title, **record.fields}
        if record.body is not None:
            row["text"] = record.body
        if not header_written:
            yield csv_line(row)
            header_written = True
        yield csv_line(row.values())


def csv_line(cells: Iterable[str]) -> str:
    buffer = StringIO()
    csv.writer(buffer).writerow(_inert(text.block(cell)) for cell in cells)
    return buffer.getvalue()


def markdown_lines(records: Iterable[ListedRecord]) -> Iterator[str]:
    for record in records:
        score = "" if record.score is None else f" · {record.score:.2f}"
        title = _markdown(text.line(record.title))
        yield f"- [{title}]({_uri(record)}) · `{text.line(record.docid)}`{score}\n"
        if record.body:
            yield from (f"  > {_markdown(line)}\n" for line in text.block(record.body).splitlines() if line.strip())


def xml_lines(records: Iterable[ListedRecord]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<documents>\n'
    for record in records:
        attributes = {"docid": record.docid, "uri": _uri(record)}
        if record.score is not None:
            attributes["score"] = f"{record.score:.4f}"
        attributes |= record.fields
        listed = "".join(f" {name}={quoteattr(_xml(value))}" for name, value in attributes.items())
        body = "" if record.body is None else f"\n    <text>{escape(_xml(record.body))}</text>"
        yield f"  <document{listed}>\n    <title>{escape(_xml(record.title))}</title>{body}\n  </document>\n"
    yield "</documents>\n"


# Spreadsheets also accept the full-width characters as the start of a formula where people type them.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_XML_ILLEGAL = re.compile("[^\\t\\n\\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_\[\]<>|#])")
_URI_UNSAFE = re.compile("[\\x00-\\x20()\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def _uri(record: ListedRecord) -> str:
    """Escape characters of the address that a terminal or a Markdown link would misread; it means the same."""
    return _URI_UNSAFE.sub(lambda match: quote(match[0], safe=""), record.uri)


def _inert(cell: str) -> str:
    """Prevent a spreadsheet from reading a cell as a formula (OWASP: CSV injection)."""
    return "'" + cell if cell.startswith(_FORMULA_STARTS) else cell


def _markdown(line: str) -> str:
    return _MARKDOWN_SPECIAL.sub(r"\\\1", line)


def _xml(value: str) -> str:
    """Drop characters that XML 1.0 cannot hold, and replace those that control a terminal."""
    return text.block(_XML_ILLEGAL.sub("", value))


def cell(value: object) -> str:
    """Return a value of a document's metadata as text.

    >>> cell(["a", 1.5]), cell(True), cell(None), cell({"x": [1]})
    ('a, 1.5', 'true', '', '{"x":[1]}')
    """
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def cells_of(row: Row, names: Sequence[str]) -> list[str]:
    return [cell(row.values.get(name)) for name in names]


def rows_as_table(rows: Sequence[Row], names: Sequence[str], terminal: Terminal) -> Iterator[str]:
    return columns(names, [cells_of(row, names) for row in rows], terminal, flexible=None)


def rows_as_csv(rows: Sequence[Row], names: Sequence[str]) -> Iterator[str]:
    yield csv_line(names)
    yield from (csv_line(cells_of(row, names)) for row in rows)


def write_paths(sources: Iterable[str], *, has_nulls: bool) -> None:
    """Print each path once, unchanged; on a terminal, without characters that control it. A path with a line break
    would fill two lines, so it is left out, and a note says so."""
    found = list(dict.fromkeys(map(on_disk, sources)))
    shown = found if has_nulls else [path for path in found if path.splitlines() == [path]]
    is_terminal = sys.stdout.isatty()
    for path in shown:
        sys.stdout.write((text.line(path) if is_terminal else path) + ("\0" if has_nulls else "\n"))
    if left_out := len(found) - len(shown):
        note(f"paths with a line break are left out: {left_out}. Use --paths0")


def on_disk(source: str) -> str:
    """Return the file that holds a source: for a file in an archive (`old.zip!/report.pdf`), the archive."""
    end = source.find("!/")
    while end >= 0:
        if Path(source[:end]).is_file():
            return source[:end]
        end = source.find("!/", end + 1)
    return source
