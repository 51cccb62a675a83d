"""Find the definition in source code that answers a query best: BM25 with the definitions as documents.

The words of a question are scattered over a function: its name, its docstring, its body. The passage with most of them
close together is often between two functions, or in the imports.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from math import log
from typing import NamedTuple

from gnod import bm25
from gnod.search.keyword.marks import Mark, TermFinder, TermVariant
from gnod.search.ranking.ranked import Span
from gnod.store.connection import Connection
from gnod.store.tables import definitions
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.records import StoredDefinition

# Longer texts, and texts with more definitions, would take too long.
_MAX_CHARACTERS = 300_000
_MAX_DEFINITIONS = 1000
# A match in the head of the file counts half, because a definition is a more precise place.
_HEAD = 0.5
# A definition in the nearest part by vector counts more.
_NEAR = 1.5
# A word in the first line of a definition, which has the name, counts this many times.
_NAMED = 3


class _CodePart(NamedTuple):
    """`text[start:end]`: a definition without its inner definitions, or the text before the first one. `named`: the end
    of the line with its name."""

    start: int
    end: int
    named: int


def best_definition(
    connection: Connection,
    document: DocumentRow,
    finder: TermFinder,
    query_terms: Sequence[Sequence[TermVariant]],
    near: Span | None = None,
) -> tuple[int, int] | None:
    """Return the range of the best definition; None for a document without definitions or without a word of the query.
    `finder`: a finder for its text. `near`: the best part by vector."""
    found = definitions.of_document(connection, document.id, _MAX_DEFINITIONS)
    text = finder.text
    if not found or len(text) > _MAX_CHARACTERS:
        return None
    part = _best(_parts(text, found), finder.marks(query_terms), near)
    return part and (part.start, part.end)


def _parts(text: str, found: Sequence[StoredDefinition]) -> list[_CodePart]:
    """Return the parts in order; they do not overlap."""
    starts = [each.start for each in found]
    ends = [max(min(each.end, after), each.start) for each, after in zip(found, [*starts[1:], len(text)], strict=True)]
    parts = [_CodePart(each.start, end, text.find("\n", each.start)) for each, end in zip(found, ends, strict=True)]
    return [_CodePart(0, starts[0], 0), *parts]


def _best(parts: Sequence[_CodePart], marks: Sequence[Mark], near: Span | None) -> _CodePart | None:
    """Return the part with the highest score; None if no part has a word."""
    starts = [part.start for part in parts]
    counts = [Counter[int]() for _ in parts]
    for mark in marks:
        at = bisect_right(starts, mark.start) - 1
        if at >= 0 and mark.end <= parts[at].end:
            counts[at][mark.term] += _NAMED if mark.start < parts[at].named else 1
    holding = Counter(term for count in counts for term in count)
    if not holding:
        return None
    mean = sum(part.end - part.start for part in parts) / len(parts)

    def score(number: int) -> float:
        part = parts[number]
        length = (part.end - part.start) / mean
        is_near = near is not None and part.start < near.end and near.start < part.end
        return (
            (1.0 if part.named else _HEAD)
            * (_NEAR if is_near else 1.0)
            * sum(
                log(1 + len(parts) / holding[term]) * bm25.saturated(float(times), length)
                for term, times in counts[number].items()
            )
        )

    return parts[max(range(len(parts)), key=score)]
