"""The weights of terms. Their products are the scores of keyword search."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.bm25 import COLUMN_WEIGHTS, COVERED_TITLE, idf
from gnod.shared.weights import NO_TERM, counts_of, term_id, weights_of
from gnod.store.connection import Connection
from gnod.store.keyword_index import fulltext
from gnod.store.keyword_index.fulltext import Conditions, Term
from gnod.store.keyword_index.postings.segment import tokens
from gnod.store.tables.records import Terms
from tests.small_index import SmallIndex

WORDS = ["alpha", "beta", "Gamma", "дом", "東京", "x", "it's", "a.b", "word"]
STREAMS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
TERMS = st.builds(Terms, STREAMS, STREAMS, STREAMS)


def put(index: SmallIndex, stored: list[Terms]) -> None:
    """Replace the content of the full-text table with these documents, which have no other rows."""

    def work(connection: Connection) -> None:
        connection.execute("DELETE FROM documents")
        connection.execute("DELETE FROM documents_fts")
        connection.executemany(
            "INSERT INTO documents (id, collection_id, path, docid, source_hash, size, mtime_ns, inode, mirror_hash,"
            " title, mime, converter, dated, metadata, line_map, indexed_at)"
            " VALUES (?1, (SELECT id FROM collections), ?1, printf('#%08x', ?1), ?1, 0, 0, 0, '', '', '', '', 0, '{}',"
            " '[]', 0)",
            ((id_,) for id_ in range(1, len(stored) + 1)),
        )
        fulltext.store(connection, dict(enumerate(stored, 1)))

    index.write(work)


def scores(index: SmallIndex, words: list[str]) -> dict[int, float]:
    terms = [Term((fulltext.quote(word),)) for word in words]
    return dict(fulltext.search(index.reader, fulltext.weigh(index.reader, terms), Conditions(), 100).best)


def covered_title(terms: Terms, query: dict[int, float]) -> float:
    """Return the score of a title, which only keyword search adds."""
    title = tokens(terms.title)
    found = query.keys() & {term_id(token.decode()) for token in title}
    return COVERED_TITLE * sum(query[id_] for id_ in found) * len(found) / max(len(title), 1)


@given(stored=st.lists(TERMS, min_size=1, max_size=6), words=st.sets(st.sampled_from(WORDS), min_size=1, max_size=3))
def test_products_are_the_scores_of_the_full_text_table(
    shared_index: SmallIndex, stored: list[Terms], words: set[str]
) -> None:
    put(shared_index, stored)
    counted = [counts_of(terms) for terms in stored]
    average = sum(counts.length for counts in counted) / len(counted)
    wanted = {term_id(word.lower() if word.isascii() else word) for word in words}
    query = {id_: idf(len(counted), sum(id_ in counts.ids for counts in counted)) for id_ in wanted}
    expected = {
        number: sum(weight * weights.get(id_, 0.0) for id_, weight in query.items())
        + covered_title(stored[number - 1], query)
        for number, weights in enumerate(map(partial(weights_of, average=average), counted), 1)
    }
    found = scores(shared_index, sorted(words))
    assert found.keys() == {number for number, score in expected.items() if score > 0}
    for number, score in found.items():
        assert score == pytest.approx(expected[number], rel=1e-9)


@pytest.fixture(scope="module")
def shared_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    index = SmallIndex(tmp_path_factory.mktemp("index") / "index.sqlite")
    index.add({"a.md": "text"})
    yield index
    index.close()


def test_a_document_without_terms_has_a_weight_that_no_query_uses() -> None:
    counts = counts_of(Terms("", "", ""))
    assert weights_of(counts, 0.0) == {NO_TERM: 1.0}
    assert all(term_id(word) != NO_TERM for word in WORDS)


def test_weights_grow_with_the_column_and_shrink_with_the_length() -> None:
    title, body = (weights_of(counts_of(terms), 10.0) for terms in (Terms("", "a", ""), Terms("", "", "a")))
    longer = weights_of(counts_of(Terms("", "", "a" + " b" * 50)), 10.0)
    assert title[term_id("a")] > body[term_id("a")] > longer[term_id("a")]
    assert math.isclose(COLUMN_WEIGHTS[2], 1.0)
