"""Split text into index terms.

One pattern finds *compounds*: words, and words joined by characters that are common in identifiers
(`snake_case`, `node.js`, `foo::bar`, `user@example.com`, `a/b/c.md`, `real-time`). Each compound gives

* its *parts*, stemmed, in order; phrases consist of parts (`real time`, `snake case`, `node js`);
* its *whole*, if it is an identifier (a joiner other than hyphen and apostrophe, camelCase, or letters followed by
  digits). Wholes come after all parts in the stream, so that they do not interrupt phrases. In prose, a name with two
  humps (`GitHub`) is one word; in code (`TokenBucket`) it is an identifier;
* other *spellings*, which end with SPELLED: `plugin=` for `plug-in`, and a word typed without diacritics if its stem
  differs. Numbers and dates (gnod.analysis.figures), symbols (`§`, `→`) and words after a sign (`.NET`, `--force`)
  are also terms of this kind. They occur once per text, after all other terms.

Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese do not separate words by spaces, so their runs are split into
overlapping pairs of characters. The last character of a run is also a term, so that a prefix of one character finds
every place.

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

# The index stores this version. Increase it when the same text gives other terms or another language; gnod then
# rebuilds indexes.
VERSION = 8

MAX_TERM_CHARACTERS = 64
# The last character of terms for other spellings. No other term ends with it.
SPELLED = "="


_WORD_CATEGORIES = re.compile("[LNM]+")  # letters, numbers and marks


def _word_characters(codes: range) -> str:
    r"""Return the body of a character class: `\w` without the underscore and with all combining marks."""
    categories = "".join([unicodedata.category(char)[0] for char in map(chr, codes)])
    ranges = (found.span() for found in _WORD_CATEGORIES.finditer(categories))
    return "".join(f"{chr(codes[start])}-{chr(codes[end - 1])}" for start, end in ranges)


def _compound_pattern(word_characters: str) -> re.Pattern[str]:
    word, sign = f"[{word_characters}]++", r"(?:\+\+|\#(?!\w))?"
    # Most words have no joiner after them. The lookahead finds that with one test.
    more = rf"(?=[-.:/\\@'’&_+\#]){sign}(?:(?:::|://|_+|[-.:/\\@'’&]){word}{sign})*"
    return re.compile(f"{word}(?:{more})?")


# The characters of a text decide which pattern it needs. Wider patterns take longer to compile, so they are compiled on
# first use. Character classes beyond U+FFFF (rare Han, ancient scripts; not emoji) are ten times slower in `re`.
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
# A compound with one of these characters may have several terms or a whole.
_NOT_PLAIN = re.compile(rf"[-.:/\\@'’&_+\#A-Z\d{_UNSPACED}]")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
# An acronym at the start of a class name has at least this many capitals (`HTTPServer`), and `SQLite` has fewer.
_MIN_ACRONYM = 3
_MOST_HUMPS = 2  # of more than one letter
# A longer word with humps is an identifier (`ConnectionError`), or two words that lost the space between them.
_LONGEST_NAME = 13
# Fences, backticks and the bracket of a call mark code in prose.
FENCE = "```"
_BACKTICK_OR_CALL = re.compile(r"`|\w\(")
_PLURAL_ACRONYM = re.compile(r"[A-Z]{2,}s\Z")
_LETTERS_DIGITS = re.compile(r"([^\W\d_]+)(\d+)\Z")
_DIGITS_LETTERS = re.compile(r"(\d+)([^\W\d_]{1,3})\Z")
# A longer compound is not written as one word.
_MOST_JOINED, _MOST_JOINED_CHARACTERS = 2, 14
_MIN_ELIDED = 3
_CLITICS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
# Soft hyphens, zero-width and direction marks, variation selectors, skin tones; tatweel, and the Hebrew and Arabic
# points, which texts usually omit.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
)
_APOSTROPHES = "\u00b4\u02b9\u02bb\u02bc\u02bd\u2018\u2019\u201b\u2032\uff07"
_HYPHENS = "\u2010\u2011\u2012\u2212\ufe58\ufe63\uff0d"
_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
# Digits of other scripts, but not superscripts, which have another category.
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
# Currency, arrows, mathematical and technical symbols, shapes, pictures; not the lines and blocks that draw tables.
_SYMBOL = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}|[\u00a2-\u00a5\u00a7\u00a9\u00ac\u00ae\u00b1\u00b6\u00d7\u00f7\u2020\u2021\u2030\u20a0-\u20cf\u2116\u2117"
    "\u211e-\u2123\u2190-\u244a\u249c-\u24e9\u25a0-\u2775\u2794-\u2bff\u3012\u3013\u3020\u3036\U0001f000-\U0001faff]"
)
# A sign is outside words and not repeated, except for `::` and `--`.
_SIGNED = re.compile(
    r"(?:\.|::?|--|[@$^])(?<![\w.:@$^#/\\&)\]][.:@$^#-])(?<![\w.:@$^#/\\&)\]-](?:::|--))"
    r"[^\W\d_]\w*(?:[-_.]\w+)*"
)
# Encoded images and keys of this many characters or more are not indexed.
_ENCODED_LENGTH = 200
# No term contains this character.
_WHOLE_MARK = "\0"
_WHOLES = re.compile(f"{_WHOLE_MARK}([^{_WHOLE_MARK}]*){_WHOLE_MARK}")
_BLOCK = 1 << 20
_SPACE = re.compile(r"\s")
_ENCODED = re.compile(rf"[A-Za-z0-9+/_\-]{{{_ENCODED_LENGTH},}}={{0,2}}")


def is_unspaced(term: str) -> bool:
    """Return whether a term is a pair of characters of a script without spaces."""
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
    """Return the pattern of runs in scripts with spaces between words, or without."""
    return re.compile(f"[{_UNSPACED}][{_UNSPACED}\u0300-\u036f]*|[^{_UNSPACED}]+")


@cache
def word_rest() -> re.Pattern[str]:
    """Return the pattern of the rest of a word from a position inside it. It includes characters without width."""
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
        """Return the parts as the index stores them: with the last character of an unspaced run."""
        if self.unspaced and len(self.parts[-1]) > 1:
            return (*self.parts, self.parts[-1][1:])
        return self.parts


class Analyzer:
    """Analyses text of one language. Only one thread may use it. It is expensive to create, so keep it. `is_code`: the
    whole text is code; otherwise, only names in backticks or before the bracket of a call are code."""

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
        """Yield the terms of each word. Text between fences is code."""
        for number, stretch in enumerate(block.split(FENCE)):
            words = self.for_code._words if number % 2 else self._words
            yield from map(words.__getitem__, stretch.split())

    def units(self, text: str) -> list[QueryUnit]:
        """Return the units of a query, compound by compound. Analysers of all languages return the same units with the
        same number of parts; only the terms differ."""
        shown = visible(text)
        marked = [QueryUnit(sign, (_signed(sign),)) for sign in signs(shown)]
        return [unit for compound in compounds(shown) for unit in self._units(compound)] + marked

    def terms_of(self, compound: str) -> tuple[str, str]:
        """Return the parts and the wholes of one compound, each space-separated."""
        return self._cache[compound]

    def analyse(self, compound: str) -> tuple[str, str]:
        """Like `terms_of`, but without the cache."""
        if compound.isascii() and compound.isalpha() and (compound[1:].islower() or compound.isupper()):
            return self._stem(compound)[:MAX_TERM_CHARACTERS], ""  # most words end here
        units = self._units(compound)
        parts = " ".join([part for unit in units for part in unit.indexed_parts()])
        wholes = [unit.whole for unit in units if unit.whole]
        return parts, " ".join(wholes + [f"{other}{SPELLED}" for unit in units for other in unit.spelled])

    def _word(self, word: str) -> str:
        """Return the terms of the text between two spaces. Marks enclose wholes, which belong to the stream's end."""
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
            del parts[0]  # `v1.2.3` means version 1.2.3
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
        # Skip `user's` and `l'eau`, which nobody writes without the apostrophe.
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
        """Return the terms of normalised words in lower case."""
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
    """Return the terms of many compounds in all of the languages. It caches nothing, because most compounds do not
    recur. `possible` returns the words that a language may have; None: every language may have all words."""
    found: dict[str, set[str]] = {word: set() for word in words}
    plain = _plain(words)
    folds = Folds()
    for analyzer in analyzers:
        candidates = possible(analyzer.language) if possible else words
        forms = [plain[word] for word in candidates if word in plain]
        for word, term in zip(
            filter(plain.__contains__, candidates), analyzer.terms_of_plain(forms, folds), strict=True
        ):
            found[word].add(term)
        for word in candidates:
            if word not in plain:
                found[word].add(analyzer.analyse(word)[0])
    return found


def _plain(words: Collection[str]) -> dict[str, str]:
    """Return the form to stem of each word in lower case that gives one term. Other compounds are omitted."""
    others = [word for word in words if not word.isascii() and not _NOT_PLAIN.search(word)]
    forms = of_all(lambda joined: unicodedata.normalize("NFC", normalise(joined)), others)
    found = {word: word for word in words if word.isascii() and word.isalpha() and word.islower()}
    return found | {word: form for word, form in zip(others, forms, strict=True) if not form.isascii()}


def _blocks(text: str) -> Iterator[str]:
    """Yield the text in blocks that end at white space. A list of all words would take forty times its memory."""
    start = 0
    while len(text) - start > _BLOCK:
        gap = _SPACE.search(text, start + _BLOCK)
        end = gap.start() if gap else len(text)
        yield text[start:end]
        start = end
    yield text[start:]


def visible(text: str) -> str:
    """Remove invisible characters, which do not separate words, and unify the spelling of digits, spaces, hyphens,
    apostrophes and compatibility forms."""
    return text if text.isascii() else _IRREGULAR.sub(regular, text)


def regular(found: re.Match[str]) -> str:
    """Return the text with which `visible` replaces a match of IRREGULAR."""
    return _REGULAR.get(found[0], "")


def signs(text: str) -> list[str]:
    """Return the symbols of a text, and the words after a sign."""
    found = _SIGNED.findall(text)
    return found if text.isascii() else found + _SYMBOL.findall(text)


def _signed(sign: str) -> str:
    return f"{fold(normalise(sign))[:MAX_TERM_CHARACTERS]}{SPELLED}"


def is_searchable(text: str) -> bool:
    """Return whether a text has a word, a number or a symbol."""
    return any(map(str.isalnum, text)) or _SYMBOL.search(text) is not None


@cache
def simplified() -> dict[int, int]:
    """Return the simplified forms of traditional Chinese characters whose forms differ (OpenCC, TSCharacters)."""
    traditional, simple = (resources.files("gnod.analysis") / "traditional.txt").read_text(encoding="utf-8").split()
    return dict(zip(map(ord, traditional), map(ord, simple), strict=True))


def spelled_places(text: str, analyzers: Sequence[Analyzer]) -> dict[str, list[tuple[int, int]]]:
    """Return the places in a visible text of each term for other spellings."""
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
    """Return whether a word with humps is one word in prose, such as the name of a product or person, not a function.

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
    """Split camelCase humps, and letters from digits."""
    if word.isdigit() or (word.isalpha() and (word[1:].islower() or word.isupper())):
        return [word]  # most words end here
    if _PLURAL_ACRONYM.match(word):
        return [word[:-1]]  # such as PDFs and APIs, which stemmers do not handle
    if _CAMEL.search(word) and (is_code or not is_name(word)):
        return _camel_pieces(word)
    if match := _LETTERS_DIGITS.match(word) or _DIGITS_LETTERS.match(word):
        return [match[1], match[2]]
    return [word]


def _camel_pieces(word: str) -> list[str]:
    pieces = _HUMP.findall(word)
    # The pattern has only ASCII letters, so a word with other letters stays whole.
    return pieces if sum(map(len, pieces)) == len(word) else [word]
