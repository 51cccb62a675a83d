"""docs/models.md has a row for each preset and each of their models, with what the catalogue knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gnod.models.supply import catalogue
from gnod.presets import PRESETS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
_UNITS = {"MB": 10**6, "GB": 10**9}


def rows(head: str) -> list[list[str]]:
    """Return the cells of the table whose head begins so."""
    table = PAGE[PAGE.index(f"| {head} |") :].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def size(cell: str) -> float:
    number, unit = cell.split()
    return float(number) * _UNITS[unit]


def test_presets() -> None:
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


def test_models() -> None:
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
