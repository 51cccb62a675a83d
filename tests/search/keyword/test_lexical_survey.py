"""Keyword scores for fusion are equal to BM25 and its spread, computed with NumPy from the index terms."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from gnod.bm25 import COVERED_TITLE
from gnod.bm25 import FUSED_COLUMN_WEIGHTS as WEIGHTS
from gnod.search.keyword import lexical
from gnod.search.keyword.lexical import ALL_WORDS_BONUS, LexicalSurvey
from gnod.search.query.parsing import parse_clauses
from gnod.store.connection import Connection
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex

WORDS = ["zebra", "lion", "tiger", "panda", "otter", "heron", "gecko", "lemur"]
K1, B = 1.2, 0.75


@pytest.fixture
def zoo(small_index: SmallIndex) -> SmallIndex:
    chance = random.Random(11)
    texts = {}
    for number in range(60):
        # Some words are in nearly every document, others in hardly any.
        body = [word for word in WORDS if chance.random() < 1 / (1 + WORDS.index(word))]
        body = [chance.choice(body) for _ in range(chance.randrange(1, 40))] if body else ["nobody"]
        texts[f"{chance.choice(WORDS)}{number}.md"] = f"# {chance.choice(WORDS)} page\n\n{' '.join(body)}\n"
    small_index.add(texts, language="en")
    small_index.add({"small.md": "a lion alone"}, collection="small", language="en")
    return small_index


class Terms(NamedTuple):
    """The current index: the frequency of each term in each column of each document, and the length of each
    document."""

    counts: dict[str, Counter[tuple[int, str]]]
    lengths: dict[int, int]

    def bm25(self, term: str) -> NDArray[np.float64]:
        lengths = np.array([self.lengths[id_] for id_ in sorted(self.lengths)])
        often = sum(w * self._often(term, c) for w, c in zip(WEIGHTS, ("filepath", "title", "body"), strict=True))
        scores: NDArray[np.float64] = often * (K1 + 1) / (often + K1 * (1 - B + B * lengths / lengths.mean()))
        return self._idf(term) * scores

    def scores(self, words: Sequence[str]) -> NDArray[np.float64]:
        """Return the scores for a query, with the bonus for titles that it covers."""
        in_title = {word: self._often(word, "title") > 0 for word in words}
        titles = sum(self._often(word, "title") for word in self.counts)
        weights = sum(self._idf(word) * in_title[word] for word in words)
        covered = np.sum(list(in_title.values()), axis=0) / np.maximum(titles, 1)
        scores: NDArray[np.float64] = sum(map(self.bm25, words)) + COVERED_TITLE * weights * covered
        return scores

    def _often(self, term: str, column: str) -> NDArray[np.float64]:
        found = self.counts.get(term, Counter())
        return np.array([float(found[(id_, column)]) for id_ in sorted(self.lengths)])

    def _idf(self, term: str) -> float:
        n = len({id_ for id_, _ in self.counts.get(term, ())})
        return float(np.log(1 + (len(self.lengths) - n + 0.5) / (n + 0.5)))


def terms_of(index: SmallIndex) -> Terms:
    def work(connection: Connection) -> list[tuple[str, int, str]]:
        connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, documents_fts, instance)")
        rows = [(str(t), int(d), str(c)) for t, d, c in connection.execute("SELECT term, doc, col FROM temp.terms")]
        connection.execute("DROP TABLE temp.terms")
        return rows

    counts: dict[str, Counter[tuple[int, str]]] = {}
    lengths: Counter[int] = Counter()
    for term, document_id, column in index.write(work):
        counts.setdefault(term, Counter())[(document_id, column)] += 1
        lengths[document_id] += 1
    return Terms(counts, dict(lengths))


def surveyed(index: SmallIndex, query: str, filters: Filters | None = None, depth: int = 1000) -> LexicalSurvey:
    return lexical.survey(index.reader, parse_clauses(query), filters or Filters(), depth=depth)


@pytest.mark.parametrize(
    "query", ["zebra", "heron", "zebra lion", "lemur otter zebra", "gecko gecko lion", "panda xqzzy"]
)
def test_scores_and_prominence_are_those_of_numpy(zoo: SmallIndex, query: str) -> None:
    terms = terms_of(zoo)
    each = [terms.bm25(word) for word in query.split()]
    raw = terms.scores(query.split())
    whole = np.all([scores > 0 for scores in each], axis=0) & (len(set(query.split())) > 1)
    with_bonus = raw * (1 + ALL_WORDS_BONUS * whole)
    found = surveyed(zoo, query)
    expected = {id_: score for id_, score in zip(sorted(terms.lengths), with_bonus, strict=True) if score > 0}
    assert found.scores == pytest.approx(expected, rel=1e-6)
    assert list(found.scores.values()) == sorted(found.scores.values(), reverse=True)
    roots = np.sqrt(raw)
    assert found.prominence == pytest.approx((np.sqrt(with_bonus.max()) - roots.mean()) / roots.std(), rel=1e-6)
    assert found.beyond == 0.0


def test_filters_leave_scores_and_spread_as_they_are(zoo: SmallIndex) -> None:
    everywhere = surveyed(zoo, "lion")
    there = surveyed(zoo, "lion", Filters(collections=("small",)))
    ((id_, score),) = there.scores.items()
    assert score == everywhere.scores[id_]
    best = max(everywhere.scores.values())
    assert there.prominence < everywhere.prominence
    assert score < best


def test_documents_beyond_the_depth_get_the_mean_score(zoo: SmallIndex) -> None:
    everything = surveyed(zoo, "zebra")
    cut = surveyed(zoo, "zebra", depth=7)
    assert list(cut.scores.items()) == list(everything.scores.items())[:7]
    assert cut.prominence == pytest.approx(everything.prominence)
    rest = np.sort(terms_of(zoo).scores(["zebra"]))[:-7]
    assert cut.beyond == pytest.approx(rest.mean())
    assert 0 < cut.beyond < min(cut.scores.values())


def test_nothing_found(zoo: SmallIndex) -> None:
    nothing = surveyed(zoo, "xqzzy")
    assert (nothing.scores, nothing.beyond, nothing.prominence) == ({}, 0.0, 0.0)
    nowhere = surveyed(zoo, "lion", Filters(path_prefix="nowhere"))
    assert (nowhere.scores, nowhere.prominence) == ({}, 0.0)


def test_a_word_that_every_document_has_still_counts(small_index: SmallIndex) -> None:
    small_index.add({f"{n}.md": "lion" + " word" * n for n in range(5)}, language="en")
    assert all(score > 0 for score in surveyed(small_index, "lion").scores.values())
    assert len(surveyed(small_index, "lion").scores) == 5


def test_phrases_and_exclusions_hold(zoo: SmallIndex) -> None:
    def texts(found: LexicalSurvey) -> list[str]:
        rows = zoo.rows("SELECT d.id, c.markdown FROM documents d JOIN content c USING (mirror_hash)")
        known = {row[0]: str(row[1]) for row in rows}
        return [known[id_] for id_ in found.scores]

    assert all("zebra zebra" in text for text in texts(surveyed(zoo, '"zebra zebra" lion')))
    without = texts(surveyed(zoo, "zebra -lion"))
    assert without
    assert not any("lion" in text.lower() for text in without)
