"""Check the answer of a model against its sources, and remove what no source supports. Pure.

A citation is `[1]`, `[1, 3]` or `[1][3]`. It is valid if the source contains all figures, dates and names of the
sentence (`claims`) and at least half of its words. A sentence without a valid citation gets the source that clearly
contains it; if there is none, the sentence is removed. A sentence that is one word, has no content word, or only
repeats the question counts as unsupported.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS, function_words
from gnod.analysis.terms import Analyzer, compounds, is_unspaced, visible
from gnod.answers.claims import Claims, SourceTerms, claims
from gnod.answers.words import terms_of
from gnod.search.passages.sentences import ORDINAL_DOTS

Reason = Literal["unsupported", "model_declined"]

_NUMBERS = r"\d{1,3}(?:\s*,\s*\d{1,3})*"
_RANGE = r"\d{1,3}\s*[-–]\s*\d{1,3}"
_MARK = rf"\[(?:{_NUMBERS}|{_RANGE})\](?!\()"
_CITATION = re.compile(rf"[ \t]*(?:`[^`\n]*`|{_MARK})")
_SENTENCE = re.compile(rf".+?(?:(?:[.!?…]+[\"'”’)]*(?=\s|\[|$)|[。！？]+)(?:[ \t]*{_MARK})*|$)")
_ORDINAL = re.compile(r"(?<!\d)\d\d?\.\Z")
_HEADING = re.compile(r"\s*#{1,6}\s")  # a heading names what follows, and does not state anything
_END = re.compile(r"[.!?…。！？:;,]*[\"'”’)]*\s*\Z")
_BLANK_LINES = re.compile(r"\n{3,}")
_FENCE = re.compile(rf"(?:\s|{_MARK})*(```|~~~)")
_DECLINE = re.compile(
    r"not enough information|no(?:t| enough)? (?:relevant )?information|"
    r"nicht (?:genug|genügend|ausreichend)\w* information|keine (?:angabe|information)\w*|"
    r"(?:sources?|documents?|text) (?:do|does)(?:n't| not) (?:hold|contain|say|mention|provide|state|specify)|"
    r"quellen? (?:enth[aä]lt|enthalten|sagen|nennen) (?:dazu )?(?:nichts|keine)",
    re.I,
)

# Words about an answer, which state nothing themselves: "The answer is [1]."
_ABOUT = {
    "en": "answer answers question questions source sources document documents text following information",
    "de": "antwort antworten frage quelle quellen dokument dokumente folgende",
    "fr": "réponse",
    "es": "respuesta fuente",
}
_ABOUT_ANSWERS = frozenset(word for words in _ABOUT.values() for word in words.split())

# The share of a sentence's words that its source must contain, for a source that the model cited, and for one that the
# check adds.
_CITED_SHARE = 0.5
_FOUND_SHARE = 0.6


class CitedText(NamedTuple):
    """The text of a source. `number`: its number in the citations."""

    number: int
    text: str
    language: str | None = None


class CheckedAnswer(NamedTuple):
    """`text`: the supported sentences with their citations; empty if `reason` is set. `citations`: numbers of the cited
    sources, ascending. `kept` and `dropped`: how many of the model's citations are valid and invalid. `added`: how many
    citations the check added. `removed`: the sentences that no source supports."""

    text: str
    citations: list[int]
    reason: Reason | None
    kept: int
    dropped: int
    added: int
    removed: list[str]


def check(answer: str, question: str, sources: Sequence[CitedText], analyzer: Analyzer) -> CheckedAnswer:
    """Return the answer with valid citations only. `analyzer`: for the language of the answer."""
    checker = _Checker(question, sources, analyzer)
    lines: list[str] = []
    code: list[str] | None = None  # the lines of an open code block
    for line in [*answer.strip().split("\n"), None]:
        if code is not None and (line is None or _FENCE.match(line)):
            lines += [*code, code[0].strip()[:3]] if any(each.strip() for each in code[1:]) else []
            code = None
        elif line is not None and (fence := _FENCE.match(line)):
            code = [line[fence.start(1) :] if "[" in fence[0] else line]  # remove a citation before the fence
        elif code is not None and line is not None:
            code += [line] if checker.quotes(line) and line != code[-1] else []
        elif line is not None and not _HEADING.match(line):
            lines.append(_joined(map(checker.sentence, _sentences(line, analyzer.language))).rstrip())
    text = _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()
    reason: Reason | None = None
    if not checker.cited:
        reason = "model_declined" if _DECLINE.search(answer) else "unsupported"
    return CheckedAnswer(
        "" if reason else text,
        sorted(checker.cited),
        reason,
        checker.kept,
        checker.dropped,
        checker.added,
        checker.removed,
    )


def cited(text: str) -> list[int]:
    """Return the numbers that a text cites, in order, with repetitions.

    >>> cited("One [1, 3]. Two [2][12]. Not `a[4]` and [5-7].")
    [1, 3, 2, 12]
    """
    return [number for match in _CITATION.finditer(text) for number in _numbers(match[0])]


def _sentences(line: str, language: str | None) -> list[str]:
    """Cut a line into sentences. A sentence does not end before a small letter or after an ordinal number ("im 19.
    Jahrhundert")."""
    found: list[str] = []
    for part in _SENTENCE.findall(line):
        has_ordinal = bool(found) and language in ORDINAL_DOTS and _ORDINAL.search(found[-1]) is not None
        if found and (part.lstrip()[:1].islower() or has_ordinal):
            found[-1] += part
        else:
            found.append(part)
    return found


def _joined(sentences: Iterable[str]) -> str:
    """Join sentences. Insert a space where a removed citation was the only separator."""
    row = ""
    for sentence in sentences:
        if row and row[-1] in ".!?…" and sentence[:1].isalnum():
            row += " "
        row += sentence
    return row


def _numbers(mark: str) -> Iterator[int]:
    mark = mark.strip()
    if mark.startswith("[") and not re.search("[-–]", mark):
        yield from map(int, re.findall(r"\d+", mark))


def _unspaced(text: str) -> str:
    return "".join(text.split())


class _Checker:
    """Checks the sentences of one answer."""

    def __init__(self, question: str, sources: Sequence[CitedText], analyzer: Analyzer) -> None:
        self.cited: set[int] = set()
        self.kept = self.dropped = self.added = 0
        self.removed: list[str] = []
        self._analyzer = analyzer
        self._question = self._terms(question)
        self._code = "\n".join(_unspaced(source.text) for source in sources)
        # Remember sentences, because small models repeat them.
        self._seen: set[str] = set()
        self._sources = {source.number: SourceTerms(source.text, source.language, analyzer) for source in sources}
        self._names = frozenset(name for each in self._sources.values() for name in each.capitalised)

    def quotes(self, line: str) -> bool:
        """Return whether a source contains a line of code."""
        return _unspaced(line) in self._code

    def sentence(self, sentence: str) -> str:
        """Return the sentence with its valid citations before the full stop; empty if it repeats a sentence or no
        source supports it."""
        marks = [match[0] for match in _CITATION.finditer(sentence) if not match[0].strip().startswith("`")]
        bare = _CITATION.sub(lambda match: match[0] if match[0].strip().startswith("`") else "", sentence)
        numbers = {number for mark in marks for number in _numbers(mark)}
        valid = self._valid(bare, numbers)
        self.kept += len(numbers & set(valid))
        self.dropped += len(numbers - set(valid))
        self.added += bool(valid and not numbers & set(valid))
        form = " ".join(bare.split()).casefold()
        if form in self._seen:
            return ""
        self._seen.add(form)
        if not valid:
            self.removed += [bare.strip()] if form else []
            return ""
        self.cited.update(valid)
        end = _END.search(bare)
        assert end  # the match may be empty
        return f"{bare[: end.start()].rstrip()} {''.join(f'[{n}]' for n in valid)}{bare[end.start() :]}"

    def _valid(self, sentence: str, numbers: Collection[int]) -> list[int]:
        """Return the sources to cite: those of `numbers` that support the sentence; if none does, a source that clearly
        does."""
        terms = self._terms(sentence)
        if _word_count(sentence) < 2 or not _has_word(terms) or terms <= self._question:
            return []
        claimed = claims(sentence, self._analyzer, self._names)
        fitting = {number: each for number, each in self._sources.items() if not any(each.missing(claimed))}
        named = [n for n, each in fitting.items() if n in numbers and self._supports(each, terms, claimed)]
        return sorted(named) or self._best(fitting, terms)

    def _supports(self, source: SourceTerms, terms: frozenset[str], claimed: Claims) -> bool:
        shared = terms & source.terms
        if source.is_foreign:  # the source is in another language, so its words differ
            return bool(shared) or any(claimed)
        return len(shared) >= _CITED_SHARE * len(terms)

    def _best(self, sources: Mapping[int, SourceTerms], terms: frozenset[str]) -> list[int]:
        """Return the source that clearly contains the sentence, including a word that is not in the question; empty if
        there is none."""
        best: tuple[float, int] | None = None
        for number, source in sources.items():
            shared = terms & source.terms
            share = len(shared) / len(terms)
            if shared - self._question and len(shared) > 1 and share >= _FOUND_SHARE:
                best = max(best or (0.0, 0), (share, -number))
        return [-best[1]] if best else []

    def _terms(self, text: str) -> frozenset[str]:
        """Return the terms of the content words."""
        words = compounds(visible(text))
        dropped = function_words(words, [self._analyzer.language]) | ENGLISH_FUNCTION_WORDS | _ABOUT_ANSWERS
        return frozenset(terms_of((word for word in words if word.lower() not in dropped), self._analyzer))


def _has_word(terms: Iterable[str]) -> bool:
    return any(any(map(str.isalpha, term)) for term in terms)


def _word_count(text: str) -> int:
    """Return the number of words; two characters of a script without spaces count as one.

    >>> _word_count("In 12 days."), _word_count("東京"), _word_count("十七時に出る")
    (3, 1, 3)
    """
    return sum(max(len(each) // 2, 1) if is_unspaced(each[0]) else 1 for each in compounds(visible(text)))
