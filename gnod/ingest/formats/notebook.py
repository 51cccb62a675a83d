"""Converts Jupyter notebooks: Markdown cells stay unchanged, code is fenced, and text outputs are cut."""

from __future__ import annotations

import json
import re

from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.json_values import listed, mapping, string
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import Converted, unchanged
from gnod.ingest.reading.versions import versioned

_OUTPUT_LIMIT = 2000  # characters for each cell
_FENCE = re.compile("```+")


def _read(content: FileContent) -> Converted:
    """Read a notebook. Other JSON is stored unchanged."""
    text = content.text()
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        notebook = None
    cells = _cells(notebook)
    if not isinstance(notebook, dict) or not cells:
        return unchanged(text, "application/json")
    metadata = mapping(notebook.get("metadata"))
    language = _language(metadata)
    parts = Parts("cell", content.max_characters)
    for number, cell in enumerate(cells, start=1):
        parts.add("\n\n".join(part for part in _cell(cell, language) if part.strip()), number)
    return Converted(
        markdown=parts.markdown,
        converter=versioned("ipynb"),
        locations=parts.locations,
        title=string(metadata.get("title")).strip() or None,
    )


def _cells(notebook: object) -> list[dict[str, object]]:
    """Format 4 has cells at the top level; older formats have them in worksheets."""
    top = mapping(notebook)
    found = listed(top.get("cells"))
    for sheet in listed(top.get("worksheets")):
        found += listed(mapping(sheet).get("cells"))
    return [cell for cell in found if isinstance(cell, dict)]


def _cell(cell: dict[str, object], language: str) -> list[str]:
    source = _joined(cell.get("source") or cell.get("input"))
    match cell.get("cell_type"):
        case "code":
            outputs = [_output(output) for output in listed(cell.get("outputs"))]
            shown = "\n".join(output.rstrip() for output in outputs if output.strip())
            return [_fenced(source, language), _fenced(shown[:_OUTPUT_LIMIT], "")]
        case "heading":
            level = cell.get("level")
            return ["#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1) + " " + source]
        case "raw":
            return [_fenced(source, "")]
    return [source]


def _output(output: object) -> str:
    fields = mapping(output)
    if fields.get("output_type") == "error":
        return f"{fields.get('ename')}: {fields.get('evalue')}"
    return _joined(fields.get("text") or mapping(fields.get("data")).get("text/plain"))


def _fenced(text: str, language: str) -> str:
    """Fence a text with more backticks than any fence inside has."""
    if not text.strip():
        return ""
    fence = "`" * max([3, *(len(run) + 1 for run in _FENCE.findall(text))])
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _language(metadata: dict[str, object]) -> str:
    names = mapping(metadata.get("language_info")).get("name"), mapping(metadata.get("kernelspec")).get("language")
    return next((name for name in map(string, names) if name.isascii() and name.replace("-", "").isalnum()), "python")


def _joined(value: object) -> str:
    """Notebooks store a text as one string or as a list of lines."""
    if isinstance(value, str):
        return value
    return "".join(line for line in listed(value) if isinstance(line, str))


NOTEBOOK = Converter(
    label="a notebook",
    mime="application/x-ipynb+json",
    extensions="ipynb",
    is_text=True,
    read=_read,
    headings=True,
    location="cell",
)
