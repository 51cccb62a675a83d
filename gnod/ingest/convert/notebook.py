"""Jupyter notebooks: Markdown cells as they are, code fenced, the text of outputs in brief."""

from __future__ import annotations

import json
import re

from gnod.ingest.convert.result import Converted

_MIME = "application/x-ipynb+json"
_OUTPUT_LIMIT = 2000
_FENCE = re.compile("```+")


def read_notebook(text: str) -> Converted:
    """Convert a notebook; JSON that is none stays the text it is."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError):
        notebook = None
    cells = _cells(notebook)
    if not isinstance(notebook, dict) or not cells:
        return Converted(markdown=text, mime="application/json", converter="text/1")
    metadata = _mapping(notebook.get("metadata"))
    language = _language(metadata)
    parts = [part for cell in cells for part in _cell(cell, language)]
    title = metadata.get("title")
    return Converted(
        markdown="\n\n".join(part for part in parts if part.strip()),
        mime=_MIME,
        converter="ipynb/1",
        title=title.strip() or None if isinstance(title, str) else None,
    )


def _cells(notebook: object) -> list[dict[str, object]]:
    """Cells are at the top in format 4, in worksheets before."""
    top = _mapping(notebook)
    found = _listed(top.get("cells"))
    for sheet in _listed(top.get("worksheets")):
        found += _listed(_mapping(sheet).get("cells"))
    return [cell for cell in found if isinstance(cell, dict)]


def _cell(cell: dict[str, object], language: str) -> list[str]:
    source = _joined(cell.get("source") or cell.get("input"))
    match cell.get("cell_type"):
        case "code":
            outputs = [_output(output) for output in _listed(cell.get("outputs"))]
            shown = "\n".join(output.rstrip() for output in outputs if output.strip())
            return [_fenced(source, language), _fenced(shown[:_OUTPUT_LIMIT], "")]
        case "heading":
            level = cell.get("level")
            return ["#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1) + " " + source]
        case "raw":
            return [_fenced(source, "")]
    return [source]


def _output(output: object) -> str:
    fields = _mapping(output)
    if fields.get("output_type") == "error":
        return f"{fields.get('ename')}: {fields.get('evalue')}"
    return _joined(fields.get("text") or _mapping(fields.get("data")).get("text/plain"))


def _fenced(text: str, language: str) -> str:
    """The fence is longer than any inside."""
    if not text.strip():
        return ""
    fence = "`" * max([3, *(len(run) + 1 for run in _FENCE.findall(text))])
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _language(metadata: dict[str, object]) -> str:
    for field in ("language_info", "kernelspec"):
        described = _mapping(metadata.get(field))
        name = described.get("name") if field == "language_info" else described.get("language")
        if isinstance(name, str) and name.isascii() and name.replace("-", "").isalnum():
            return name
    return "python"


def _joined(value: object) -> str:
    """Notebooks store a text as one string or as a list of lines."""
    if isinstance(value, str):
        return value
    return "".join(line for line in _listed(value) if isinstance(line, str))


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
