"""Test tags and properties in the text of notes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest.reading.cpu_time import limit_cpu_time
from gnod.ingest.text import inline_fields
from gnod.store.tables.records import PreparedDocument
from tests.small_index import prepared

NOT_TAGS = """
# Heading
## Heading
#123
#1984.
##twice
https://example.org/x#fragment
[text](#anchor)
[ref]: #anchor
[[Note#Heading]]
[[#Heading]]
[[Note #with space]]
<a href="x #y">
color:#fff;
"#quoted"
(#bracketed)
\\#escaped
a#b
C# and F#
#
# #
#-
#!/bin/sh
`#code`
`` a `b` #code ``
<!-- #hidden -->
"""


@pytest.mark.parametrize("text", NOT_TAGS.strip().split("\n"))
def test_what_is_not_a_tag(text: str) -> None:
    assert prepared(f"Text\n\n{text}\n", "a.md").tags == []


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#begin and #end", ["begin", "end"]),
        ("one (see #two), #three. #four!", ["two", "three", "four"]),
        ("- #item\n> #quote\n| #cell |\n## Heading #five", ["item", "quote", "cell", "five"]),
        ("#Voyage/Faroe #kebab-case #snake_case", ["Voyage/Faroe", "kebab-case", "snake_case"]),
        ("#y1984 #2024/05", ["y1984", "2024/05"]),
        ("#[[two words]] and #[[a/b c]]", ["two words", "a/b c"]),
        ("#тег, #日本語。後 #کتاب‌ها #Ελληνικά.", ["тег", "日本語", "کتاب‌ها", "Ελληνικά"]),
        ("#✅ #a #A", ["✅", "a"]),
        ("#fff", ["fff"]),  # Obsidian counts this as a tag
        ("```\n#code\n```\n#after", ["after"]),
        ("    #indented code\n\n- item\n\n    #in-item", ["in-item"]),
        ("tags:: one, [[two]], #three", ["one", "two", "three"]),
    ],
)  # fmt: skip
def test_tags_in_the_text(text: str, tags: list[str]) -> None:
    assert sorted(prepared(f"Text\n\n{text}\n", "a.md").tags) == sorted(tags)


def test_tags_of_the_frontmatter_come_first() -> None:
    assert prepared("---\ntags: [b, a]\n---\n#c #A tags::\n\ntags:: d\n", "x.md").tags == ["b", "a", "d", "c"]


def test_only_notes_have_inline_fields() -> None:
    assert prepared("# one\nx = 1  #two\n", "a.py").tags == []


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("status:: open", {"status": "open"}),
        ("**Due date**:: 2026-05-04", {"Due-date": "2026-05-04"}),
        ("- status:: open\n- status:: done", {"status": ["open", "done"]}),
        ("- block\n  status:: open", {"status": ["open"]}),
        ("- [ ] task [due:: 2026-05-04] (owner:: [[People/Ada|she]])", {"due": ["2026-05-04"], "owner": ["Ada"]}),
        ("done:: true\nrating:: 4.5\npages:: 300\nversion:: 1.10\nid-number:: 007", {
            "done": True, "rating": 4.5, "pages": 300, "version": "1.10", "id-number": "007",
        }),
        ("type:: #book #Paper", {"type": ["book", "Paper"]}),
        ("up:: [[A]], [[b/C]]", {"up": ["A", "C"]}),
        ("категория:: книги\n类型:: 书", {"категория": "книги", "类型": "书"}),
        ("std::vector and a::b, foldr :: (a -> b)\nx::\n", {}),
        ("see (std::move) and [a::b]", {}),
        ("a sentence with many words:: is prose", {}),
        ("id:: 65f\ncollapsed:: true\nlogseq.order-list-type:: number", {}),
        ("`key:: value`\n```\nkey:: value\n```", {}),
        ("http://a:: b", {}),
    ],
)  # fmt: skip
def test_properties_in_the_text(text: str, properties: dict[str, object]) -> None:
    assert prepared(f"Text\n\n{text}\n", "a.md").metadata == properties


def test_the_frontmatter_wins() -> None:
    assert prepared("---\nstatus: open\n---\nstatus:: done\nx:: 1\n", "a.md").metadata == {"status": "open", "x": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "#" * 100_000,
        "#a " * 100_000,
        " ".join(f"#t{number}" for number in range(100_000)),
        "a:: " * 30_000,
        "a:: b\n" * 50_000,
        "[k:: " * 900 + "\n" + "(k:: " * 900,
        ("x " * 2_400 + ":: x\n") * 20,
        "[[" * 50_000 + "#",
        "<a " * 50_000 + " #b",
        "*a" * 2_000 + ":: b",
        "---\ntags: [" + ",".join(f"t{number}/x/y" for number in range(10_000)) + "]\n---\n",
    ],
    ids=lambda text: text[:6],
)
@pytest.mark.stress
def test_hostile_notes_are_bounded(text: str) -> None:
    with limit_cpu_time(10):  # the slowest takes 1 s, for its frontmatter
        found: PreparedDocument = prepared(text, "a.md")
    assert len(found.tags) <= 1000 >= len(found.metadata)


WORDS = st.sampled_from(
    ["#", "a", "b/c", "1", " ", "\n", "::", ":: ", "[", "]", "(", ")", "- ", "*", "\0", "é", "#a", "> "]
)


@given(st.lists(WORDS, max_size=40).map("".join))
def test_any_text_gives_tags_that_it_has(text: str) -> None:
    found = inline_fields.find(text)
    for tag in found.tags:
        assert re.search(rf"(?:^|\s)#{re.escape(tag)}", re.sub("/+", "/", text))
        assert not tag.isdigit()
