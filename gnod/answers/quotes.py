"""Score the sentences of the documents that the search found, and choose those that answer the question.

Models run between the steps. `collect` preselects sentences without a model, `rank` adds their vectors, and `reranked`
adds the scores of a cross-encoder. A score is a weighted mean of:

    the document's score in the search · the cosine of the stored piece around the sentence · the cosine of the sentence
    itself · the share of the question's words in it · whether it has the expected kind of answer
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from gnod.answers import line_citations
from gnod.answers.nearness import EmbeddedQuestion, Floats, NearPieces, nearness_limit
from gnod.answers.words import WeighedWords
from gnod.locations import SourceLocation
from gnod.models.embedding_profiles import EmbeddingText
from gnod.search.hybrid import reranking
from gnod.search.passages import sentences
from gnod.search.passages.best_passage import best_span
from gnod.search.passages.sentences import Kind, TextUnit
from gnod.search.query import question_type
from gnod.search.query.question_type import ExpectedAnswer
from gnod.store.connection import Connection
from gnod.store.tables import documents
from gnod.store.tables.documents import DocumentRow
from gnod.store.vectors import vector_rows
from gnod.store.vectors.vector_rows import EmbeddedPiece
from gnod.types import source_line

MAX_QUOTES = 3
# The answer is nearly always in one of the first documents, and each further document costs time.
DOCUMENTS = 10
# The number of sentences that are embedded or read by a cross-encoder, and the maximum from one document. On squad-en,
# 6 sentences give the same quotes as all.
PRESELECTED = 8
_OF_ONE_DOCUMENT = 4
# Weights of the parts of a score, chosen on one half of squad-en. Values near these give about the same results
# (docs/adr/0031-quotes.md). A sentence that ends with a colon or a question mark only promises an answer.
WEIGHTS = {"document": 1.0, "piece": 1.0, "sentence": 1.0, "words": 1.5, "type": 0.25, "promise": -0.25}
# A word of the question counts less outside the sentence: in the sentence before ("It opened in 1901."), in the title,
# headings or the header of a table, or in earlier sentences of the paragraph.
_BEFORE = 0.5
_ABOVE = 0.5
_EARLIER = 0.3
# A quote with less than this share of the best score is left out.
_WORTHWHILE = 0.5
# In a text longer than this, only the surroundings of its best places are read.
_LONG = 24_000
_REACH = 1_500
_PLACES = 4
# Related words that a stemmer keeps apart share most character sequences of this length: "deploy", "deployment".
_LETTERS = 4

_WORD = re.compile(r"\w+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_CODE = frozenset(
    {"application/json", "application/yaml", "application/toml", "text/vcard", "text/calendar", "text/x-diff"}
)


_Shares = tuple[float, ...]
"""How much of each word of the question a text contains, in [0, 1]."""


class ScoredQuote(NamedTuple):
    """`text` is an exact part of the document's canonical text; `line` to `end_line` are lines of the file. `location`:
    the place in a source without lines. `heading`: the headings above it, joined by ` > `. `citation`: as in
    `line_citations`. `score`: in [0, 1]. `components`: the parts of the score."""

    rank: int
    document_id: int
    uri: str
    docid: str
    collection: str
    path: str
    title: str
    language: str | None
    heading: str
    kind: Kind
    line: int
    end_line: int
    location: SourceLocation | None
    text: str
    citation: str
    score: float
    components: Mapping[str, float]


class UnitCandidate(NamedTuple):
    """A unit, with the evidence that needs no model. `uri`: the address of the model that embeds its collection; empty
    without one. `has_word`: whether a word of the question is in it or above it. `piece`: the cosine of the stored
    piece around it; None without a vector."""

    document: DocumentRow
    unit: TextUnit
    text: str
    lines: tuple[int, int]
    uri: str
    rank: float
    has_word: bool
    words: float
    has_type: bool
    promises: bool
    piece: float | None

    @property
    def context(self) -> str:
        """Return the title and the headings."""
        return " > ".join(dict.fromkeys(filter(None, (self.document.title, *self.unit.heading.split(" > ")))))

    @property
    def embedding_text(self) -> EmbeddingText:
        return EmbeddingText(self.document.title, self.unit.heading, self.text)


class ScoredUnit(NamedTuple):
    """`score`: in [0, 1]. `components`: its parts, before their weights."""

    candidate: UnitCandidate
    score: float
    components: Mapping[str, float]


class ReadText(NamedTuple):
    """The canonical text of a document, and its units in order; for a long text, only the units that were read."""

    text: str
    units: Sequence[TextUnit]


class Collected(NamedTuple):
    """The preselected units, best first. `base`: the cosine of unrelated texts, by model. `units`: the number of all
    units. `texts`: by document id. `words`: of the question."""

    candidates: list[UnitCandidate]
    base: Mapping[str, float]
    units: int
    texts: Mapping[int, ReadText]
    words: WeighedWords


def collect(
    connection: Connection,
    question: EmbeddedQuestion,
    scores: Mapping[int, float],
    *,
    read: int = DOCUMENTS,
    preselected: int = PRESELECTED,
) -> Collected:
    """Return the units that are most probably an answer. A unit without a word of the question must be nearer to it
    than nonsense is. `scores`: the search scores of the documents, by document id, best first. `read`: the number of
    documents to read."""
    reader = _UnitScorer(connection, question)
    by_id = documents.by_ids(connection, list(scores))
    for document_id, score in list(scores.items())[:read]:
        document = by_id.get(document_id)
        if document is not None and document.active:  # it may have been removed since the search
            reader.read(document, score)
    base, limits = reader.base(), reader.limits()
    relevant = [
        candidate
        for candidate in reader.candidates
        if candidate.has_word or (candidate.piece is not None and candidate.piece >= limits.get(candidate.uri, 1.0))
    ]
    order = _best_first([_scored(candidate, base, None)[0] for candidate in relevant])
    candidates = _mixed([relevant[n] for n in order], preselected)
    return Collected(candidates, base, len(reader.candidates), reader.texts, reader.words)


def rank(collected: Collected, cosines: Sequence[float | None]) -> list[ScoredUnit]:
    """Return the candidates with their scores, best first. `cosines`: of the candidates with the question; None if
    unknown."""
    scored = [
        ScoredUnit(candidate, *_scored(candidate, collected.base, cosine))
        for candidate, cosine in zip(collected.candidates, cosines, strict=True)
    ]
    return sorted(scored, key=lambda unit: -unit.score)


def reranked(scored: Sequence[ScoredUnit], scores: Sequence[float]) -> list[ScoredUnit]:
    """Blend in the scores of a cross-encoder for the first candidates, in [0, 1], as for documents."""
    blended = reranking.blend([unit.score for unit in scored], scores)
    with_scores = [
        unit._replace(score=score, components={**unit.components, **({"rerank": scores[n]} if n < len(scores) else {})})
        for n, (unit, score) in enumerate(zip(scored, blended, strict=True))
    ]
    return sorted(with_scores, key=lambda unit: -unit.score)


def choose(scored: Sequence[ScoredUnit], texts: Mapping[int, ReadText], limit: int = MAX_QUOTES) -> list[ScoredQuote]:
    """Return the quotes, without repeated texts. `texts`: as in Collected."""
    found: dict[str, ScoredUnit] = {}
    for unit in scored:
        if unit.score >= _WORTHWHILE * scored[0].score:
            found.setdefault(" ".join(unit.candidate.text.split()), unit)
    return [quote(unit, texts, number) for number, unit in enumerate(islice(found.values(), limit), start=1)]


class _UnitScorer:
    """Reads documents, and scores their units. Copies of a document are read once."""

    def __init__(self, connection: Connection, question: EmbeddedQuestion) -> None:
        self.candidates: list[UnitCandidate] = []
        self.texts: dict[int, ReadText] = {}
        self._connection = connection
        self._question = question
        self._expected: ExpectedAnswer = question_type.expected(question.text)
        self.words = WeighedWords(connection, question.text)
        self._weights = np.array(self.words.weights)
        self._letters = [_sequences(word.surface) for word in self.words.words]
        self._seen: set[str] = set()
        # The cosines of NONSENSE with all pieces, one row each, by model.
        self._nonsense: dict[str, list[Floats]] = {}

    def read(self, document: DocumentRow, score: float) -> None:
        if document.mirror_hash in self._seen:
            return
        self._seen.add(document.mirror_hash)
        text = documents.markdown(self._connection, document.mirror_hash)
        uri = self._question.served.get(document.collection, "")
        uri = uri if uri in self._question.vectors else ""
        pieces = vector_rows.pieces_of(self._connection, document.mirror_hash, uri or None)
        near = NearPieces(self._question, uri, pieces)
        if near.nonsense is not None:
            self._nonsense.setdefault(uri, []).append(near.nonsense)
        line, counted = 1, 0
        above: dict[tuple[str, int], _Shares] = {}
        # The words of the unit before, and of all earlier units in the paragraph, list or table.
        before: _Shares = ()
        earlier: _Shares = ()
        block = -1
        units = self._units(document, text, pieces, near)
        self.texts[document.id] = ReadText(text, units)
        for unit in units:
            shown = text[unit.start : unit.end]
            if shown == document.title:  # formats such as PDF have no headings
                continue
            match = self._match(shown, document)
            over = (unit.heading, unit.lead[0])
            if over not in above:
                lead = text[slice(*unit.lead)][: sentences.MAX_CHARACTERS]
                above[over] = self._match(f"{document.title}\n{unit.heading}\n{lead}", document)
            if unit.block != block:
                before, earlier, block = (), (), unit.block
            line += text.count("\n", counted, unit.start)
            counted = unit.start
            lines = (line, line + shown.count("\n"))
            self.candidates.append(
                UnitCandidate(
                    document=document,
                    unit=unit,
                    text=shown,
                    lines=(source_line(document.line_map, lines[0]), source_line(document.line_map, lines[1])),
                    uri=uri,
                    rank=score,
                    has_word=1.0 in match or 1.0 in above[over],
                    words=self._share(match, above[over], before, earlier),
                    has_type=question_type.contains(shown, self._expected),
                    promises=shown.endswith((":", "：", "?", "？", "؟")),
                    piece=near.around(unit.start, unit.end),
                )
            )
            before, earlier = match, tuple(map(max, earlier, match)) if earlier else match

    def _match(self, text: str, document: DocumentRow) -> _Shares:
        present = self.words.find(text, document.language)
        padded = f" {' '.join(_WORD.findall(text.casefold()))} "
        return tuple(
            1.0 if n in present else sum(letter in padded for letter in letters) / len(letters) if letters else 0.0
            for n, letters in enumerate(self._letters)
        )

    def _share(self, here: _Shares, above: _Shares, before: _Shares, earlier: _Shares) -> float:
        """Return the share of the question's words, weighted by their rarity."""
        found = np.array(here)
        for weight, shares in ((_ABOVE, above), (_BEFORE, before), (_EARLIER, earlier)):
            if shares:
                found = np.maximum(found, weight * np.array(shares))
        return float(found @ self._weights) if len(self._weights) else 0.0

    def base(self) -> dict[str, float]:
        """Return the cosine of unrelated texts, by model."""
        return {uri: float(np.concatenate(rows).mean()) for uri, rows in self._nonsense.items()}

    def limits(self) -> dict[str, float]:
        """Return the cosine above which a question is near a text, by model."""
        return {uri: nearness_limit(np.concatenate(rows).max(axis=0)) for uri, rows in self._nonsense.items()}

    def _units(
        self, document: DocumentRow, text: str, pieces: Sequence[EmbeddedPiece], near: NearPieces
    ) -> list[TextUnit]:
        """Return the units of a text; for a long one, only those around its best places."""
        is_code = document.converter.startswith("code/") or document.mime in _CODE
        if len(text) <= _LONG:
            return sentences.units(text, document.language, is_code=is_code)
        places = near.best(_PLACES)
        terms = [list(word.variants) for word in self.words.words]
        if span := best_span(text, terms, self.words.analyzers):
            places.append(span)
        found: list[TextUnit] = []
        for number, (start, end) in enumerate(_widened(text, places or [(0, _REACH)])):
            heading = next((piece.heading for piece in pieces if piece.start <= start < piece.end), "")
            for unit in sentences.units(text[start:end], document.language, is_code=is_code):
                low, high = unit.lead
                found.append(
                    unit._replace(
                        start=start + unit.start,
                        end=start + unit.end,
                        lead=(start + low, start + high) if high else (0, 0),
                        heading=" > ".join(filter(None, (heading, unit.heading))),
                        block=unit.block + number * len(text),
                    )
                )
        return found


def _sequences(word: str) -> frozenset[str]:
    """Return the character sequences of a word, including its ends; empty for a short word."""
    if len(word) < _LETTERS or not word.isalpha():
        return frozenset()
    padded = f" {word.casefold()} "
    return frozenset(padded[n : n + _LETTERS] for n in range(len(padded) - _LETTERS + 1))


def _scored(
    candidate: UnitCandidate, base: Mapping[str, float], cosine: float | None
) -> tuple[float, dict[str, float]]:
    """Return the score of a candidate and its parts. A model's cosines are scaled: 0 for unrelated texts, 1 for equal
    texts. If the sentence has no vector, the vector of its piece counts for both; without any vector, the words count
    instead."""
    low = min(base.get(candidate.uri, 0.0), 0.99)
    piece = candidate.words if candidate.piece is None else (candidate.piece - low) / (1 - low)
    sentence = piece if cosine is None else (cosine - low) / (1 - low)
    parts = {
        "document": candidate.rank,
        "piece": piece,
        "sentence": sentence,
        "words": candidate.words,
        "type": float(candidate.has_type),
        "promise": float(candidate.promises),
    }
    value = sum(WEIGHTS[name] * part for name, part in parts.items()) / sum(WEIGHTS.values())
    return min(max(value, 0.0), 1.0), {name: round(part, 6) for name, part in parts.items()}


def _mixed(candidates: Sequence[UnitCandidate], limit: int) -> list[UnitCandidate]:
    """Return the first candidates, but not too many from one document while there are others."""
    counts: Counter[int] = Counter()
    first: list[UnitCandidate] = []
    others: list[UnitCandidate] = []
    for candidate in candidates:
        counts[candidate.document.id] += 1
        (first if counts[candidate.document.id] <= _OF_ONE_DOCUMENT else others).append(candidate)
    return (first + others)[:limit]


def _best_first(values: Sequence[float]) -> list[int]:
    """Return the indices of the values, largest first; equal values keep their order."""
    return sorted(range(len(values)), key=lambda n: -values[n])


def _widened(text: str, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges around places, in order and without overlap. A range begins and ends at a blank line if one is
    near."""
    ranges: list[tuple[int, int]] = []
    for start, end in sorted(places):
        low, high = max(start - _REACH, 0), min(end + _REACH, len(text))
        first = _BLANK_LINE.search(text, low, start) if low else None
        last = [*_BLANK_LINE.finditer(text, end, high)][-1:] if high < len(text) else []
        low = first.end() if first else low if low == 0 else start
        high = last[0].start() if last else high if high == len(text) else end
        if ranges and low <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], high))
        else:
            ranges.append((low, high))
    return ranges


def quote(scored: ScoredUnit, texts: Mapping[int, ReadText], number: int = 1) -> ScoredQuote:
    """Return a unit as a quote. `texts`: as in Collected."""
    document, unit = scored.candidate.document, scored.candidate.unit
    line, end_line = scored.candidate.lines
    return ScoredQuote(
        rank=number,
        document_id=document.id,
        uri=document.uri,
        docid=document.docid,
        collection=document.collection,
        path=document.path,
        title=document.title,
        language=document.language,
        heading=unit.heading,
        kind=unit.kind,
        line=line,
        end_line=end_line,
        location=document.location_of(line),
        text=scored.candidate.text,
        citation=line_citations.cite(document, texts[document.id].text, line, end_line),
        score=round(scored.score, 6),
        components=scored.components,
    )
