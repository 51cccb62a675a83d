"""Converts comma-separated and tab-separated files to Markdown tables; also writes the rows of spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.result import Converted, too_long, unchanged
from gnod.ingest.reading.versions import versioned
from gnod.locations import Locations, Start

_SNIFFED = 8192


def _read_csv(content: FileContent) -> Converted:
    text = content.text()
    return _read(text, _delimiter(text), content.max_characters)


def _read_tsv(content: FileContent) -> Converted:
    return _read(content.text(), "\t", content.max_characters)


def _read(text: str, delimiter: str, max_characters: int) -> Converted:
    """Read a table. A file that the csv module cannot read is stored unchanged."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        markdown, places = numbered_table(enumerate(rows, start=1), max_characters)
    except csv.Error:
        return unchanged(text)
    starts = [Start(line + 1, row) for line, row in places]
    return Converted(markdown=markdown, converter=versioned("table"), locations=Locations("row", starts))


def markdown_table(rows: Iterable[Sequence[str]], max_characters: int) -> str:
    """Write rows as `numbered_table` does."""
    return numbered_table(enumerate(rows), max_characters)[0]


def numbered_table(rows: Iterable[tuple[int, Sequence[str]]], max_characters: int) -> tuple[str, list[tuple[int, int]]]:
    """Write numbered rows as a table; the first row is the head. Blank rows are left out. Short rows stay short, as
    Markdown allows: if they were padded, one wide row could multiply the size of the file.

    Return the table and its starts as (line from 0, row). After a start, each line is the next row of the source until
    the next start. Raises ConversionFailed (too_long).
    """
    lines: list[str] = []
    starts: list[tuple[int, int]] = []
    size = 0
    for number, row in rows:
        if not any(row):
            continue
        if not starts or number - starts[-1][1] != len(lines) - starts[-1][0]:
            starts.append((len(lines), number))
        lines.append("| " + " | ".join(map(_cell, row)) + " |")
        if len(lines) == 1:
            lines.append("| " + " | ".join(["---"] * len(row)) + " |")
        size += len(lines[-1]) + 1
        if size > max_characters:
            raise too_long(max_characters)
    return "\n".join(lines), starts


def _cell(value: str) -> str:
    if "|" in value:
        value = value.replace("\\|", "|").replace("|", "\\|")
    return " ".join(value.split()) if "\n" in value or "\r" in value else value.strip()


def _delimiter(text: str) -> str:
    """Return the most frequent delimiter of the first line. Excel writes semicolons in locales with a decimal comma."""
    head = text[:_SNIFFED].partition("\n")[0]
    return max(",;\t", key=head.count)


CSV = Converter(label="a table", mime="text/csv", extensions="csv", is_text=True, read=_read_csv, location="row")
TSV = Converter(
    label="a table",
    mime="text/tab-separated-values",
    extensions="tsv tab",
    is_text=True,
    read=_read_tsv,
    location="row",
)
