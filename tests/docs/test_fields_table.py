"""docs/searching.md lists the built-in fields as the registry has them."""

from __future__ import annotations

from pathlib import Path

from gnod.search.fields.registry import FIELDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "searching.md").read_text(encoding="utf-8")


def test_every_built_in_field_has_its_row() -> None:
    table = PAGE[PAGE.index("| field | | example |") :].partition("\n\n")[0].splitlines()[2:]
    expected = [
        f"| {', '.join(f'`{name}:`' for name in (field.name, *field.aliases))} | {field.help} | `{field.example}` |"
        for field in FIELDS
    ]
    assert table[: len(expected)] == expected
