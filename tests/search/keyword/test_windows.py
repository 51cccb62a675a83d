"""The best window of a long document, against a simple implementation; and its effect on a ranking."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.search.keyword import lexical, windows
from gnod.search.keyword.windows import best_windows, blended
from gnod.search.query.parsing import parse_clauses
from gnod.store.connection import Connection
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex

K1 = 1.2
HALF = windows.WINDOW // 2

positions = st.lists(st.integers(0, 1000), min_size=1, max_size=20, unique=True).map(sorted)
terms = st.lists(st.tuples(st.floats(0.1, 10), st.dictionaries(st.integers(1, 5), positions)), max_size=5)


def packed(of_term: dict[int, list[int]]) -> list[tuple[int, bytes]]:
    return [(document, array("I", each).tobytes()) for document, each in of_term.items()]


@given(terms)
def test_windows_are_as_defined(of_terms: list[tuple[float, dict[int, list[int]]]]) -> None:
    found = best_windows([(weight, packed(of_term)) for weight, of_term in of_terms])
    assert found.keys() == {document for _, of_term in of_terms for document in of_term}
    for document, window in found.items():
        scores = []
        for start in range(0, 1001, HALF):
            score = 0.0
            for weight, of_term in of_terms:
                tf = sum(start <= at < start + windows.WINDOW for at in of_term.get(document, []))
                score += weight * (K1 + 1) * tf / (tf + K1)
            scores.append(score)
        assert window == pytest.approx(max(scores))


def test_blending_keeps_the_scale_of_long_documents() -> None:
    scores = {1: 4.0, 2: 3.0, 3: 2.0, 4: 1.0}
    same_ratio = {1: 2.0, 3: 1.0}
    assert blended(scores, same_ratio) == pytest.approx(scores)
    assert blended(scores, {2: 0.1}) == pytest.approx(scores)
    assert blended(scores, {}) == scores
    better = blended(scores, {1: 1.0, 2: 3.0})
    assert better[2] > better[1]
    assert (better[3], better[4]) == (2.0, 1.0)
    assert blended({1: 0.0}, {1: 0.0}) == {1: 0.0}


def long_text(words: list[str], *, together: bool) -> str:
    """Return 1,500 filler words with the words in the middle, or far apart."""
    lines = [f"filler{i} line of text number {i}." for i in range(300)]
    for number, word in enumerate(words):
        place = 150 if together else 10 + number * 70
        lines[place] += f" {word}"
    return "\n".join(lines)


def test_a_long_document_with_the_words_together_is_better(small_index: SmallIndex) -> None:
    words = ["crane", "harbour", "licence", "renewal"]
    small_index.add(
        {
            "apart.md": long_text(words, together=False),
            "together.md": long_text(words, together=True),
            "another.md": long_text(["crane"], together=True),
        }
    )

    def work(connection: Connection) -> dict[str, dict[str, float]]:
        found = lexical.search(connection, parse_clauses(" ".join(words)), Filters(), limit=10)
        by_id = documents.by_ids(connection, [each.id for each in found.ranked])
        return {by_id[each.id].path: dict(each.components) for each in found.ranked}

    ranked = small_index.database.submit_read(work).result()
    assert next(iter(ranked)) == "together.md"
    assert ranked["together.md"]["window"] > 2 * ranked["apart.md"]["window"]
    assert small_index.search("crane", limit=1)  # a single word has no neighbours


def test_short_documents_keep_their_scores(small_index: SmallIndex) -> None:
    small_index.add({f"{i}.md": f"red {'word ' * i} green" for i in range(20)})
    found = lexical.search(small_index.reader, parse_clauses("red green"), Filters(), limit=20)
    assert ["window" in each.components for each in found.ranked] == [False] * 20
