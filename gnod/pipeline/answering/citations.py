"""Check the answer of a model against its sources: invalid citations are removed. Pure.

A citation is `[1]`, `[1, 3]` or `[1][3]`. It is valid if the source contains all figures of the sentence and at least
half of its words. A sentence without a valid citation gets the source that clearly contains it, if there is one. A
sentence with a figure that no source contains is removed. An answer needs at least one valid citation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS, function_words
from gnod.analysis.terms import Analyzer, compounds, visible
from gnod.pipeline.answering.words import terms_of

NOT_ENOUGH = "not enough information in your documents"

Reason = Literal["no_sources", "no_citation", "model_declined"]

_NUMBERS = r"\d{1,3}(?:\s*,\s*\d{1,3})*"
_RANGE = r"\d{1,3}\s*[-–]\s*\d{1,3}"
_MARK = rf"\[(?:{_NUMBERS}|{_RANGE})\](?!\()"
_CITATION = re.compile(rf"[ \t]*(?:`[^`\n]*`|{_MARK})")
_SENTENCE = re.compile(rf".+?(?:(?:[.!?…]+[\"'”’)]*(?=\s|\[|$)|[。！？]+)(?:[ \t]*{_MARK})*|$)")
_END = re.compile(r"[.!?…。！？:;,]*[\"'”’)]*\s*\Z")
_BLANK_LINES = re.compile(r"\n{3,}")
_FENCE = re.compile(rf"(?:\s|{_MARK})*(```|~~~)")
_FIGURE = re.compile(r"\d+(?:[.,:/]\d+)*")
_DECLINE = re.compile(
    r"not enough information|no(?:t| enough)? (?:relevant )?information|"
    r"nicht (?:genug|genügend|ausreichend)\w* information|keine (?:angabe|information)\w*|"
    r"(?:sources?|documents?|text) (?:do|does)(?:n't| not) (?:hold|contain|say|mention|provide|state|specify)|"
    r"quellen? (?:enth[aä]lt|enthalten|sagen|nennen) (?:dazu )?(?:nichts|keine)",
    re.I,
)

# Shares of a sentence's words that its source must contain: a source that the model cited, and one that the check adds.
_CITED_SHARE = 0.5
_FOUND_SHARE = 0.6


class CitedText(NamedTuple):
    """The text of a source. `number`: as in the citations."""

    number: int
    text: str
    language: str | None = None


class CheckedAnswer(NamedTuple):
    """`citations`: numbers of the cited sources, ascending. `kept` and `dropped`: how many citations of the model are
    valid and invalid. `added`: how many the check added."""

    text: str
    citations: list[int]
    reason: Reason | None
    kept: int
    dropped: int
    added: int

    @property
    def answered(self) -> bool:
        return self.reason is None


class _Source(NamedTuple):
    number: int
    terms: frozenset[str]
    figures: frozenset[str]
    is_foreign: bool


def check(answer: str, question: str, sources: Sequence[CitedText], analyzer: Analyzer) -> CheckedAnswer:
    """Return the answer with valid citations only. `analyzer`: of the answer's language."""
    checker = _Checker(question, sources, analyzer)
    lines: list[str] = []
    code: list[str] | None = None  # lines of an open code block
    for line in [*answer.strip().split("\n"), None]:
        if code is not None and (line is None or _FENCE.match(line)):
            lines += [*code, code[0].strip()[:3]] if any(each.strip() for each in code[1:]) else []
            code = None
        elif line is not None and (fence := _FENCE.match(line)):
            code = [line[fence.start(1) :] if "[" in fence[0] else line]  # drop a citation before the fence
        elif code is not None and line is not None:
            code += [line] if checker.quotes(line) and line != code[-1] else []
        elif line is not None:
            lines.append(_joined(map(checker.sentence, _SENTENCE.findall(line))).rstrip())
    text = _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()
    reason: Reason | None = None
    if not checker.cited:
        reason = "model_declined" if _DECLINE.search(answer) else "no_citation"
    return CheckedAnswer(
        NOT_ENOUGH if reason else text,
        sorted(checker.cited),
        reason,
        checker.kept,
        checker.dropped,
        checker.added,
    )


def cited(text: str) -> list[int]:
    """Return the numbers that a text cites, in order, with repetitions.

    >>> cited("One [1, 3]. Two [2][12]. Not `a[4]` and [5-7].")
    [1, 3, 2, 12]
    """
    return [number for match in _CITATION.finditer(text) for number in _numbers(match[0])]


def _joined(sentences: Iterable[str]) -> str:
    """Join sentences. Insert a blank where a removed citation was the only separator."""
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
        self._analyzer = analyzer
        self._question = frozenset(self._terms(question))
        self._question_figures = _figures(question)
        self._figures = frozenset(figure for source in sources for figure in _figures(source.text))
        self._code = "\n".join(_unspaced(source.text) for source in sources)
        # Small models repeat sentences.
        self._seen: set[str] = set()
        self._sources = [
            _Source(
                source.number,
                frozenset(terms_of(compounds(visible(source.text)), analyzer)),
                _figures(source.text),
                source.language is not None and source.language != analyzer.language,
            )
            for source in sources
        ]

    def quotes(self, line: str) -> bool:
        """Tell whether a source contains a line of code."""
        return _unspaced(line) in self._code

    def sentence(self, sentence: str) -> str:
        """Return the sentence with its valid citations before the full stop. Empty for a repeated sentence, and for one
        with a figure that no source contains."""
        marks = [match[0] for match in _CITATION.finditer(sentence) if not match[0].strip().startswith("`")]
        bare = _CITATION.sub(lambda match: match[0] if match[0].strip().startswith("`") else "", sentence)
        numbers = {number for mark in marks for number in _numbers(mark)}
        terms, figures = self._terms(bare), _figures(bare) - self._question_figures
        named = [source for source in self._sources if source.number in numbers]
        valid = [source.number for source in named if self._supports(source, terms, figures)]
        self.kept += len(valid)
        self.dropped += len(numbers) - len(valid)
        if not valid and (best := self._best(terms, figures)):
            self.added += 1
            valid = [best]
        self.cited.update(valid)
        form = " ".join(bare.split()).casefold()
        if form in self._seen or (not valid and not figures <= self._figures):
            return ""
        if terms:
            self._seen.add(form)
        if not valid:
            return bare
        end = _END.search(bare)
        assert end  # it may be empty
        return f"{bare[: end.start()].rstrip()} {''.join(f'[{n}]' for n in sorted(valid))}{bare[end.start() :]}"

    def _supports(self, source: _Source, terms: frozenset[str], figures: frozenset[str]) -> bool:
        if not figures <= source.figures or not terms:
            return False
        # A source in another language uses other words.
        return source.is_foreign or len(terms & source.terms) >= _CITED_SHARE * len(terms)

    def _best(self, terms: frozenset[str], figures: frozenset[str]) -> int | None:
        """Return the source that clearly contains the sentence, with a word that is not in the question."""
        best: tuple[float, int] | None = None
        for source in self._sources:
            shared = terms & source.terms
            has_new = bool(shared - self._question)
            is_enough = len(shared) > 1 or (len(terms) == 1 and not any(map(str.isdigit, terms)))
            share = len(shared) / len(terms) if terms else 0.0
            if figures <= source.figures and has_new and is_enough and share >= _FOUND_SHARE:
                best = max(best or (0.0, 0), (share, -source.number))
        return -best[1] if best else None

    def _terms(self, text: str) -> frozenset[str]:
        words = compounds(visible(text))
        dropped = function_words(words, [self._analyzer.language]) | ENGLISH_FUNCTION_WORDS
        return frozenset(terms_of((word for word in words if word.lower() not in dropped), self._analyzer))


def _figures(text: str) -> frozenset[str]:
    return frozenset(_FIGURE.findall(text))
