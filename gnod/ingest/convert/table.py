"""Tables as Markdown: comma and tab separated files; also writes the rows of spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from gnod.ingest.convert.converter import Converter, FileContent
from gnod.ingest.convert.result import Converted, too_long, unchanged

_SNIFFED = 8192


def _read_csv(content: FileContent) -> Converted:
    text = content.text()
    return _read(text, _delimiter(text), content.max_characters)


def _read_tsv(content: FileContent) -> Converted:
    return _read(content.text(), "\t", content.max_characters)


def _read(text: str, delimiter: str, max_characters: int) -> Converted:
    """A file that the csv module cannot read is stored as it is."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        markdown = markdown_table(rows, max_characters)
    except csv.Error:
        return unchanged(text)
    return Converted(markdown=markdown, converter="table/1")


def markdown_table(rows: Iterable[Sequence[str]], max_characters: int) -> str:
    """Write rows as a table, the first as its head. Blank rows are left out; short rows stay short, as Markdown allows:
    padding them would let one wide row multiply the size of the file.

    Raises ConversionFailed (too_long).
    """
    lines: list[str] = []
    size = 0
    for row in rows:
        if not any(row):
            continue
        lines.append("| " + " | ".join(map(_cell, row)) + " |")
        if len(lines) == 1:
            lines.append("| " + " | ".join(["---"] * len(row)) + " |")
        size += len(lines[-1]) + 1
        if size > max_characters:
            raise too_long(max_characters)
    return "\n".join(lines)


def _cell(value: str) -> str:
    if "|" in value:
        value = value.replace("\\|", "|").replace("|", "\\|")
    return " ".join(value.split()) if "\n" in value or "\r" in value else value.strip()


def _delimiter(text: str) -> str:
    """Excel writes semicolons where the comma is the decimal sign."""
    head = text[:_SNIFFED].partition("\n")[0]
    return max(",;\t", key=head.count)


CSV = Converter(label="a table", mime="text/csv", extensions="csv", is_text=True, read=_read_csv)
TSV = Converter(label="a table", mime="text/tab-separated-values", extensions="tsv tab", is_text=True, read=_read_tsv)
