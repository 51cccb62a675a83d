"""One value changed in JSON with comments, one table in TOML: nothing else may move."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnoctl.agents import jsonc, toml_table
from gnoctl.agents.jsonc import Unfit

_SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5)
_KEYS = st.text(max_size=4) | st.sampled_from(["servers", "gno", "a"])
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=8
)
_OBJECTS = st.dictionaries(_KEYS, _VALUES, max_size=4)
_LAYOUTS = st.sampled_from([None, 2, 4, "\t", 0])
ENTRY = {"command": "/bin/gnoctl", "args": ["mcp"]}


@given(_OBJECTS, _LAYOUTS, st.booleans())
def test_any_object_gets_the_value_and_keeps_the_rest(data: dict[str, Any], layout: Any, crlf: bool) -> None:
    text = json.dumps(data, indent=layout, ensure_ascii=False)
    text = text.replace("\n", "\r\n") if crlf else text
    if not isinstance(data.get("servers", {}), dict):
        with pytest.raises(Unfit):
            jsonc.with_value(text, ("servers", "gno"), ENTRY)
        return
    changed = jsonc.with_value(text, ("servers", "gno"), ENTRY)
    assert json.loads(changed) == {**data, "servers": {**data.get("servers", {}), "gno": ENTRY}}
    assert jsonc.with_value(changed, ("servers", "gno"), ENTRY) == changed
    if crlf and "\n" in text:
        assert changed.count("\n") == changed.count("\r\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "s": {\n    "gno": 1\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "gno": 1\n  }\n}'),
        ('{"a": 1}', '{"a": 1, "s": {"gno": 1}}'),
        ('{\n    "s": {}\n}', '{\n    "s": {\n        "gno": 1\n    }\n}'),
        ('{\n\t"s": {\n\t\t"b": 2 // two\n\t}\n}', '{\n\t"s": {\n\t\t"b": 2, // two\n\t\t"gno": 1\n\t}\n}'),
        ('{\n  "s": {\n    "b": 2, // two\n  },\n}', '{\n  "s": {\n    "b": 2, // two\n    "gno": 1,\n  },\n}'),
        ('{\n  "s": {\n    // none yet\n  }\n}', '{\n  "s": {\n    // none yet\n    "gno": 1\n  }\n}'),
        ('{ /* a */ "s": { "gno": /* old */ 0 } }', '{ /* a */ "s": { "gno": /* old */ 1 } }'),
        ('{"u": "// no comment", "s": {"gno": 0}}', '{"u": "// no comment", "s": {"gno": 1}}'),
    ],
)
def test_layouts(before: str, after: str) -> None:
    assert jsonc.with_value(before, ("s", "gno"), 1) == after


@pytest.mark.parametrize(
    "text", ["{", "[1]", "1", '{"a" 1}', '{"a": 1 "b": 2}', "{,}", "{} {}", "{'a': 1}", "[" * 9999]
)
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(Unfit):
        jsonc.with_value(text, ("s", "gno"), 1)


@pytest.mark.parametrize(
    "before",
    [
        "",
        "a = 1",
        "# only this\n",
        "[s.other]\nx = 1\n\n[t]\ny = 2\n",
        '[s."gno"]\ncommand = "old" # mine\nkept = true\n[s.gno.env]\nA = "b"\n',
        '[ s . gno ]\r\nargs = []\r\n"command" = "old"\r\n[z]\r\n',
        "s = { other = { x = 1 } }\n",
        '[s.gno]\ncommand = """\n[s.gno]\nargs = 1\n"""\nargs = [\n  1,\n]\n',
        's.gno.command = "old"\n',
    ],
)
def test_a_table_is_added_or_changed(before: str) -> None:
    changed = toml_table.with_table(before, ("s", "gno"), ENTRY)
    data = tomllib.loads(changed)
    old = tomllib.loads(before)
    assert data["s"]["gno"] == {**old.get("s", {}).get("gno", {}), **ENTRY}
    del data["s"]["gno"]
    old.get("s", {}).pop("gno", None)
    assert {**data, "s": data["s"] or old.get("s")} == {**old, "s": old.get("s")}
    assert toml_table.with_table(changed, ("s", "gno"), ENTRY) == changed


@pytest.mark.parametrize("text", ["s = 1\n", "s = { gno = [] }\n", "a = \n"])
def test_a_layout_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(Unfit):
        toml_table.with_table(text, ("s", "gno"), ENTRY)
