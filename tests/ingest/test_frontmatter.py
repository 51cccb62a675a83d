from __future__ import annotations

import io
import json
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gnod.ingest.reading.cpu_time import limit_cpu_time
from gnod.ingest.text import frontmatter
from gnod.ingest.text.metadata import tags, without_links


def test_values_are_plain_data() -> None:
    text = "---\ntitle: A\ntags: [x, Y]\ndate: 2026-01-02\nn: 3\n---\n# Body\n"
    metadata, start, _ = frontmatter.parse(text)
    assert metadata == {"title": "A", "tags": ["x", "Y"], "date": "2026-01-02", "n": 3}
    assert text[start:] == "# Body\n"


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: never closed\n\n# Body\n",
        "---\n- a list\n---\n# Body\n",
        "---\nProse between two rules. It goes on\nin more lines.\n---\n# Body\n",
        "no frontmatter\n---\na: 1\n---\n",
        "----\na: 1\n----\n",
        "+++\nProse between two marks.\n+++\n# Body\n",
        '{"a": 1}\n{"b": 2}\n',
        "{not: json}\n# Body\n",
    ],
)
def test_what_is_not_frontmatter_is_text(text: str) -> None:
    assert frontmatter.parse(text) == frontmatter.NONE


LINES = [
    "title: Re: kestrel: second draft",
    "created: 2026-01-02",
    "owner: {{author}}",
    'made: <% tp.date.now("YYYY-MM-DD") %>',
    "rating: *****",
    "note: &c",
    "open: [a, b",
    'quote: "unclosed',
    "at: @home",
    "back: `tick`",
    "share: 50%: half",
    "id: !!python/object/apply:os.system [echo]",
    "due: 2026-02-30",
]
WITHOUT_KEY = ["\tindented: by a tab", "just some words", ": no key"]


@given(st.lists(st.sampled_from(LINES + WITHOUT_KEY), max_size=5), st.integers(0, 5))
def test_bad_lines_do_not_affect_other_lines(lines: list[str], place: int) -> None:
    good = ["tags:", "  - harbour", "status: open"]
    assume(sum(line in WITHOUT_KEY for line in lines) <= len(good))  # with more such lines than keys, a block is prose
    text = "\n".join(["---", *lines[:place], *good, *lines[place:], "status2: open", "---", "body", ""])
    metadata, start, _ = frontmatter.parse(text)
    assert text[start:] == "body\n"
    assert metadata["tags"] == ["harbour"]
    assert metadata["status2"] == "open"
    assert str(metadata["status"]).startswith("open")  # an indented line belongs to the line above


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("v: Re: kestrel: second draft", "Re: kestrel: second draft"),
        ("v: {{author}}", "{{author}}"),
        ("v: *****", "*****"),
        ("v: &c", "&c"),
        ('v: "unclosed', "unclosed"),
        ("v: 1.10", "1.10"),
        ("v: 1.1", 1.1),
        ("v: 007", "007"),
        ("v: 7", 7),
        ("v: 04109", "04109"),
        ("v: 12:30", "12:30"),
        ("v: 2026-02-30", "2026-02-30"),
        ("v: 2026-01-02 10:00", "2026-01-02 10:00"),
        ("v: 1_000", "1_000"),
        ("v: 0x1F", "0x1F"),
        ("v: 1e3", "1e3"),
        ("v: +5", "+5"),
        ("v: yes", "yes"),
        ("v: true", True),
        ("v: 1\nv: 2", 2),
    ],
)
def test_values_stay_as_written(line: str, value: object) -> None:
    assert frontmatter.parse(f"---\n{line}\n---\n").metadata == {"v": value}


def test_below_an_invalid_value_each_line_counts() -> None:
    text = (
        "---\ntags:\n- a\n- b: c: d\n- *x\nshop:\n  name: Re: x\n  open: 007\nlong: >-\n  two\n  lines\nx: y: z\n---\n"
    )
    assert frontmatter.parse(text).metadata == {
        "tags": ["a", "b: c: d", "*x"],
        "shop": {"name": "Re: x", "open": "007"},
        "long": "two lines",
        "x": "y: z",
    }


def test_tags_with_a_hash_are_not_comments() -> None:
    for lines in ("tags: #harbour #pier", "tags:\n  - #harbour\n  - #pier", "tags: [#harbour, #pier]"):
        assert tags(frontmatter.parse(f"---\n{lines}\n---\n").metadata) == ["harbour", "pier"]


@pytest.mark.parametrize(
    ("text", "metadata", "unread"),
    [
        ("---\na: 1\nloose words\n---\n", {"a": 1}, "line 3, `loose words`"),
        ("+++\na = 1.10\nloose words\n[p]\nb = Re: x\nc = 2025-04-05\n+++\n",
         {"a": "1.10", "p": {"b": "Re: x", "c": "2025-04-05"}}, "line 3, `loose words`"),
        ("+++\na = [1, 2\nb = 2\nb = 3\n+++\n", {"a": "[1, 2", "b": 3}, None),
        ('{\n  "a": 1.10,\n  "b": oops,\n  "tags": ["x"],\n  loose\n}\nbody\n',
         {"a": "1.10", "b": "oops", "tags": ["x"]}, "line 5, `loose`"),
        ('{"a": {"b": 1}}\nbody\n', {"a": {"b": 1}}, None),
    ],
)  # fmt: skip
def test_all_syntaxes_lose_only_what_is_not_valid(text: str, metadata: object, unread: str | None) -> None:
    found = frontmatter.parse(text)
    assert found.metadata == metadata
    assert text[found.body_start :] == ("body\n" if text.startswith("{") else "")
    assert (found.unread or "").endswith(unread or "")
    assert bool(found.unread) == bool(unread)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "---\n" + "a: b: c\n" * 8000 + "---\n",
        "---\n" + "".join(f"{' ' * i}k{i}: a: b\n{' ' * i}m:\n" for i in range(200)) + "---\n",
        "---\na: " + "[" * 60_000 + "\n---\n",
        "+++\n" + "[a]\nb\n" * 9000 + "+++\n",
        '{"a\n' * 16_000 + "}\nx",
    ],
)
def test_no_block_takes_long(text: str) -> None:
    with limit_cpu_time(10):
        assert frontmatter.parse(text).body_start in (0, len(text))


def test_an_alias_bomb_is_text() -> None:
    rows = ["a: &a [x,x,x,x,x,x,x,x,x]"] + [f"{b}: &{b} [{','.join(['*' + a] * 9)}]" for a, b in pairwise("abcdefgh")]
    with limit_cpu_time(5):
        metadata = frontmatter.parse("---\n" + "\n".join(rows) + "\n---\n# Body\n").metadata
    assert metadata["b"] == "&b [*a,*a,*a,*a,*a,*a,*a,*a,*a]"


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"tags": "#Auth, postgres"}, ["Auth", "postgres"]),
        ({"tags": ["A", "a", 7, None, {"x": 1}]}, ["A", "7"]),
        ({"Tags": ["a/b/", "#A//B"], "tag": "c"}, ["a/b", "c"]),
        ({"keywords": "x y"}, ["x", "y"]),
        ({"tags": "one, [[a/Two words|2]]", "tag": [["three"]]}, ["one", "Two words", "three"]),
        ({"keywords": "x", "tags": []}, []),
        ({"tags": {"a": 1}}, []),
        ({"tags": None}, []),
    ],
)
def test_tags(metadata: dict[str, object], expected: list[str]) -> None:
    assert tags(metadata) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("[[Books]]", "Books"),
        ("[[Books|my books]]", "Books"),
        ("[[lists/Books.md#To read|x]]", "Books"),
        ("[[#Below]]", "Below"),
        ("[[A]], [[b/C]]", ["A", "C"]),
        ("by [[Ada]] and [[Bob|him]]", "by Ada and Bob"),
        ([["Books"]], "Books"),  # `categories: [[Books]]` in YAML
        ([[["A|x"]], "[[B]]", 7], ["A", "B", 7]),
        ([["a", "b"], ["c"]], [["a", "b"], ["c"]]),
        ({"a": "[[B]]"}, {"a": "B"}),
        ("[[]] [x](y) [[a]", "[[]] [x](y) [[a]"),
    ],
)
def test_links_in_values_count_as_the_names_of_their_targets(value: object, expected: object) -> None:
    assert without_links(value) == expected


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
    metadata, start, _ = frontmatter.parse(text)
    assert text[start:].endswith("body\n")
    assert start or not metadata
    json.dumps(metadata)


@given(blocks)
def test_any_mapping_is_read(block: dict[str, object]) -> None:
    stream = io.StringIO()
    YAML(typ="safe", pure=True).dump(block, stream)
    text = f"---\n{stream.getvalue()}---\nbody\n"
    assume(" ?" not in text and "[?" not in text)  # ruamel writes `{a: ?0}`, and cannot read it
    metadata, start, _ = frontmatter.parse(text)
    assert text[start:] == "body\n"
    assert metadata.keys() == block.keys()
    json.dumps(metadata)


def test_escapes_as_in_json_are_characters() -> None:
    head = frontmatter.parse('---\ntitle: "\\ud83d\\ude42 \\ud83d"\n"\\udc00": x\n---\n')
    assert head.metadata == {"title": "\U0001f642 \ufffd", "\ufffd": "x"}
