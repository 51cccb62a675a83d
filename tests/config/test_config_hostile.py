"""Broken and malicious files: time and memory are bounded, no code runs, and only ConfigInvalid is raised."""

from __future__ import annotations

import io
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gnod.config.load import MAX_BYTES, load, parse_text
from gnod.errors import ConfigInvalid

PATH = Path("/nowhere/index.yml")

LAUGHS = 'a0: &a0 ["lol"]\n' + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 20)}]\n" for i in range(1, 30))

WORDS = [
    *("version", "collections", "contexts", "ingest", "watch", "daemon", "models", "name", "path", "scope"),
    *("text", "include", "workers", "gen", "<<"),
]
keys = st.sampled_from(WORDS) | st.text(max_size=4)
scalars = (
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.dates(), st.binary(max_size=4), st.text(max_size=6)),
    st.sampled_from(["a", "/", "a:", "gno://a/b", "/tmp", "~", "slim", "en"]),
)
junk = st.recursive(
    st.one_of(*scalars),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
PIECES = [
    *("collections:", "contexts:", "- ", "name: a", "scope: a:", ", ", ": ", "\n", "\n  ", "&a ", "*a", "!!x ", "<<: "),
    *("%YAML 1.1\n", "---\n", "...\n", "? ", ">-", "0o7", *"{}[]\"'|#\t\\ü\x85\r!"),
]
fragments = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def attempt(text: str) -> None:
    """Parse the text. Both outcomes are correct; any other exception fails the test."""
    with suppress(ConfigInvalid):
        parse_text(text, PATH)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(junk)
def test_any_value_gives_a_config_or_its_faults(value: object) -> None:
    stream = io.StringIO()
    YAML(typ="safe", pure=True).dump(value, stream)
    attempt(stream.getvalue())


@pytest.mark.slow
@settings(max_examples=150)
@given(fragments | st.text(max_size=20))
def test_any_text_gives_a_config_or_its_faults(text: str) -> None:
    attempt(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        LAUGHS,
        LAUGHS + "collections: *a29\n",
        LAUGHS + "collections: [{name: a, path: /a, include: *a29}]\n",
        "a: &a [*a]\ncollections: *a\n",
        "&a {<<: *a, collections: *a}\n",
        "a0: &a0 {k: v}\n"
        + "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 20)}]}}\n" for i in range(1, 30))
        + "models: *a29\n",
        "x: &x [" + "md, " * 1000 + "]\nc: &c {name: a, path: /a, include: *x}\ncollections: [" + "*c, " * 1000 + "]\n",
        "collections: [" + "{}, " * 3000 + "]\n",
        "".join(f"key{i}: 1\n" for i in range(3000)),
        "[" * 20_000,
        "- " * 20_000,
        "{a: " * 5000,
        "a: " + "1" * 100_000,
        "k" * 100_000 + ": 1",
    ],
)
def test_bombs_are_bounded(text: str) -> None:
    began = time.process_time()
    attempt(text)
    assert time.process_time() - began < 3


def test_the_list_of_faults_is_bounded() -> None:
    with pytest.raises(ConfigInvalid, match="and 4800 more faults"):
        parse_text("x: &x {}\ncollections: [" + "*x, " * 2500 + "]\n", PATH)


@pytest.mark.slow
def test_a_visit_limit_stops_what_aliases_multiply() -> None:
    many = "x: &x [" + "md, " * 2000 + "]\nc: &c {name: a, path: /a, exclude: *x}\n"
    with pytest.raises(ConfigInvalid, match="expand to more than 100,000 values"):
        parse_text(many + "collections: [" + "*c, " * 2000 + "]\n", PATH)


def test_an_enormous_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "index.yml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(ConfigInvalid, match="larger than 4 MB"):
        load(path)


def test_python_tags_do_not_run(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    tagged = f'!!python/object/apply:os.system ["touch {marker}"]'
    parse_text(f"x: {tagged}\n", PATH)
    with pytest.raises(ConfigInvalid, match=r"expected a string, got a value tagged '!!python/object/apply"):
        parse_text(f"collections:\n  - name: a\n    path: {tagged}\n", PATH)
    assert not marker.exists()
