"""Check what a model says against what it has read: only a citation whose source says the same stays. Pure.

A citation is `[1]`, `[1, 3]` or `[1][3]`. That a model writes one proves nothing, small ones least of all. So each
sentence is compared with its sources: its numbers must stand there, and at least half of its words. A sentence without
a citation that holds gets the source that plainly says it, if there is one; one with a figure that stands nowhere goes.
The answer counts when one sentence or more has a citation in the end.
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

# How many of a sentence's words must stand in the source: less where the model has named it than where we look for it.
_CITED_SHARE = 0.5
_FOUND_SHARE = 0.6


class Reading(NamedTuple):
    """A source as the check sees it. `number` as in the citations."""

    number: int
    text: str
    language: str | None = None


class Checked(NamedTuple):
    """`text`: what is left; `citations`: the sources cited in it, in their order. `kept` of the model's own citations
    hold, `dropped` do not, and `added` were found by the check."""

    text: str
    citations: list[int]
    reason: Reason | None
    kept: int
    dropped: int
    added: int

    @property
    def answered(self) -> bool:
        return self.reason is None


class _Read(NamedTuple):
    number: int
    terms: frozenset[str]
    figures: frozenset[str]
    is_foreign: bool


def check(said: str, question: str, sources: Sequence[Reading], analyzer: Analyzer) -> Checked:
    """Return the answer with the citations that hold. `analyzer`: of the answer's language."""
    checker = _Checker(question, sources, analyzer)
    lines: list[str] = []
    code: list[str] | None = None  # the block that a fence has opened
    for line in [*said.strip().split("\n"), None]:
        if code is not None and (line is None or _FENCE.match(line)):
            lines += [*code, code[0].strip()[:3]] if any(each.strip() for each in code[1:]) else []
            code = None
        elif line is not None and (fence := _FENCE.match(line)):
            code = [line[fence.start(1) :] if "[" in fence[0] else line]  # a citation before it is of nothing
        elif code is not None and line is not None:
            code += [line] if checker.quotes(line) and line != code[-1] else []
        elif line is not None:
            lines.append(_joined(map(checker.sentence, _SENTENCE.findall(line))).rstrip())
    text = _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()
    reason: Reason | None = None
    if not checker.cited:
        reason = "model_declined" if _DECLINE.search(said) else "no_citation"
    return Checked(
        NOT_ENOUGH if reason else text,
        sorted(checker.cited),
        reason,
        checker.kept,
        checker.dropped,
        checker.added,
    )


def cited(text: str) -> list[int]:
    """Return the numbers that a text cites, in order, again and again.

    >>> cited("One [1, 3]. Two [2][12]. `a[4]` and [5-7] are none.")
    [1, 3, 2, 12]
    """
    return [number for match in _CITATION.finditer(text) for number in _numbers(match[0])]


def _joined(sentences: Iterable[str]) -> str:
    """Put sentences in a row. What stood between two may have been a citation that is gone: then a blank."""
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
    """Goes through the sentences of one answer."""

    def __init__(self, question: str, sources: Sequence[Reading], analyzer: Analyzer) -> None:
        self.cited: set[int] = set()
        self.kept = self.dropped = self.added = 0
        self._analyzer = analyzer
        self._question = frozenset(self._terms(question))
        self._asked_figures = _figures(question)
        self._figures = frozenset(figure for source in sources for figure in _figures(source.text))
        self._code = "\n".join(_unspaced(source.text) for source in sources)
        # Small models say the same again and again.
        self._said: set[str] = set()
        self._sources = [
            _Read(
                source.number,
                frozenset(terms_of(compounds(visible(source.text)), analyzer)),
                _figures(source.text),
                source.language is not None and source.language != analyzer.language,
            )
            for source in sources
        ]

    def quotes(self, line: str) -> bool:
        """Tell whether a line of code stands in a source."""
        return _unspaced(line) in self._code

    def sentence(self, sentence: str) -> str:
        """Return the sentence with the citations that hold, before its full stop; nothing, when it was said before, or
        when it has a figure that stands nowhere."""
        marks = [match[0] for match in _CITATION.finditer(sentence) if not match[0].strip().startswith("`")]
        bare = _CITATION.sub(lambda match: match[0] if match[0].strip().startswith("`") else "", sentence)
        asked = list(dict.fromkeys(number for mark in marks for number in _numbers(mark)))
        terms, figures = self._terms(bare), _figures(bare) - self._asked_figures
        named = [source for source in self._sources if source.number in asked]
        holding = [source.number for source in named if self._holds(source, terms, figures)]
        self.kept += len(holding)
        self.dropped += len(asked) - len(holding)
        if not holding and (found := self._best(terms, figures)):
            self.added += 1
            holding = [found]
        self.cited.update(holding)
        said = " ".join(bare.split()).casefold()
        if said in self._said or (not holding and not figures <= self._figures):
            return ""
        if terms:
            self._said.add(said)
        if not holding:
            return bare
        end = _END.search(bare)
        assert end  # it may be empty
        return f"{bare[: end.start()].rstrip()} {''.join(f'[{n}]' for n in sorted(holding))}{bare[end.start() :]}"

    def _holds(self, source: _Read, terms: frozenset[str], figures: frozenset[str]) -> bool:
        if not figures <= source.figures or not terms:
            return False
        # In another language the same is said with other words.
        return source.is_foreign or len(terms & source.terms) >= _CITED_SHARE * len(terms)

    def _best(self, terms: frozenset[str], figures: frozenset[str]) -> int | None:
        """Return the source that plainly says it: more of its words, and one that was not in the question."""
        best: tuple[float, int] | None = None
        for source in self._sources:
            shared = terms & source.terms
            is_news = bool(shared - self._question)
            is_enough = len(shared) > 1 or (len(terms) == 1 and not any(map(str.isdigit, terms)))
            share = len(shared) / len(terms) if terms else 0.0
            if figures <= source.figures and is_news and is_enough and share >= _FOUND_SHARE:
                best = max(best or (0.0, 0), (share, -source.number))
        return -best[1] if best else None

    def _terms(self, text: str) -> frozenset[str]:
        words = compounds(visible(text))
        dropped = function_words(words, [self._analyzer.language]) | ENGLISH_FUNCTION_WORDS
        return frozenset(terms_of((word for word in words if word.lower() not in dropped), self._analyzer))


def _figures(text: str) -> frozenset[str]:
    return frozenset(_FIGURE.findall(text))
