"""Cut text into index terms.

One pattern finds *compounds*: words, and words joined by the characters that identifiers are made of
(`snake_case`, `node.js`, `foo::bar`, `user@example.com`, `a/b/c.md`, `real-time`). Each compound gives

* its *parts*, stemmed, in order; phrases consist of parts (`real time`, `snake case`, `node js`);
* its *whole*, if it is an identifier (a joiner other than hyphen and apostrophe, camelCase, or letters followed by
  digits). Wholes come after all parts in the stream, so that they do not interrupt phrases. In prose, a name with two
  humps (`GitHub`) is one word; in code (`TokenBucket`) it is an identifier;
* other *spellings*, which end with SPELLED: `plugin=` for `plug-in`, and a word as it is typed without diacritics, if
  that has another stem. So are numbers and dates (gnod.analysis.figures), symbols (`§`, `→`) and words after a sign
  (`.NET`, `--force`). A text has each of them once, after all other terms.

Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese do not separate words by spaces: their runs become overlapping
pairs of characters. The last character is added by itself, so that a prefix of one character finds every place.

Words keep their combining marks: without them, nDCG for Hindi drops by a fifth.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, cached_property
from importlib import resources
from typing import NamedTuple

from gnod.analysis.figures import figures
from gnod.analysis.stemming import Folds, Stem, fold, normalise, of_all, stemming_language
from gnod.caches import Computed

# The version is a part of the index. Increase it when the same text gives other terms, or another language: indexes are
# then rebuilt.
VERSION = 8

MAX_TERM_CHARACTERS = 64
# The last character of the terms of other spellings. No other term ends with it.
SPELLED = "="


_WORD_CATEGORIES = re.compile("[LNM]+")  # letters, numbers and marks


def _word_characters(codes: range) -> str:
    r"""Return the body of a character class: `\w` without the underscore and with all combining marks."""
    categories = "".join([unicodedata.category(char)[0] for char in map(chr, codes)])
    ranges = (found.span() for found in _WORD_CATEGORIES.finditer(categories))
    return "".join(f"{chr(codes[start])}-{chr(codes[end - 1])}" for start, end in ranges)


def _compound_pattern(word_characters: str) -> re.Pattern[str]:
    word, sign = f"[{word_characters}]++", r"(?:\+\+|\#(?!\w))?"
    # Nothing follows most words, which one test can tell.
    more = rf"(?=[-.:/\\@'’&_+\#]){sign}(?:(?:::|://|_+|[-.:/\\@'’&]){word}{sign})*"
    return re.compile(f"{word}(?:{more})?")


# Which pattern a text needs, by its characters: each wider one takes longer to make, so it is made when it is first
# needed. Character classes beyond U+FFFF (rare Han, ancient scripts; not emoji) are ten times slower in `re`.
_ASCII_COMPOUND = _compound_pattern("0-9A-Za-z")
_HIGH_LETTER = re.compile("[\U00010000-\U0001efff\U00020000-\U0003ffff]")

_SPLIT = re.compile(r"::|://|_+|[-.:/\\@'’&]")
_IDENTIFIER_JOINER = re.compile(r"[_.:/\\@&]")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
# A compound with one of these may become several terms, or have a whole.
_NOT_PLAIN = re.compile(rf"[-.:/\\@'’&_+\#A-Z\d{_UNSPACED}]")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
# Names of classes begin with at least this many capitals of an acronym (`HTTPServer`), and `SQLite` with fewer.
_MIN_ACRONYM = 3
_MOST_HUMPS = 2  # of more than one letter
# A longer one is an identifier (`ConnectionError`), or two words of a text that lost the space between them.
_LONGEST_NAME = 13
# Marks of code in prose: fences, backticks, and the bracket of a call.
FENCE = "```"
_BACKTICK_OR_CALL = re.compile(r"`|\w\(")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s\Z")
_LETTERS_DIGITS = re.compile(r"([^\W\d_]+)(\d+)\Z")
_DIGITS_LETTERS = re.compile(r"(\d+)([^\W\d_]{1,3})\Z")
# A longer compound is not written as one word.
_MOST_JOINED, _MOST_JOINED_CHARACTERS = 2, 14
_MIN_ELIDED = 3
_CLITICS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
# Soft hyphens, zero-width and direction marks, variation selectors, skin tones; the points of Hebrew and Arabic, which
# are usually left out, and tatweel.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
)
_APOSTROPHES = "\u00b4\u02b9\u02bb\u02bc\u02bd\u2018\u2019\u201b\u2032\uff07"
_HYPHENS = "\u2010\u2011\u2012\u2212\ufe58\ufe63\uff0d"
_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
# Digits of other scripts, but not superscripts: those are categories of their own.
_DIGITS = re.findall(r"\d", "".join(map(chr, range(0x80, 0x10000))))
# Compatibility forms that are not letters: superscripts, fractions, units. No-break hyphens and spaces are above.
_COMPATIBLE = [
    chr(code)
    for codes in (
        *((0xB2, 0xB3, 0xB9), range(0xBC, 0xBF), range(0x2070, 0x209D), range(0x2100, 0x2116), range(0x2118, 0x211E)),
        *(range(0x2124, 0x2160), range(0x2460, 0x249C), range(0x24EA, 0x2500), range(0x3380, 0x33E0)),
    )
    for code in codes
]
_REGULAR = {
    **dict.fromkeys(_APOSTROPHES, "'"),
    **dict.fromkeys(_HYPHENS, "-"),
    **dict.fromkeys(_SPACES, " "),
    **{digit: str(unicodedata.digit(digit)) for digit in _DIGITS},
    **{each: unicodedata.normalize("NFKC", each).replace("\u2044", "/") for each in _COMPATIBLE},
}
IRREGULAR_CHARACTERS = f"{_INVISIBLE}{''.join(_REGULAR)}"
IRREGULAR = f"[{_INVISIBLE}]+|[{''.join(_REGULAR)}]"
_IRREGULAR = re.compile(f"[{IRREGULAR_CHARACTERS}]")
# Currency, arrows, mathematical and technical symbols, shapes, pictures; not lines and blocks, which draw tables.
_SYMBOL = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}|[\u00a2-\u00a5\u00a7\u00a9\u00ac\u00ae\u00b1\u00b6\u00d7\u00f7\u2020\u2021\u2030\u20a0-\u20cf\u2116\u2117"
    "\u211e-\u2123\u2190-\u244a\u249c-\u24e9\u25a0-\u2775\u2794-\u2bff\u3012\u3013\u3020\u3036\U0001f000-\U0001faff]"
)
# A sign is neither within a word nor one of several, except for `::` and `--`.
_SIGNED = re.compile(
    r"(?:\.|::?|--|[@$^])(?<![\w.:@$^#/\\&)\]][.:@$^#-])(?<![\w.:@$^#/\\&)\]-](?:::|--))"
    r"[^\W\d_]\w*(?:[-_.]\w+)*"
)
# Encoded images and keys of 200 characters and more are not indexed.
_ENCODED_LENGTH = 200
# No term contains this character.
_WHOLE_MARK = "\0"
_WHOLES = re.compile(f"{_WHOLE_MARK}([^{_WHOLE_MARK}]*){_WHOLE_MARK}")
_BLOCK = 1 << 20
_SPACE = re.compile(r"\s")
_ENCODED = re.compile(rf"[A-Za-z0-9+/_\-]{{{_ENCODED_LENGTH},}}={{0,2}}")


def is_unspaced(term: str) -> bool:
    """Tell whether a term is a pair of characters of a script without spaces."""
    return _UNSPACED_CHARACTER.match(term) is not None


def compounds(text: str) -> list[str]:
    """Return the words and joined words of `text`, in order."""
    return _pattern(text).findall(text)


def _pattern(text: str) -> re.Pattern[str]:
    if text.isascii():
        return _ASCII_COMPOUND
    return _high_compound() if _HIGH_LETTER.search(text) else _basic_compound()


@cache
def _basic() -> str:
    return _word_characters(range(0x10000))


@cache
def _basic_compound() -> re.Pattern[str]:
    return _compound_pattern(_basic())


@cache
def _high_compound() -> re.Pattern[str]:
    return _compound_pattern(_basic() + _word_characters(range(0x10000, 0x1F000)) + "\U00020000-\U0003ffff")


@cache
def _segments() -> re.Pattern[str]:
    """Return the pattern of runs with and without spaces between words."""
    return re.compile(f"[{_UNSPACED}][{_UNSPACED}\u0300-\u036f]*|[^{_UNSPACED}]+")


@cache
def word_rest() -> re.Pattern[str]:
    """Return the pattern of the rest of a word from a position inside it, also with characters without width."""
    return re.compile(f"[{_basic()}\u200b]*")


class QueryUnit(NamedTuple):
    """One word, identifier or unspaced run of a query.

    `parts`: consecutive terms. `whole`: the term of the whole identifier. `unspaced`: parts are pairs of characters.
    `spelled`: other spellings, without SPELLED.
    """

    surface: str
    parts: tuple[str, ...]
    whole: str | None = None
    unspaced: bool = False
    spelled: tuple[str, ...] = ()

    def indexed_parts(self) -> tuple[str, ...]:
        """Return the parts as in the index, with the last character of an unspaced run."""
        if self.unspaced and len(self.parts[-1]) > 1:
            return (*self.parts, self.parts[-1][1:])
        return self.parts


class Analyzer:
    """Analyses text of one language. Only one thread may use it. Expensive to create, so keep it. `is_code`: all of a
    text is code; otherwise only what has backticks or is called."""

    def __init__(self, language: str | None = None, *, is_code: bool = False) -> None:
        self.language = stemming_language(language)
        self.is_code = is_code
        self._stem = Stem(self.language)
        self._cache = Computed(self.analyse)
        self._words = Computed(self._word)

    @cached_property
    def for_code(self) -> Analyzer:
        """Return the analyser of code in texts of this language."""
        return self if self.is_code else Analyzer(self.language, is_code=True)

    def stream(self, text: str) -> str:
        """Return the terms of `text` as the space-separated stream that the lexical index stores."""
        parts: list[str] = []
        wholes: list[str] = []
        spelled: dict[str, None] = {}
        for block in _blocks(visible(text)):
            terms = " ".join(filter(None, self._terms_of_block(block)))
            if _WHOLE_MARK in terms:
                found = " ".join(_WHOLES.findall(terms)).split()
                wholes += [term for term in found if term[-1] != SPELLED]
                spelled |= dict.fromkeys([term for term in found if term[-1] == SPELLED])
                terms = _WHOLES.sub("", terms)
            parts.append(terms)
            spelled |= dict.fromkeys(f"{each.form}{SPELLED}" for each in figures(block) if not each.is_written(block))
        return " ".join([*filter(None, parts), *wholes, *spelled])

    def _terms_of_block(self, block: str) -> Iterator[str]:
        """Yield the terms of each word. What is in a fence is code."""
        for number, stretch in enumerate(block.split(FENCE)):
            words = self.for_code._words if number % 2 else self._words
            yield from map(words.__getitem__, stretch.split())

    def units(self, text: str) -> list[QueryUnit]:
        """Return what a query asks for, compound by compound. Analysers of all languages return the same units with the
        same number of parts; only the terms differ."""
        shown = visible(text)
        marked = [QueryUnit(sign, (_signed(sign),)) for sign in signs(shown)]
        return [unit for compound in compounds(shown) for unit in self._units(compound)] + marked

    def terms_of(self, compound: str) -> tuple[str, str]:
        """Return the parts and the wholes of one compound, each space-separated."""
        return self._cache[compound]

    def analyse(self, compound: str) -> tuple[str, str]:
        """Do as `terms_of`, without the cache."""
        if compound.isascii() and compound.isalpha() and (compound[1:].islower() or compound.isupper()):
            return self._stem(compound)[:MAX_TERM_CHARACTERS], ""  # this is true of most words
        units = self._units(compound)
        parts = " ".join([part for unit in units for part in unit.indexed_parts()])
        wholes = [unit.whole for unit in units if unit.whole]
        return parts, " ".join(wholes + [f"{other}{SPELLED}" for unit in units for other in unit.spelled])

    def _word(self, word: str) -> str:
        """Return the terms of the text between two spaces. Wholes, which come at the end of a stream, are in marks."""
        if not self.is_code and _BACKTICK_OR_CALL.search(word):
            return self.for_code._words[word]
        if len(word) >= _ENCODED_LENGTH:
            word = _ENCODED.sub(" ", word)
        found = [self._cache[compound] for compound in compounds(word)]
        parts = " ".join([part for part, _ in found if part])
        signed = [] if word.isalnum() else map(_signed, signs(word))
        wholes = " ".join([*[whole for _, whole in found if whole], *signed])
        return f"{parts}{_WHOLE_MARK}{wholes}{_WHOLE_MARK}" if wholes else parts

    def _units(self, compound: str) -> list[QueryUnit]:
        if not compound.isascii():
            compound = unicodedata.normalize("NFC", compound)
            if _UNSPACED_CHARACTER.search(compound):
                return [unit for segment in _segments().findall(compound) for unit in self._segment(segment)]
        return self._compound(compound)

    def _segment(self, segment: str) -> list[QueryUnit]:
        if not _UNSPACED_CHARACTER.match(segment):
            return [unit for inner in compounds(segment) for unit in self._compound(inner)]
        run = normalise(segment).translate(simplified())
        pairs = tuple(run[i : i + 2] for i in range(len(run) - 1)) or (run,)
        return [QueryUnit(segment, pairs, unspaced=True)]

    def _compound(self, compound: str) -> list[QueryUnit]:
        words = [word for word in _SPLIT.split(compound) if word]
        is_code = self.is_code or _IDENTIFIER_JOINER.search(compound) is not None
        parts = [part for word in words for part in self._word_parts(word, is_code=is_code)]
        if len(words) > 1 and parts and parts[0] == "v" and words[0][1:].isdigit():
            del parts[0]  # `v1.2.3` is the version 1.2.3
        if not parts:
            return []
        spelled = self._spelled(compound, words) if len(words) > 1 or not compound.isascii() else ()
        return [QueryUnit(compound, tuple(parts), self._whole(compound, words, parts), spelled=spelled)]

    def _spelled(self, compound: str, words: list[str]) -> tuple[str, ...]:
        """Return the other spellings of a word, or of words with hyphens or apostrophes."""
        if len(words) == 1:
            typed = self._stem.typed(compound) if compound.isalpha() else None
            return (typed[:MAX_TERM_CHARACTERS],) if typed else ()
        if _IDENTIFIER_JOINER.search(compound):
            return ()
        joined = "".join(words)
        if len(words) > _MOST_JOINED or len(joined) > _MOST_JOINED_CHARACTERS or not joined.isalpha():
            return ()
        # Not `user's` and `l'eau`: nobody writes them as one word.
        if "'" in compound and (words[-1].lower() in _CLITICS or (len(words[0]) < _MIN_ELIDED and words[0].islower())):
            return ()
        return (self._stem(joined),)

    def _whole(self, compound: str, words: list[str], parts: list[str]) -> str | None:
        if len(compound) > MAX_TERM_CHARACTERS:
            return None
        if _IDENTIFIER_JOINER.search(compound):
            return fold(normalise(compound))
        # The term of `GitHub` must equal that of `github`.
        return self._stem(compound) if len(words) == 1 and len(parts) > 1 else None

    def terms_of_plain(self, words: Sequence[str], folds: Folds) -> list[str]:
        """Return the terms of words of small letters, normalised."""
        return [term[:MAX_TERM_CHARACTERS] for term in self._stem.of_each(words, folds)]

    def _word_parts(self, word: str, *, is_code: bool) -> list[str]:
        """Return the terms of one word of a compound."""
        if word[-1] in "+#":
            return [fold(normalise(word))[:MAX_TERM_CHARACTERS]]
        return [term for piece in _pieces(word, is_code=is_code) if (term := self._stem(piece)[:MAX_TERM_CHARACTERS])]


def terms_of_many(
    words: Collection[str],
    analyzers: Sequence[Analyzer],
    possible: Callable[[str], Collection[str]] | None = None,
) -> dict[str, set[str]]:
    """Return the terms of each of many compounds in any of the languages. Keeps nothing: most are not seen again.
    `possible` returns those of the words that a language may have; None: each may have all."""
    found: dict[str, set[str]] = {word: set() for word in words}
    plain = _plain(words)
    folds = Folds()
    for analyzer in analyzers:
        asked = possible(analyzer.language) if possible else words
        forms = [plain[word] for word in asked if word in plain]
        for word, term in zip(filter(plain.__contains__, asked), analyzer.terms_of_plain(forms, folds), strict=True):
            found[word].add(term)
        for word in asked:
            if word not in plain:
                found[word].add(analyzer.analyse(word)[0])
    return found


def _plain(words: Collection[str]) -> dict[str, str]:
    """Return what is stemmed of words of small letters, which give one term each. Other compounds are left out."""
    others = [word for word in words if not word.isascii() and not _NOT_PLAIN.search(word)]
    forms = of_all(lambda joined: unicodedata.normalize("NFC", normalise(joined)), others)
    found = {word: word for word in words if word.isascii() and word.isalpha() and word.islower()}
    return found | {word: form for word, form in zip(others, forms, strict=True) if not form.isascii()}


def _blocks(text: str) -> Iterator[str]:
    """Yield the text in blocks that end at white space. A list of all words takes forty times its memory."""
    start = 0
    while len(text) - start > _BLOCK:
        gap = _SPACE.search(text, start + _BLOCK)
        end = gap.start() if gap else len(text)
        yield text[start:end]
        start = end
    yield text[start:]


def visible(text: str) -> str:
    """Remove invisible characters, which do not separate words, and write digits, spaces, hyphens, apostrophes and
    compatibility forms in one way."""
    return text if text.isascii() else _IRREGULAR.sub(regular, text)


def regular(found: re.Match[str]) -> str:
    """Return what `visible` writes for a match of IRREGULAR."""
    return _REGULAR.get(found[0], "")


def signs(text: str) -> list[str]:
    """Return the symbols of a text, and the words after a sign."""
    found = _SIGNED.findall(text)
    return found if text.isascii() else found + _SYMBOL.findall(text)


def _signed(sign: str) -> str:
    return f"{fold(normalise(sign))[:MAX_TERM_CHARACTERS]}{SPELLED}"


def is_searchable(text: str) -> bool:
    """Tell whether a text has a word, a number or a symbol."""
    return any(map(str.isalnum, text)) or _SYMBOL.search(text) is not None


@cache
def simplified() -> dict[int, int]:
    """Return the simplified form of traditional Chinese characters (from OpenCC, TSCharacters). Others are the same."""
    traditional, simple = (resources.files("gnod.analysis") / "traditional.txt").read_text(encoding="utf-8").split()
    return dict(zip(map(ord, traditional), map(ord, simple), strict=True))


def spelled_places(text: str, analyzers: Sequence[Analyzer]) -> dict[str, list[tuple[int, int]]]:
    """Return where a visible text has the terms of other spellings."""
    places: dict[str, list[tuple[int, int]]] = {}
    for each in figures(text):
        places.setdefault(f"{each.form}{SPELLED}", []).append((each.start, each.end))
    for found in (*_SIGNED.finditer(text), *_SYMBOL.finditer(text)):
        places.setdefault(_signed(found[0]), []).append(found.span())
    for found in _pattern(text).finditer(text):
        if "-" in found[0] or "'" in found[0] or not found[0].isascii():
            for term in {t for analyzer in analyzers for t in analyzer.terms_of(found[0])[1].split()}:
                places.setdefault(term, []).append(found.span())
    return places


def is_name(word: str) -> bool:
    """Tell whether a word with humps is one word in prose, as names of products and persons are, and not of functions.

    >>> [word for word in ("GitHub", "iPhone", "LaTeX", "getUser", "OpenAPIDocument", "HTTPServer") if is_name(word)]
    ['GitHub', 'iPhone', 'LaTeX']
    """
    if not _CAMEL.search(word) or len(word) > _LONGEST_NAME or not word.isalnum() or _PLURAL_ACRONYM.match(word):
        return False
    pieces = [piece for piece in _HUMP.findall(word) if piece.isalpha()]
    first, is_long = pieces[0], [len(piece) > 1 for piece in pieces]
    begins_like_code = (is_long[0] and first.islower()) or (len(first) >= _MIN_ACRONYM and first.isupper())
    return not begins_like_code and sum(is_long) <= _MOST_HUMPS


def _pieces(word: str, *, is_code: bool) -> list[str]:
    """Cut camelCase humps and trailing numbers apart."""
    if word.isdigit() or (word.isalpha() and (word[1:].islower() or word.isupper())):
        return [word]  # this is true of most words
    if _PLURAL_ACRONYM.match(word):
        return [word[:-1]]  # such as PDFs and APIs, which stemmers do not handle
    if _CAMEL.search(word) and (is_code or not is_name(word)):
        return _camel_pieces(word)
    if match := _LETTERS_DIGITS.match(word) or _DIGITS_LETTERS.match(word):
        return [match[1], match[2]]
    return [word]


def _camel_pieces(word: str) -> list[str]:
    pieces = _HUMP.findall(word)
    # The pattern has ASCII letters only, so a word with others stays whole.
    return pieces if sum(map(len, pieces)) == len(word) else [word]
