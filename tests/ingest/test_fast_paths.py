"""What most texts take a short way to gives the same as the rule, written out in one expression."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from hypothesis import example, given
from hypothesis import strategies as st

from gnod.analysis import alphabets, prose, terms
from gnod.ingest.text import canonical, outline
from gnod.ingest.text.canonical import canonicalise

_WORDS = """
    word The it's a_b _a a_ __ x.y a@b a/b 1a 12 a1_b C++ C# C#x http://x.y <b> < > ` ``` ~~~ === ==== é ﬁ — ’ „ ё 漢字
    ǆ İ :: :// . - ... = a::b 𝐚 | (x) & \\
"""
_SPACED = ["# ", "## a #", "###", "#", " ", "\n", "\n\n", "\t", "\u0301", "\xa0", "   # b", "    # c"]
_ODD = ["\u2028", "\x1c", "\x85", "\u200b", "a" * 210]
_PIECES = st.sampled_from([*_WORDS.split(), *_SPACED, *_ODD])
_TEXTS = st.one_of(st.lists(_PIECES, max_size=60).map("".join), st.text(max_size=60))

# The rules.
_NOT_PROSE = re.compile(r"https?://\S+|`[^`\n]*`|<[^>\n]*>|\w+[_/.@]\w+\S*|[#*|=\-_>\[\](){}]+|\d+")
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_WORD = rf"[{terms._basic()}]+(?:\+\+|\#(?!\w))?"
_COMPOUND = re.compile(rf"{_WORD}(?:(?:::|://|_+|[-.:/\\@'’&]){_WORD})*")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+")
_ENCODED = re.compile(r"[A-Za-z0-9+/_\-]{200,}={0,2}")


@given(_TEXTS, st.integers(1, 40))
@example("a `b c` d", 1)
@example("a <b c> d", 1)
@example("~~~\na b\n~~~", 1)
@example("#_aa_b", 1)
def test_the_sample_of_prose(text: str, times: int) -> None:
    head = (text * times)[: prose.SAMPLE_CHARACTERS * 6]
    expected = " ".join(_NOT_PROSE.sub(" ", _FENCED.sub(" ", head)).split())[: prose.SAMPLE_CHARACTERS]
    assert prose.prose_sample(text * times) == expected


@given(_TEXTS)
def test_without_other_letters_a_text_may_be_english(text: str) -> None:
    if not alphabets.has_other_letters(f"the {text}"):
        assert "en" in alphabets.candidates(f"the {text}")


@given(_TEXTS)
@example("a" * 200 + " b")
@example("TheThe(x) TheThe `TheThe`")
@example("x " * 150 + "a" * 199)
def test_terms(text: str) -> None:
    pattern = terms._ASCII_COMPOUND if text.isascii() else terms._basic_compound()
    assert pattern.findall(text) == _COMPOUND.findall(text)
    stream = terms.Analyzer("en").stream(text)
    analysed = list(_analysed(terms.visible(text)))
    expected = [" ".join(parts for parts, _ in analysed), *[whole for _, whole in analysed if whole]]
    # Other spellings are added once, wherever they are.
    kept = [term for term in " ".join(expected).split() if not term.endswith(terms.SPELLED)]
    assert [term for term in stream.split() if not term.endswith(terms.SPELLED)] == kept


def _analysed(shown: str) -> Iterator[tuple[str, str]]:
    plain, code = terms.Analyzer("en"), terms.Analyzer("en", is_code=True)
    for number, stretch in enumerate(shown.split(terms.FENCE)):
        for word in stretch.split():
            is_code = number % 2 or terms._BACKTICK_OR_CALL.search(word)
            analyser = code if is_code else plain
            yield from (analyser.analyse(each) for each in terms.compounds(_ENCODED.sub(" ", word)))


@given(_TEXTS)
@example("a \r\n b\x7f\n\tc\xa0\n")
@example("e\x00\u0301 \ufeff \ud800")
def test_the_canonical_text(text: str) -> None:
    kept = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).lstrip("\ufeff")
    encodable = kept.encode("utf-8", "replace").decode("utf-8")
    letters = "".join(unicodedata.normalize("NFKC", c) if "\ufb00" <= c <= "\ufb06" else c for c in encodable)
    composed = unicodedata.normalize("NFC", letters)
    assert canonical._cleaned(text) == "\n".join(line.rstrip() for line in composed.split("\n"))


@given(_TEXTS)
@example("# a\n\nb # c\n   ## d ##\n    # e\n#f\n# \n")
@example("a\n===\nb\n==\n\n```\n# c\n```\n# d\n")
def test_headings(text: str) -> None:
    text = canonicalise(text)
    found = outline.outline(text)
    atx_heading = re.compile(rf"^{outline._HEADING}$", re.MULTILINE)
    atx = [(m.start(), len(m["mark"])) for m in atx_heading.finditer(text, 0, found.end)]
    underlined = [(m.start(), 1) for m in outline._UNDERLINED.finditer(text, 0, found.end)]
    outside = [each for each in sorted(atx + underlined) if not any(a <= each[0] < b for a, b in found.fences)]
    assert [(each.start, each.level) for each in found.headings] == outside
