"""Choose the passages that the model reads, from the documents that the search found.

Every document is scored completely, in blocks of a few sentences: by the question's words in a block, weighted by
their rarity, and by its vectors, if there are any. Both halves have the same weight.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod import bm25
from gnod.analysis.stemming import stemming_language
from gnod.answers.words import WordFinder, content_words
from gnod.locations import SourceLocation
from gnod.models.pieces import cut
from gnod.search.keyword import lexical
from gnod.store.connection import Connection
from gnod.store.tables import documents
from gnod.store.tables.documents import DocumentRow
from gnod.store.vectors import embedded_pieces
from gnod.store.vectors.embedded_pieces import EmbeddedPiece
from gnod.types import source_line

# More sources confuse small models.
MAX_SOURCES = 8
# A model of 1.7B parameters without a GPU reads about 100 tokens per second.
MAX_TOKENS = 2400
_BLOCK_CHARACTERS = 600
_PASSAGE_CHARACTERS = 1200
# A block with less than this share of the best block's value is not read.
_WORTHWHILE = 0.6
# The weight of the document's score in the search, which may come from a reranker.
_RANK_WEIGHT = 0.25
_ABOVE_WEIGHT = 0.5
_GAP = 200

_PARAGRAPH = re.compile(r"\n\n")
_SENTENCE = re.compile(r"[.!?…]['\"”’)\]]*\s+|[。！？]|[।॥]\s*")
_LINE = re.compile(r"\n")
_SPACE = re.compile(r"\s+")
_EDGES = (_PARAGRAPH, _SENTENCE, _LINE, _SPACE)


Floats = NDArray[np.float32]

# Meaningless questions. Their cosines with a text show which cosines the model gives to unrelated texts. A question is
# near a text if its cosine is higher than most of these. Measured on 6 short texts with other nonsense: of 11 questions
# that share no word with their text, 10 are near with MiniLM and 9 with multilingual-e5; of 16 unrelated ones, 1 each.
NONSENSE = (
    *("xqzzy blorf wumpt", "asdf jkl qwer", "flurb gribble nox tarvik", "hgjfkdls fjdksla"),
    *("zxcvbnm", "12345 67890", "mimsy borogoves outgrabe", "aaa bbb ccc ddd"),
)
_DEVIATIONS = 2.0


class SourcePassage(NamedTuple):
    """`number`: from 1. `line` to `end_line`: lines of the file. `location`: in a source without lines.
    `score`: in [0, 1]."""

    number: int
    document_id: int
    uri: str
    docid: str
    collection: str
    path: str
    title: str
    language: str | None
    line: int
    end_line: int
    location: SourceLocation | None
    text: str
    score: float


class EmbeddedQuestion(NamedTuple):
    """`vectors`: of the question, by model address. `served`: serving model by collection. `nonsense`: vectors of
    NONSENSE by model address, one row each."""

    text: str
    vectors: Mapping[str, Floats]
    served: Mapping[str, str]
    nonsense: Mapping[str, Floats]


class _SourceBlock(NamedTuple):
    """`words`: the question's words in the block; `above`: those in headings and title only. `nearness`: cosine with
    the question, minus the limit that NONSENSE sets."""

    document: DocumentRow
    start: int
    end: int
    words: frozenset[int]
    above: frozenset[int]
    uri: str = ""
    nearness: float | None = None

    @property
    def is_relevant(self) -> bool:
        return bool(self.words or self.above) or (self.nearness is not None and self.nearness >= 0)


def question_cosines(
    question: EmbeddedQuestion, uri: str, pieces: Sequence[EmbeddedPiece]
) -> tuple[list[float | None], Floats | None]:
    """Return each piece's cosine with the question, and a row of those with NONSENSE for each piece that has a vector;
    None without vectors of this model."""
    found: list[float | None] = [None] * len(pieces)
    query, nonsense = question.vectors.get(uri), question.nonsense.get(uri)
    rows = {n: each.vector for n, each in enumerate(pieces) if each.vector is not None}
    if query is None or not rows:
        return found, None
    matrix = np.stack([*rows.values()])
    for n, cosine in zip(rows, (matrix @ query).tolist(), strict=True):
        found[n] = cosine
    return found, None if nonsense is None else matrix @ nonsense.T


def nearness_limit(nonsense: Floats) -> float:
    """Return the cosine from which a question is near a text. `nonsense`: the best cosine of each of NONSENSE."""
    return float(nonsense.mean() + _DEVIATIONS * nonsense.std())


def estimated_tokens(text: str) -> int:
    """Return an upper estimate of the tokens of `text`."""
    plain = len(text.encode("ascii", "ignore"))
    latin = sum(1 for character in text if "\x7f" < character < "\u0250") if plain < len(text) else 0
    return int(plain / 3 + latin + (len(text) - plain - latin) * 1.5) + 1


def select(
    connection: Connection, question: EmbeddedQuestion, scores: Mapping[int, float], *, tokens: int
) -> list[SourcePassage]:
    """Return the passages to read, with at most `tokens` tokens: by the best document, then by position. Empty if no
    document is relevant. `scores`: of the documents in the search, by document id, best first."""
    analyzers = lexical.analyzers_of_index(connection)
    words = content_words(question.text, analyzers)
    finders = {analyzer.language: WordFinder(words, analyzer) for analyzer in analyzers}
    by_id = documents.by_ids(connection, list(scores))
    reader = _BlockReader(connection, question)
    for document_id in scores:
        document = by_id.get(document_id)
        if document is not None and document.active:  # it may have been removed since the search
            reader.read(document, finders[stemming_language(document.language)])
    blocks = reader.blocks()
    if not any(block.is_relevant for block in blocks):
        return []
    return _sources(blocks, _values(blocks, len(words), scores), reader.texts, min(tokens, MAX_TOKENS))


class _BlockReader:
    """Cuts documents into blocks. Copies of a document are read once."""

    def __init__(self, connection: Connection, question: EmbeddedQuestion) -> None:
        self.texts: dict[int, str] = {}
        self._connection = connection
        self._question = question
        self._seen: set[str] = set()
        self._blocks: list[_SourceBlock] = []
        self._nonsense: dict[str, Floats] = {}

    def read(self, document: DocumentRow, finder: WordFinder) -> None:
        if document.mirror_hash in self._seen:
            return
        self._seen.add(document.mirror_hash)
        text = self.texts[document.id] = documents.markdown(self._connection, document.mirror_hash)
        uri = self._question.served.get(document.collection, "")
        uri = uri if uri in self._question.vectors else ""
        pieces = embedded_pieces.of_document(self._connection, document.mirror_hash, uri or None)
        near, nonsense = question_cosines(self._question, uri, pieces)
        if nonsense is not None:
            nearest = nonsense.max(axis=0)
            self._nonsense[uri] = np.maximum(self._nonsense.get(uri, nearest), nearest)
        title = finder.find(document.title)
        above = {heading: finder.find(heading) | title for heading in {piece.heading for piece in pieces}}
        for piece, cosine in zip(pieces, near, strict=True):
            for span in cut(text[piece.start : piece.end], _BLOCK_CHARACTERS):
                start, end = piece.start + span.start, piece.start + span.end
                words = finder.find(text[start:end])
                self._blocks.append(
                    _SourceBlock(document, start, end, words, above[piece.heading] - words, uri, cosine)
                )

    def blocks(self) -> list[_SourceBlock]:
        """Return all blocks, with their nearness."""
        limits = {uri: nearness_limit(cosines) for uri, cosines in self._nonsense.items()}
        return [
            block if block.nearness is None else block._replace(nearness=block.nearness - limits.get(block.uri, 1.0))
            for block in self._blocks
        ]


def _values(blocks: Sequence[_SourceBlock], word_count: int, ranks: Mapping[int, float]) -> list[float]:
    """Return the value of each block, in [0, 1]: the share of the question's words in it, weighted by their rarity in
    all blocks, and its nearness, scaled over all blocks."""
    total = len(blocks)
    counts = [sum(number in block.words for block in blocks) for number in range(word_count)]
    weights = [bm25.idf(total, n) for n in counts]
    # Words that occur nowhere do not count.
    whole = sum(weight for weight, n in zip(weights, counts, strict=True) if n) or 1.0
    near = [block.nearness for block in blocks if block.nearness is not None]
    low, high = (min(near), max(near)) if near else (0.0, 0.0)
    values = []
    for block in blocks:
        held = sum(weights[n] for n in block.words)
        held += _ABOVE_WEIGHT * sum(weights[n] for n in block.above if counts[n])
        value = min(held / whole, 1.0)
        if block.nearness is not None:
            value = (value + (block.nearness - low) / ((high - low) or 1.0)) / 2
        values.append((value + _RANK_WEIGHT * ranks[block.document.id]) / (1 + _RANK_WEIGHT))
    return values


class _Range(NamedTuple):
    start: int
    end: int
    value: float


def _sources(
    blocks: Sequence[_SourceBlock], values: Sequence[float], texts: Mapping[int, str], tokens: int
) -> list[SourcePassage]:
    order = sorted(range(len(blocks)), key=lambda n: (-values[n], blocks[n].document.id, blocks[n].start))
    order = [n for n in order if blocks[n].is_relevant]
    chosen: dict[int, list[_Range]] = {}
    for n in order:
        block, value = blocks[n], values[n]
        if value < _WORTHWHILE * values[order[0]]:
            break
        text = texts[block.document.id]
        ranges = chosen.get(block.document.id, [])
        if any(r.start <= block.start and block.end <= r.end for r in ranges):
            continue
        start, end = _widened(text, block.start, block.end)
        tried = {**chosen, block.document.id: _joined([*ranges, _Range(start, end, value)])}
        if _cost(tried, texts) > tokens:
            if chosen:
                continue
            end = start + _fitting(text[start:end], tokens)
            tried = {block.document.id: [_Range(start, end, value)]}
        if sum(map(len, tried.values())) <= MAX_SOURCES:
            chosen = tried
    by_id = {block.document.id: block.document for block in blocks}
    best_first = sorted(chosen, key=lambda each: -max(r.value for r in chosen[each]))
    passages = [(by_id[each], r) for each in best_first for r in chosen[each]]
    return [_source(number, document, texts[document.id], r) for number, (document, r) in enumerate(passages, start=1)]


def _source(number: int, document: DocumentRow, text: str, place: _Range) -> SourcePassage:
    passage = text[place.start : place.end]
    start = place.start + len(passage) - len(passage.lstrip("\n"))
    line = text.count("\n", 0, start) + 1
    passage = passage.strip("\n").rstrip()
    return SourcePassage(
        number=number,
        document_id=document.id,
        uri=document.uri,
        docid=document.docid,
        collection=document.collection,
        path=document.path,
        title=document.title,
        language=document.language,
        line=source_line(document.line_map, line),
        end_line=source_line(document.line_map, line + passage.count("\n")),
        location=document.location_of(line),
        text=passage,
        score=round(place.value, 6),
    )


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the block with the whole paragraphs or sentences around it."""
    room = max(_PASSAGE_CHARACTERS - (end - start), 0) // 2
    low, high = max(start - room, 0), min(end + room, len(text))
    begin = 0 if low == 0 else start
    stop = len(text) if high == len(text) else end
    for edge in _EDGES:
        if begin == start and low and (places := [m.end() for m in edge.finditer(text, low, start)]):
            begin = places[0]
        if stop == end and high < len(text) and (places := [m.end() for m in edge.finditer(text, end, high)]):
            stop = places[-1]
    return begin, stop


def _joined(ranges: Sequence[_Range]) -> list[_Range]:
    """Return the ranges in order; close ranges are joined."""
    joined: list[_Range] = []
    for each in sorted(ranges):
        if joined and each.start <= joined[-1].end + _GAP:
            last = joined[-1]
            joined[-1] = _Range(last.start, max(last.end, each.end), max(last.value, each.value))
        else:
            joined.append(each)
    return joined


def _cost(chosen: Mapping[int, Sequence[_Range]], texts: Mapping[int, str]) -> int:
    return sum(estimated_tokens(texts[each][r.start : r.end]) for each, ranges in chosen.items() for r in ranges)


def _fitting(text: str, tokens: int) -> int:
    """Return how many characters of `text` fit into this many tokens."""
    return min(len(text), max(1, len(text) * tokens // estimated_tokens(text)))
