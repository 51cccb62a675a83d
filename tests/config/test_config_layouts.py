"""Random layouts and edits: an edit never fails, and never loses a comment outside the removed part."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gnod.config import edit
from gnod.config.load import load
from gnod.config.model import CollectionConfig
from gnod.config.splice import quote


def names(path: Path) -> list[str]:
    return [collection.name for collection in load(path).config.collections]


@st.composite
def layouts(draw: st.DrawFn) -> str:
    """Draw a file of collections c0, c1, … in some style, with a numbered comment wherever one is possible."""
    comments = iter(range(1000))

    def lines(column: int) -> str:
        kinds = draw(st.lists(st.sampled_from(["blank", "comment"]), max_size=2))
        return "".join("\n" if kind == "blank" else f"{' ' * column}# <{next(comments)}>\n" for kind in kinds)

    def tail() -> str:
        return draw(st.sampled_from(["", "  "])) and f"  # <t{next(comments)}>"

    column = draw(st.sampled_from([0, 2, 4]))
    text = lines(0) + f"collections:{tail()}\n"
    for index in range(draw(st.integers(1, 4))):
        text += lines(column) + " " * column
        if draw(st.booleans()):
            text += f"- {{name: c{index}, path: /p}}{tail()}\n"
            continue
        gap = draw(st.sampled_from([" ", "   "]))
        inner = " " * (column + 1 + len(gap))
        value = draw(st.sampled_from(["/p", "'/p'", '"/p"', "|-\n     " + inner + "/p", "/p\n " + inner + "q"]))
        last = draw(st.sampled_from(["", f"{inner}language:\n", f"{inner}exclude:\n{inner}- a\n{inner}- b\n"]))
        text += f"-{gap}name: c{index}{tail()}\n{inner}path: {value}\n{last}"
    return text + lines(0) + draw(st.sampled_from(["", "watch: {}\n# <end>\n", "...\n"]))


def lost(lines: list[str], path: Path) -> list[str]:
    text = path.read_text()
    return [line for line in lines if line.strip() and line not in text]


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(layouts(), st.data())
def test_any_layout_survives_any_edits(path: Path, text: str, data: st.DataObject) -> None:
    path.write_text(text)
    for step in range(3):
        known = names(path)
        before = path.read_text().split("\n")
        if bool(known) and data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(known))
            edit.remove_collection(path, gone)
            assert names(path) == [name for name in known if name != gone]
        else:
            edit.add_collection(path, CollectionConfig(name=f"new{step}", path="/new"))
            assert names(path) == [*known, f"new{step}"]
            assert lost([line.replace(" []", "") for line in before], path) == []
        own_lines = [line for line in before if line.startswith("#") or line.strip().startswith("# <")]
        assert lost(own_lines, path) == []


@pytest.mark.slow
@settings(max_examples=100)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.from_regex(r"[a-z0-9/~ .:+_-]{1,6}", fullmatch=True)
)
def test_a_quoted_string_is_that_string_to_every_reader(text: str) -> None:
    for version in ("1.1", "1.2"):
        yaml = YAML(typ="safe", pure=True)
        yaml.version = version
        assert yaml.load(f"- [{quote(text)}]\n- k: {quote(text)}\n") == [[text], {"k": text}]
