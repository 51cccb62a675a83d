"""Check which parts of a query a model's variant has lost. Pure.

These parts of the query are checked, except its exclusions:

* quoted phrases, literally; in a `lex` variant as phrases, if the query language reads them as phrases;
* numbers, with the signs between their digits, so also versions and dates: `4` is lost in `four`, `3.1` in `3.11`, but
  `version 1.2.3` contains `v1.2.3`;
* identifiers (`node.js`, `snake_case`, `FooBar`, `C++`, `gpt-4`, `--amend`): their parts in sequence, so `Foo bar`
  contains `FooBar`;
* acronyms, unless the whole query is in capitals;
* names: capitalised words that do not begin a sentence, compared by stem (`Berlin's`, `в Москве`). German nouns and
  words of a Title of Many Words are always capitalised, so names are not checked in them;
* negation: the variant must contain a negation, not the same one;
* `-word`: a `lex` variant must exclude it too; other variants must not contain it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gnod.analysis.negations import is_negated, negation
from gnod.analysis.stemming import Stem, fold
from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS
from gnod.analysis.terms import compounds, is_unspaced, visible
from gnod.errors import QuerySyntaxError
from gnod.search.query.parsing import Clause, Subquery, parse_clauses

_QUOTED = re.compile('["“”„«»＂]([^"“”„«»＂]*)["“”„«»＂]')
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_OPTION = re.compile(r"(?<!\S)--([^\W\d_][\w-]*)")
_JOINERS = re.compile(r"[-_.:/\\@&'’+#]+")
_CODE_JOINER = re.compile(r"[_.:\\@&]|/.*/")
_POSSESSIVE = re.compile("['’]s\\Z")
_RUN = re.compile(r"\d+|[^\W\d_]+")
_HUMP = re.compile(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_ACRONYM = re.compile(r"([A-Z]{2,})s?\Z")
_COUNTED = re.compile(r"[\d.:]+-[^\W\d_]")  # such as 10-year
_SENTENCE_END = re.compile("[.!?…:;][\"'“”„«»()]*\\s+[\"'“”„«»(¿¡]*\\Z")
_MARKS = " \"'“”„«»‘’(¿¡"

# Operators of other search engines, which are not acronyms.
_OPERATORS = frozenset({"AND", "OR", "NOT", "NEAR", "UND", "ODER", "NICHT"})
_NO_NAMES = frozenset({"I", "A"}) | _OPERATORS
_NOUNS_HAVE_CAPITALS = frozenset({"de", "lb"})
# A query with this many words of this length, all capitalised, is a title.
_TITLE_WORDS, _TITLE_WORD_LENGTH = 4, 4
# A query with more words, all in capitals, has no acronyms.
_SHOUTED_WORDS = 3


class _QueryText(NamedTuple):
    """`words`: `plain` with spaces instead of characters of unspaced scripts."""

    plain: str
    words: str
    stems: frozenset[str]


_IsIn = Callable[[_QueryText], bool]


def losses(query: str, variant: Subquery, language: str | None) -> list[str]:
    """Return a message for each part of the query that the variant has lost. Empty: it may be used. Accepts any
    text."""
    stem = Stem(language)
    plain = _plain(variant.text)
    words = _spaced(plain)
    text = _QueryText(plain, words, frozenset(map(stem, _words(words))))
    clauses = _parsed(query)
    excluded = [clause for clause in clauses if clause.is_negated]
    # A query without exclusions does not change, so that sentence ends remain.
    kept = _plain(" ".join(clause.text for clause in clauses if not clause.is_negated) if excluded else query)
    lost = [*_lost_phrases(query, clauses, variant, text), *_lost_exclusions(excluded, variant, text, stem)]
    lost += [f"lost {shown!r}" for shown, is_in in _entities(_spaced(kept), language, stem) if not is_in(text)]
    if (word := negation(kept, language)) and not is_negated(plain, language):
        lost.append(f"lost the negation {word!r}")
    return list(dict.fromkeys(lost))


def _parsed(text: str) -> list[Clause]:
    try:
        return parse_clauses(text)
    except QuerySyntaxError:
        return []


def _lost_phrases(query: str, clauses: list[Clause], variant: Subquery, text: _QueryText) -> Iterator[str]:
    phrases = [_plain(clause.text) for clause in clauses if clause.is_phrase and not clause.is_negated]
    if phrases and variant.kind == "lex":
        places = [_plain(each.text) for each in _parsed(variant.text) if each.is_phrase and not each.is_negated]
    else:
        places = [text.plain]
        excluded = {_plain(clause.text) for clause in clauses if clause.is_negated}
        phrases = [phrase for each in _QUOTED.findall(query) if (phrase := _plain(each)) not in excluded]
    for phrase in phrases:
        if _words(phrase) and not any(map(_exact(phrase).search, places)):
            yield f'lost "{phrase}"'


def _lost_exclusions(excluded: list[Clause], variant: Subquery, text: _QueryText, stem: Stem) -> Iterator[str]:
    theirs = {_plain(each.text).lower() for each in _parsed(variant.text) if each.is_negated}
    for clause in excluded:
        plain = _plain(clause.text)
        words = _words(_spaced(plain))
        if variant.kind == "lex":
            if plain.lower() not in theirs:
                yield f"does not exclude {clause.text!r}"
        elif (stem(plain) in text.stems) if words == [plain] else _exact(plain).search(text.plain):
            yield f"contains {clause.text!r}, which the query excludes"


def _entities(query: str, language: str | None, stem: Stem) -> Iterator[tuple[str, _IsIn]]:
    """Yield each number, identifier, acronym and name, with a function that checks whether a text contains it."""
    for number in _NUMBER.findall(query):
        yield number, _matches(rf"(?<!\d)(?<!\d[.,]){re.escape(number)}(?![.,]?\d)")
    for option in _OPTION.findall(query):
        yield f"--{option}", _in_sequence(option, _RUN.findall(option))
    words = compounds(query)
    is_shouted = query.isupper() and len(words) > _SHOUTED_WORDS
    capitals_tell = language not in _NOUNS_HAVE_CAPITALS and not is_shouted and not _is_title(words)
    end = 0
    for compound in words:
        start = query.index(compound, end)
        before, end = query[:start], start + len(compound)
        is_first = not before.strip(_MARKS) or _SENTENCE_END.search(before[-8:]) is not None
        whole = _POSSESSIVE.sub("", compound)
        if pieces := _identifier(whole):
            yield whole, _in_sequence(whole, pieces)
            continue
        for word in _words(whole):
            if (acronym := _ACRONYM.match(word)) and not is_shouted and word not in _OPERATORS:
                yield acronym[1], _matches(f"(?<![A-Za-z])(?i:{acronym[1]})(?:['’]?s)?(?![A-Za-z])")
            elif word[0].isupper() and not is_first and word not in _NO_NAMES and (capitals_tell or len(word) == 1):
                yield word, _has_stem(stem(word))


def _identifier(word: str) -> list[str]:
    """Return the parts of an identifier; empty for other words, such as `and/or`, `e.g`, `v1.2` and `10-year`."""
    runs = _RUN.findall(word)
    letters = [run for run in runs if not run[0].isdecimal()]
    if not letters or letters in (["v"], ["V"]):
        return []
    if word[-1] in "+#":
        return [word]
    if len(runs) > len(letters):
        return [] if _COUNTED.match(word) else _HUMP.findall(word)
    if _CODE_JOINER.search(word):
        return _HUMP.findall(word) if word.isupper() or any(len(run) > 1 for run in letters) else []
    has_humps = any(_CAMEL.search(part) and not _ACRONYM.match(part) for part in _words(word))
    return _HUMP.findall(word) if has_humps else []


def _is_title(words: list[str]) -> bool:
    long = [word for word in words if len(word) >= _TITLE_WORD_LENGTH and word.lower() not in ENGLISH_FUNCTION_WORDS]
    return len(long) >= _TITLE_WORDS and all(word[0].isupper() for word in long)


def _plain(text: str) -> str:
    """Normalise compatibility forms, diacritics and white space. Keeps capitals."""
    return " ".join(fold(unicodedata.normalize("NFKC", visible(text))).split())


def _spaced(text: str) -> str:
    return text if text.isascii() else "".join(" " if is_unspaced(character) else character for character in text)


def _words(text: str) -> list[str]:
    return [word for compound in compounds(text) for word in _JOINERS.split(compound) if word]


def _matches(pattern: str) -> _IsIn:
    compiled = re.compile(pattern)
    return lambda text: compiled.search(text.words) is not None


def _has_stem(stem: str) -> _IsIn:
    return lambda text: stem in text.stems


def _in_sequence(whole: str, pieces: list[str]) -> _IsIn:
    flexible = r"[\W_]{0,3}".join(map(re.escape, pieces))
    return _matches(_bounded(f"{re.escape(whole)}|{flexible}", pieces[0][0], pieces[-1][-1]))


def _exact(text: str) -> re.Pattern[str]:
    return re.compile(_bounded(re.escape(text), text[0], text[-1]))


def _bounded(pattern: str, first: str, last: str) -> str:
    """Return the pattern, ignoring case, at word and number boundaries. Latin letters and unspaced scripts also have a
    boundary between them: JSONの解析 contains JSON."""
    return f"(?<!{_continuation(first)})(?i:{pattern})(?!{_continuation(last)})"


def _continuation(character: str) -> str:
    """Return the class of characters that continue a word or number with this character at its edge."""
    if character.isdecimal():
        return r"\d"
    if character.isascii() and character.isalpha():
        return "[A-Za-z]"
    return r"[^\W_]" if character.isalpha() and not is_unspaced(character) else r"[^\s\S]"
