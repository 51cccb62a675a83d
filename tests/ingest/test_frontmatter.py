from __future__ import annotations

import io
import json
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gnod.ingest.text import frontmatter


def test_values_are_plain_data() -> None:
    text = "---\ntitle: A\ntags: [x, Y]\ndate: 2026-01-02\nn: 3\n---\n# Body\n"
    metadata, start = frontmatter.parse(text)
    assert metadata == {"title": "A", "tags": ["x", "Y"], "date": "2026-01-02", "n": 3}
    assert text[start:] == "# Body\n"


@pytest.mark.parametrize(
    "text",
    [
        '---\ntitle: "unclosed\ntags: [a, b\n---\n\n# Body\n',
        "---\ntitle: never closed\n\n# Body\n",
        "---\n- a list\n---\n# Body\n",
        '---\nid: !!python/object/apply:os.system ["echo"]\n---\n# Body\n',
        "no frontmatter\n---\na: 1\n---\n",
        "----\na: 1\n----\n",
    ],
)
def test_what_is_no_frontmatter_is_text(text: str) -> None:
    assert frontmatter.parse(text) == ({}, 0)


def test_an_alias_bomb_is_refused_at_once() -> None:
    rows = ["a: &a [x,x,x,x,x,x,x,x,x]"] + [f"{b}: &{b} [{','.join(['*' + a] * 9)}]" for a, b in pairwise("abcdefgh")]
    started = time.process_time()
    assert frontmatter.parse("---\n" + "\n".join(rows) + "\n---\n# Body\n") == ({}, 0)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("value", "tags"),
    [
        ("#Auth, postgres", ["auth", "postgres"]),
        (["A", "a", 7, None, {"x": 1}], ["a", "7"]),
        ({"a": 1}, []),
        (None, []),
    ],
)
def test_tags(value: object, tags: list[str]) -> None:
    assert frontmatter.tags({"tags": value}) == tags


scalars = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="&*"), max_size=8)
    | st.integers()
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.none()
    | st.dates()
)
blocks = st.dictionaries(
    st.text("abcé-_ ", min_size=1, max_size=6), scalars | st.lists(scalars, max_size=3), max_size=5
)


@given(
    st.lists(st.sampled_from(["a: ", "- ", "\n", "  ", "[", "]", "{b: ", "}", '"', "'", "|", "#", "2", "x"])).map(
        "".join
    )
)
def test_any_block_is_read_or_left(block: str) -> None:
    text = f"---\nk: {block}\n---\nbody\n"
    metadata, start = frontmatter.parse(text)
    assert text[start:].endswith("body\n")
    assert start or not metadata
    json.dumps(metadata)


@given(blocks)
def test_any_mapping_is_read(block: dict[str, object]) -> None:
    stream = io.StringIO()
    YAML(typ="safe", pure=True).dump(block, stream)
    text = f"---\n{stream.getvalue()}---\nbody\n"
    metadata, start = frontmatter.parse(text)
    assert text[start:] == "body\n"
    assert metadata.keys() == block.keys()
    json.dumps(metadata)


def test_escapes_as_in_json_are_characters() -> None:
    head = frontmatter.parse('---\ntitle: "\\ud83d\\ude42 \\ud83d"\n"\\udc00": x\n---\n')
    assert head.metadata == {"title": "\U0001f642 \ufffd", "\ufffd": "x"}
