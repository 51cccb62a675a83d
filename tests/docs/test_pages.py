"""Tables of the pages say what the code has: fields of queries, presets and models, keys; and all interfaces give the
modes of search the same names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from gnoctl.commands import bench
from gnoctl.mcp.tools import SEARCHES
from gnoctl.ui.keys import KEYS
from gnoctl.ui.linear import COMMANDS
from gnoctl.ui.session import MODES
from gnoctl.web.static_files import FOLDER
from gnod.models.supply import catalogue
from gnod.presets import PRESETS
from gnod.search.fields.registry import FIELDS

DOCS = Path(__file__).resolve().parents[2] / "docs"
UI_PAGE, MODELS_PAGE, SEARCHING = ((DOCS / name).read_text("utf-8") for name in ("ui.md", "models.md", "searching.md"))
_UNITS = {"MB": 10**6, "GB": 10**9}


def test_the_page_has_the_keys() -> None:
    table = UI_PAGE.partition("## Keys")[2].partition("## Modes")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", table, re.MULTILINE)[2:]
    assert rows == [(key.shown, key.help) for key in KEYS]


def test_the_page_has_the_commands_of_the_linear_mode() -> None:
    for command in COMMANDS:
        if command.startswith(":"):
            assert f"`{command.split()[0]}" in UI_PAGE


def test_a_mode_has_one_name() -> None:
    shown = re.search(r"MODES = \{ (.*) \}", (FOLDER / "router.js").read_text(encoding="utf-8"))
    assert shown
    page = dict(re.findall(r'(\w+): "(\w+)"', shown[1]))
    names = {"hybrid", "keyword", "vector"}
    assert set(MODES) == set(SEARCHES) == set(page) == {name.lower() for name in page.values()} == names
    assert names == set(get_args(bench.Mode))
    assert all(f"| {name} |" in UI_PAGE for name in names)


def rows(head: str) -> list[list[str]]:
    """Return the cells of the table whose head begins so."""
    table = MODELS_PAGE[MODELS_PAGE.index(f"| {head} |") :].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def size(cell: str) -> float:
    number, unit = cell.split()
    return float(number) * _UNITS[unit]


def test_the_table_of_presets() -> None:
    names = {row[0].strip("`") for row in rows("preset")}
    assert names == set(PRESETS)
    for name, _, models, languages, download, more, memory, speed in rows("preset"):
        preset = name.strip("`")
        uris = catalogue.for_search(preset)
        assert [model != "–" for model in models.split("; ")] == [uri is not None for uri in PRESETS[preset].values()]
        assert size(download) == pytest.approx(sum(catalogue.MODELS[uri].bytes for uri in uris), rel=0.05)
        answers = {uri for uri in PRESETS[preset].values() if uri} - uris
        assert (size(more) if more != "–" else 0) == pytest.approx(
            sum(catalogue.MODELS[u].bytes for u in answers), rel=0.05
        )
        assert size(memory) == pytest.approx(catalogue.memory_of(preset), abs=0.06e9)
        known = catalogue.MODELS[catalogue.embedder(preset)].languages
        assert (languages == "en") == (known == {"en"})
        assert int(speed.replace(",", "")) == 2 * catalogue.MODELS[catalogue.embedder(preset)].per_core


def test_the_table_of_models() -> None:
    found = rows("model")
    assert len(found) == len(catalogue.MODELS)
    for (_, address, licence, download, run), (uri, known) in zip(found, _in_order(found), strict=True):
        assert licence == known.licence, address
        assert size(download) == pytest.approx(known.bytes, rel=0.05), address
        assert run == ("yes" if known.has_run else "no"), uri


def _in_order(found: list[list[str]]) -> list[tuple[str, catalogue.KnownModel]]:
    """Return the models in the order of the table's rows."""
    names = [re.findall(r"`([^`]+)`", row[1])[0] for row in found]
    return [next((uri, known) for uri, known in catalogue.MODELS.items() if name in uri) for name in names]


def test_every_built_in_field_has_its_row() -> None:
    table = SEARCHING[SEARCHING.index("| field | | example |") :].partition("\n\n")[0].splitlines()[2:]
    expected = [
        f"| {', '.join(f'`{name}:`' for name in (field.name, *field.aliases))} | {field.help} | `{field.example}` |"
        for field in FIELDS
    ]
    assert table[: len(expected)] == expected
