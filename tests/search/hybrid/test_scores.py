"""Scores are in [0, 1], in the order of the ranks, and the same for any limit."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from gnod.search.hybrid import stages
from gnod.search.hybrid.budget import Backoff, ThroughputEstimate
from gnod.search.hybrid.stages import HybridResult, HybridSettings, SearchDependencies
from gnod.search.keyword import lexical
from gnod.search.meaning.vector_search import Nearest, QueryVectors
from gnod.search.query.parsing import parse_clauses, parse_query
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.tables.filters import Filters
from gnod.types import FusionMethod, UnavailableModel
from tests.small_index import SmallIndex, vector_of

URI = "file:pseudo-random"
LIMITS = (1, 3, 10, 60, 150, 1000)
# A single word, words of all weights, a repeated word, a phrase, a word that does not occur.
QUERIES = ("tide", "tide lamp boat", "the boat tide tide", '"lamp boat" rope', "rope xyzzy", "-tide boat lamp")


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    """An index of 300 documents: every tenth is long, every fifteenth has a copy."""
    chance = random.Random(7)
    words = ["tide", "lamp", "boat", "rope", *(f"word{n}" for n in range(60))]
    weights = [1, 4, 9, 2, *[6] * 60]
    index = SmallIndex(tmp_path_factory.mktemp("harbour") / "index.sqlite")
    for number in range(300):
        size = 900 if number % 10 == 0 else chance.randint(3, 60)
        text = f"# Page {number}\n\n{' '.join(chance.choices(words, weights, k=size))}\n"
        copied = [f"copies/{number}.md"] if number % 15 == 0 else []
        index.add(dict.fromkeys([f"{number}.md", *copied], text), language="en", source=str(number))
    index.embed(URI)
    yield index
    index.close()


def by_keyword(index: SmallIndex, query: str, limit: int, min_score: float = 0.0) -> list[RankedDocument]:
    clauses = parse_clauses(query)
    return lexical.search(index.reader, clauses, Filters(), limit=limit, min_score=min_score).ranked


def by_both(
    index: SmallIndex,
    query: str,
    limit: int,
    min_score: float = 0.0,
    fusion: FusionMethod = "convex",
    *,
    embeds: bool = True,
) -> list[RankedDocument]:
    options = HybridSettings(limit=limit, min_score=min_score, fusion=fusion)
    return search_both(index, query, options, embeds=embeds).shown()


def search_both(index: SmallIndex, query: str, options: HybridSettings, *, embeds: bool = True) -> HybridResult:
    async def embed(queries: Sequence[str], passages: Sequence[str]) -> QueryVectors:
        rows = [vector_of(URI, text) for text in (*queries, *passages)]
        return QueryVectors({URI: np.stack([row / np.linalg.norm(row) for row in rows])}, {"notes": URI})

    nothing = UnavailableModel("no model")
    dependencies = SearchDependencies(
        read=index.database.read,
        nearest=Nearest(),
        embed=embed if embeds else nothing,
        expander=nothing,
        reranker=nothing,
        throughput=ThroughputEstimate(),
        backoff=Backoff(),
    )
    return asyncio.run(stages.search(dependencies, parse_query(query), Filters(), options))


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("search", [by_keyword, by_both], ids=["keyword", "both"])
def test_a_limit_only_cuts(harbour: SmallIndex, search: object, query: str) -> None:
    assert callable(search)
    most: list[RankedDocument] = search(harbour, query, LIMITS[-1])
    scores = [each.score for each in most]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert search is by_both or scores[-1] > 0, "the last document also has a score"
    assert len({each.id for each in most}) == len(most)
    good = scores[len(scores) // 3]
    for limit in LIMITS:
        assert [each[:2] for each in search(harbour, query, limit)] == [each[:2] for each in most[:limit]]
        enough = [each[:2] for each in most[:limit] if each.score >= good]
        assert [each[:2] for each in search(harbour, query, limit, good)] == enough


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES)
def test_a_limit_only_cuts_by_keyword_alone_and_by_ranks(harbour: SmallIndex, query: str) -> None:
    for options in ({"embeds": False}, {"fusion": "rrf"}):
        most = by_both(harbour, query, LIMITS[-1], **options)
        assert most[0].score == 1.0
        assert most[-1].score > 0
        for limit in LIMITS:
            found = by_both(harbour, query, limit, **options)
            assert [each[:2] for each in found] == [each[:2] for each in most[:limit]]


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES)
def test_the_documents_that_are_counted_are_those_that_the_highest_limit_returns(
    harbour: SmallIndex, query: str
) -> None:
    for limit in LIMITS:
        found = search_both(harbour, query, HybridSettings(limit=limit))
        assert found.total == len(found.compared) == len(by_both(harbour, query, LIMITS[-1]))


def test_a_keyword_score_says_how_much_of_the_query_a_document_has(small_index: SmallIndex) -> None:
    filler = " ".join(f"filler{n}" for n in range(40))
    texts = {"full.md": "zebra okapi " * 200, "once.md": f"zebra okapi {filler}", "half.md": f"zebra {filler}"}
    small_index.add(texts | {f"other{n}.md": filler for n in range(20)})
    full, once, half = by_keyword(small_index, "zebra okapi", 10)
    assert full.score > 0.85
    assert 0.3 < once.score < 0.8
    assert 0.1 < half.score < 0.6 * once.score
    assert [each.score for each in by_keyword(small_index, "zebra okapi xyzzy", 10)] < [full.score / 1.2]
    assert len(by_keyword(small_index, "zebra okapi", 10, min_score=0.9 * once.score)) == 2
