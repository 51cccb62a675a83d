"""Compute the BM25 weights of a document's terms, without the document frequency.

The inner product of these weights with the weights of a query's terms is the score of keyword search (see
gnod/store/keyword_index/fulltext.py). Pure.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gnod import bm25
from gnod.store.keyword_index.postings.segment import tokens
from gnod.store.tables.records import Terms

# Sparse vectors of Milvus allow at most 2³² - 2.
_IDS = 2**32 - 3
# Besides the counts and the mean length, the weights depend on these constants. If they change, all weights are
# published again.
WEIGHING = f"{bm25.COLUMN_WEIGHTS} {bm25.K1} {bm25.B}"
# The number of a dummy term for documents without terms, because a sparse vector cannot be empty.
NO_TERM = _IDS


class TermCounts(NamedTuple):
    """The terms of a document. `ids` ascend. `columns`: the frequencies in path, title and body, one row for each id.
    `length`: the total number of terms."""

    ids: NDArray[np.uint32]
    columns: NDArray[np.uint32]
    length: int


def term_id(term: str) -> int:
    """Return the number of a term. Of a million terms, about 230 share their number with another one."""
    return _id(term.encode(errors="surrogatepass"))


def counts_of(terms: Terms) -> TermCounts:
    """Count the terms of a document. Terms with the same number count as one."""
    streams = [tokens(stream) for stream in (terms.filepath, terms.title, terms.body)]
    rows: dict[int, list[int]] = {}
    for column, stream in enumerate(streams):
        for term, n in Counter(stream).items():
            rows.setdefault(_id(term), [0, 0, 0])[column] += n
    ids = sorted(rows)
    columns = np.array([rows[id_] for id_ in ids], np.uint32).reshape(-1, 3)
    return TermCounts(np.array(ids, np.uint32), columns, sum(map(len, streams)))


def weights_of(counts: TermCounts, average: float) -> dict[int, float]:
    """Return the weight of each term of a document. `average`: the mean length of all documents."""
    frequencies = counts.columns @ np.array(bm25.COLUMN_WEIGHTS)
    weights = bm25.saturated(frequencies, counts.length / max(average, 1.0))
    return dict(zip(counts.ids.tolist(), weights.tolist(), strict=True)) or {NO_TERM: 1.0}


def _id(term: bytes) -> int:
    return crc32(term) % _IDS
