"""Choose what the model reads: the passages of the best documents that lie nearest to the question, wherever they
stand. A document's head is nothing special.

All of a document is scored, in blocks of a few sentences: by the question's words in it, the rare ones above all, and
by its vectors, where it has some. Both halves count the same, as in the search itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gnod.analysis.stemming import stemming_language
from gnod.models.pieces import cut
from gnod.pipeline import lexical
from gnod.pipeline.answering.words import WordFinder, content_words
from gnod.store import documents, embedded_pieces
from gnod.store.database import Connection
from gnod.store.documents import Document
from gnod.store.embedded_pieces import EmbeddedPiece
from gnod.types import format_uri, source_line

# More sources than that confuse a small model, and have two digits.
MAX_SOURCES = 8
# Reading is what takes long without a GPU: a model of 1.7B reads some 100 tokens a second there.
MAX_TOKENS = 2400
_BLOCK_CHARACTERS = 600
_PASSAGE_CHARACTERS = 1200
# What is not nearly as good as the best passage is not worth the reader's time.
_WORTHWHILE = 0.6
# How much the document's own rank counts beside its passage: a reranker has read it.
_RANK_WEIGHT = 0.25
_ABOVE_WEIGHT = 0.5
_GAP = 200

_PARAGRAPH = re.compile(r"\n\n")
_SENTENCE = re.compile(r"[.!?…]['\"”’)\]]*\s+|[。！？]|[।॥]\s*")
_LINE = re.compile(r"\n")
_SPACE = re.compile(r"\s+")
_EDGES = (_PARAGRAPH, _SENTENCE, _LINE, _SPACE)


Floats = NDArray[np.float32]

# Questions about nothing. How near a model puts them to a text is what it says of things that have nothing in common.
# Nearer than most of them is near. Measured on 6 short texts, with other probes than these: of 11 questions that share
# no word with the text they mean, 10 are near with MiniLM and 9 with multilingual-e5; of 16 about nothing there, one
# with each (pronounceable gibberish, and another topic).
NONSENSE = (
    *("xqzzy blorf wumpt", "asdf jkl qwer", "flurb gribble nox tarvik", "hgjfkdls fjdksla"),
    *("zxcvbnm", "12345 67890", "mimsy borogoves outgrabe", "aaa bbb ccc ddd"),
)
_DEVIATIONS = 2.0


class Candidate(NamedTuple):
    """A document that the search has found, with its score in [0, 1]."""

    document_id: int
    score: float


class Source(NamedTuple):
    """One passage. `number` from 1; `line` to `end_line` are the file's own; `score` is in [0, 1]."""

    number: int
    uri: str
    docid: str
    collection: str
    path: str
    title: str
    language: str | None
    line: int
    end_line: int
    text: str
    score: float


class Asked(NamedTuple):
    """A question. `vectors`: as each embedding model sees it, by the model's address; `served`: which model answers for
    which collection. `nonsense`: NONSENSE as each model sees it, one row each."""

    text: str
    vectors: Mapping[str, Floats]
    served: Mapping[str, str]
    nonsense: Mapping[str, Floats]


class _Block(NamedTuple):
    """`words`: the question's words in it; `above`: those in the headings and the title only. `nearness`: the cosine of
    question and block, above that of nonsense."""

    document: Document
    start: int
    end: int
    words: frozenset[int]
    above: frozenset[int]
    uri: str = ""
    nearness: float | None = None

    @property
    def is_relevant(self) -> bool:
        return bool(self.words or self.above) or (self.nearness is not None and self.nearness >= 0)


def estimated_tokens(text: str) -> int:
    """Return how many tokens a model may make of `text`, rather too many than too few."""
    plain = len(text.encode("ascii", "ignore"))
    latin = sum(1 for character in text if "\x7f" < character < "\u0250") if plain < len(text) else 0
    return int(plain / 3 + latin + (len(text) - plain - latin) * 1.5) + 1


def select(connection: Connection, asked: Asked, candidates: Sequence[Candidate], *, tokens: int) -> list[Source]:
    """Return the passages to read, for at most so many tokens: the best document first, a document's in its order.
    None, when nothing found is about the question."""
    analyzers = lexical.analyzers_of_index(connection)
    words = content_words(asked.text, analyzers)
    finders = {analyzer.language: WordFinder(words, analyzer) for analyzer in analyzers}
    by_id = documents.by_ids(connection, [candidate.document_id for candidate in candidates])
    reader = _Reader(connection, asked)
    ranks: dict[int, float] = {}
    for candidate in candidates:
        document = by_id.get(candidate.document_id)
        if document is not None and document.active:  # else it is gone meanwhile
            ranks[document.id] = candidate.score
            reader.read(document, finders[stemming_language(document.language)])
    blocks = reader.blocks()
    if not any(block.is_relevant for block in blocks):
        return []
    return _sources(blocks, _values(blocks, len(words), ranks), reader.texts, min(tokens, MAX_TOKENS))


class _Reader:
    """Reads whole documents, each content once."""

    def __init__(self, connection: Connection, asked: Asked) -> None:
        self.texts: dict[int, str] = {}
        self._connection = connection
        self._asked = asked
        self._seen: set[str] = set()
        self._blocks: list[_Block] = []
        self._nonsense: dict[str, Floats] = {}

    def read(self, document: Document, finder: WordFinder) -> None:
        if document.mirror_hash in self._seen:
            return
        self._seen.add(document.mirror_hash)
        text = self.texts[document.id] = documents.markdown(self._connection, document.mirror_hash)
        uri = self._asked.served.get(document.collection, "")
        uri = uri if uri in self._asked.vectors else ""
        pieces = embedded_pieces.of_document(self._connection, document.mirror_hash, uri or None)
        cosines = self._cosines(uri, pieces)
        title = finder.find(document.title)
        above = {heading: finder.find(heading) | title for heading in {piece.heading for piece in pieces}}
        for piece, cosine in zip(pieces, cosines, strict=True):
            for span in cut(text[piece.start : piece.end], _BLOCK_CHARACTERS):
                start, end = piece.start + span.start, piece.start + span.end
                words = finder.find(text[start:end])
                self._blocks.append(_Block(document, start, end, words, above[piece.heading] - words, uri, cosine))

    def blocks(self) -> list[_Block]:
        """Return all blocks, with their nearness."""
        usual = {uri: float(cosines.mean() + _DEVIATIONS * cosines.std()) for uri, cosines in self._nonsense.items()}
        return [
            block if block.nearness is None else block._replace(nearness=block.nearness - usual.get(block.uri, 1.0))
            for block in self._blocks
        ]

    def _cosines(self, uri: str, pieces: Sequence[EmbeddedPiece]) -> list[float | None]:
        """Return the cosines with the question, and take note of those with nonsense."""
        query = self._asked.vectors.get(uri)
        cosines: list[float | None] = [None] * len(pieces)
        rows = [n for n, each in enumerate(pieces) if each.vector is not None and query is not None]
        if query is None or not rows:
            return cosines
        matrix = np.stack([vector for n in rows if (vector := pieces[n].vector) is not None])
        for n, cosine in zip(rows, (matrix @ query).tolist(), strict=True):
            cosines[n] = cosine
        if (nonsense := self._asked.nonsense.get(uri)) is not None:
            nearest = (matrix @ nonsense.T).max(axis=0)
            self._nonsense[uri] = np.maximum(self._nonsense.get(uri, nearest), nearest)
        return cosines


def _values(blocks: Sequence[_Block], word_count: int, ranks: Mapping[int, float]) -> list[float]:
    """Return what each block is worth, in [0, 1]: the share of the question's words in it, weighed by how rare they are
    among all blocks, and its nearness between the nearest and the farthest."""
    total = len(blocks)
    counts = [sum(number in block.words for block in blocks) for number in range(word_count)]
    weights = [log(1 + (total - n + 0.5) / (n + 0.5)) for n in counts]
    # A word that stands nowhere tells no block from another.
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


def _sources(blocks: Sequence[_Block], values: Sequence[float], texts: Mapping[int, str], tokens: int) -> list[Source]:
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


def _source(number: int, document: Document, text: str, found: _Range) -> Source:
    passage = text[found.start : found.end]
    start = found.start + len(passage) - len(passage.lstrip("\n"))
    line = text.count("\n", 0, start) + 1
    passage = passage.strip("\n").rstrip()
    return Source(
        number=number,
        uri=format_uri(document.collection, document.path),
        docid=document.docid,
        collection=document.collection,
        path=document.path,
        title=document.title,
        language=document.language,
        line=source_line(document.line_map, line),
        end_line=source_line(document.line_map, line + passage.count("\n")),
        text=passage,
        score=round(found.value, 6),
    )


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the block with whole sentences, or paragraphs, around it."""
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
    """Return the ranges in order, those that touch as one."""
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
    """Return how many characters of `text` are surely no more than so many tokens."""
    return min(len(text), max(1, len(text) * tokens // estimated_tokens(text)))
