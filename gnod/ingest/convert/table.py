"""Tables as Markdown: comma and tab separated files, and the rows of a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from gnod.ingest.convert.result import Converted, too_long

_SNIFFED = 8192


def read_separated(text: str, mime: str, max_characters: int) -> Converted:
    """Convert a separated file; one that the csv module gives up on stays as it is."""
    delimiter = "\t" if mime == "text/tab-separated-values" else _delimiter(text)
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        markdown = markdown_table(rows, max_characters)
    except csv.Error:
        return Converted(markdown=text, mime=mime, converter="text/1")
    return Converted(markdown=markdown, mime=mime, converter="table/1")


def markdown_table(rows: Iterable[Sequence[str]], max_characters: int) -> str:
    """Write rows as a table, the first as its head. Blank rows go; short rows stay short, as Markdown allows:
    filling them up would let one wide row multiply the size of the file.

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
