"""Snippets as a reader sees them: without markup, with the marks on the same words, and with the same lines."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnod.search.passages.plain_text import plain

PIECES = [
    "word ",
    "two words ",
    "\n",
    "\n\n",
    "# ",
    "- [ ] ",
    "1. ",
    "> ",
    "> [!danger] ",
    "| a | b |\n| --- | :-: |\n| c | d |\n",
    "a | b\n",
    "**",
    "*",
    "_",
    "==",
    "~~",
    "`",
    "```\n",
    "    ",
    "[",
    '](https://example.org/x_y "title")',
    "](",
    "][ref]",
    "![",
    "[[Note]]",
    "[[Note#Part|alias]]",
    "![[x.png|100]]",
    "[^1]",
    "[^1]: ",
    "[ref]: https://example.org\n",
    "%%",
    "<!--",
    "-->",
    '<div class="c">',
    "</div>",
    "<br>",
    "<https://example.org/>",
    "$x_1$",
    "\\",
    " ^block-1\n",
    "---\n",
    "key: value\n",
    "  - item\n",
]
markdown = st.lists(st.sampled_from(PIECES), max_size=20).map("".join)
metadata = st.lists(st.sampled_from([*PIECES[-2:], "tags: []\n", "a: [b, 'c']\n", 'q: "[[Note|alias]]"\n']), max_size=6)
texts = markdown | st.text(alphabet="ab \n*_`[](){}|<>!#%$-:\"'~=^\\", max_size=120)
WORD = re.compile(r"[^\W_]+")


def whole(text: str) -> str:
    return plain(text, 0, len(text), [])[0]


@given(texts, st.data())
@example("See [the site](https://example.org)", None)
@example("~~~~python title=example\n", None)
@example("> ```python\nx\n", None)
def test_marks_cover_the_words_that_they_covered(text: str, data: st.DataObject | None) -> None:
    words = [found.span() for found in WORD.finditer(text)]
    marks = words if data is None else [span for span in words if data.draw(st.booleans())]
    shown, moved = plain(text, 0, len(text), marks)
    assert [shown[start:end] for start, end in moved] == [text[start:end] for start, end in marks]


@given(texts)
def test_a_mark_over_several_words_covers_them_all(text: str) -> None:
    words = [found.span() for found in WORD.finditer(text)]
    if words:
        mark = (words[0][0], words[-1][1])
        shown, [(start, end)] = plain(text, 0, len(text), [mark])
        assert "".join(WORD.findall(shown[start:end])) == "".join(WORD.findall(text[slice(*mark)]))


@given(texts, st.integers(0, 150), st.integers(0, 150))
def test_any_part_keeps_its_lines(text: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    if not text.startswith(("---", "{", "+++")):
        assert plain(text, start, end, [])[0].count("\n") == text.count("\n", start, end)


@given(metadata.map("".join), markdown)
def test_metadata_becomes_one_line(head: str, body: str) -> None:
    text = f"---\n{head}---\n{body}"
    shown, _ = plain(text, 0, 4 + len(head), [])
    assert "\n" not in shown
    assert WORD.findall(shown.replace("alias", "Note alias"))[:1] in ([], *([word] for word in WORD.findall(head)))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            '---\ncategories:\n  - "[[Movies]]"\nyear: 1982\nrating: 7\n---\n',
            "categories Movies · year 1982 · rating 7",
        ),
        ('---\ntags: [a, "b c"]\nlast:\nnone: null\ndue: 2026-01-02\n---\n', "tags a, b c · due 2026-01-02"),
        ("---\nauthor:\n  name: Ada\n  born: 1815\nby:\n- x\n- y\n---\n", "author name Ada · born 1815 · by x, y"),
        ('---\nup: "[[Map of x|maps]]"\nsite: https://a.b/c\n---\n', "up maps · site https://a.b/c"),
        ("---\ncover: https://a.b/c_SX300.jpg\nyear: 1982\n---\n", "year 1982"),
        ("---\nyear: 1982\nimage: 'https://a.b/c%20d.WebP?w=300#x'\n---\n", "year 1982"),
        (
            "---\nsite: https://a.b/c.html\nlogo: a.png\nsaid: see https://a.b/c.png\n---\n",
            "site https://a.b/c.html · logo a.png · said see https://a.b/c.png",
        ),
        ('{\n  "image": "https://a.b/c.png",\n  "title": "A boat"\n}\n\nx', "title A boat\nx"),
        ('+++\ntitle = "A boat"\nweight = 3\n+++\n', "title A boat · weight 3"),
        ('{\n  "title": "A boat",\n  "tags": ["a", "b"]\n}\n\nx', "title A boat · tags a, b\nx"),
        ("> [!danger] Look *here*\n> and there", "Look here\nand there"),
        ("> [!tip]-\n> - [x] text", "tip\n- ☑ text"),
        ("| a | **b** |  |\n| --- | :-: | - |\n| `x` | [[y\\|z]] | d\\|e |", "a · b\n\nx · z · d|e"),
        ("a | b\n--- | ---\n1 | 2", "a · b\n\n1 · 2"),
        ("this | that", "this | that"),
        ('[the *docs*](http://x.y/z_(a) "t"), [a][ref], [b][], [c]', "the docs, a, b, [c]"),
        ("[[Note#Head|alias]] [[Note#Head]] [[#Head]] [[a#^b1]]", "alias Note > Head Head a"),
        ("![[x.png|100]] ![](a/b.png) ![alt](q) [![badge](https://i/m.svg)](https://l)", "x.png b.png alt badge"),
        ("text[^1] goes on ^abc-1\n\n[^1]: A note.\n[ref]: http://x.y 'title'", "text goes on \n\nA note.\n"),
        (
            "__b__ _i_ snake_case_name 2*3*4 a * b ***x*** **y *z*** ~~no~~ ==hi==",
            "b i snake_case_name 2*3*4 a * b x y z no hi",
        ),
        ("un**believ**able **unclosed a == b", "unbelievable **unclosed a == b"),
        ("## Heading ##\ntext\n====\n***", "Heading\ntext\n\n"),
        ("a %%hidden%% b <!-- c --> x<br>y <b>z</b> Vec<String>", "a  b  x y z Vec<String>"),
        ("<https://e.x/y> caf&eacute; &lt;b&gt; \\*x\\*", "https://e.x/y café <b> *x*"),
        ("$a_1 * b_2$, $$\\frac{a}{b}_x$$, $5 or $6", "$a_1 * b_2$, $$\\frac{a}{b}_x$$, $5 or $6"),
        ("```python\n**x** | y  # [a](b)\n```\nafter **b**", "\n**x** | y  # [a](b)\n\nafter b"),
        ("~~~\n# x\n~~~", "\n# x\n"),
        ("text\n\n    code **x**\n\n    more **y**\n\n**z**", "text\n\n    code **x**\n\n    more **y**\n\nz"),
        ("- item\n\n    still *item*", "- item\n\n    still item"),
        ("`` a ` b `` and `*c*`", " a ` b  and *c*"),
    ],
)
def test_what_a_reader_sees(text: str, shown: str) -> None:
    assert whole(text) == shown


@pytest.mark.parametrize(
    ("text", "word", "shown"),
    [
        ("See [site](https://harbour.example/x).", "harbour", "See site (https://harbour.example/x)."),
        ("[[Movies|films]]", "Movies", "Movies (films)"),
        ("![](a/harbour.png)", "harbour", "(a/harbour.png)"),
        ("> [!danger] Look", "danger", "danger Look"),
        ("a %%harbour%% b", "harbour", "a %%harbour%% b"),
        ("<div class='harbour'>x</div>", "harbour", "<div class='harbour'>x"),
        ("---\ntags: []\n---\n", "tags", "tags"),
        ("---\ncover: https://a.b/wreck.jpg\n---\n", "wreck", "cover https://a.b/wreck.jpg"),
    ],
)
def test_what_is_hidden_is_shown_if_it_matched(text: str, word: str, shown: str) -> None:
    start = text.index(word)
    found, [mark] = plain(text, 0, len(text), [(start, start + len(word))])
    assert (found, found[slice(*mark)]) == (shown, word)


def test_a_part_is_read_with_what_is_around_it() -> None:
    link = f"[the {'long ' * 20}link](https://example.org/{'x' * 100})"
    text = f"see {link} and **{'bold ' * 9}end** now\n\n```\n*a*\n\n*b*\n```\n"
    for part, shown in (
        ("long link](https://example", "long link"),
        ("bold end** now", "bold end now"),
        ("*b*", "*b*"),
    ):
        start = text.index(part)
        assert plain(text, start, start + len(part), [])[0] == shown
    row = f"| {'cell ' * 300}| x | y |"
    assert plain(row, len(row) - 9, len(row), [])[0].strip() == "x · y"


@pytest.mark.parametrize(
    "part", ["[", "![", "](", "`", "``a", "*", "_a", "<", "<!--", "%%", "|", "[[", "$", "- ", "> "]
)
def test_hostile_text_takes_no_longer(part: str) -> None:
    text = part * 50_000
    began = time.process_time()
    plain(text, 25_000, 25_280, [])
    assert time.process_time() - began < 0.5
