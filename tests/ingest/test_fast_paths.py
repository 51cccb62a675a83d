"""Test that the fast paths for most texts give the same results as the rules, each written as one expression."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hypothesis import example, given
from hypothesis import strategies as st

from gnod.analysis import alphabets, prose, terms

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
    # Other spellings are added once per text.
    kept = [term for term in " ".join(expected).split() if not term.endswith(terms.SPELLED)]
    assert [term for term in stream.split() if not term.endswith(terms.SPELLED)] == kept


def _analysed(shown: str) -> Iterator[tuple[str, str]]:
    plain, code = terms.Analyzer("en"), terms.Analyzer("en", is_code=True)
    for number, stretch in enumerate(shown.split(terms.FENCE)):
        for word in stretch.split():
            is_code = number % 2 or terms._BACKTICK_OR_CALL.search(word)
            analyser = code if is_code else plain
            yield from (analyser.analyse(each) for each in terms.compounds(_ENCODED.sub(" ", word)))
