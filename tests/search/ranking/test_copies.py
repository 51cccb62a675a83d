"""Files with the same bytes are one result from any retriever, and the other files are listed with it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from gnod.protocol.search import Hit, SearchLexicalParams
from gnod.search.hits import MAX_COPIES
from gnod.search.hybrid import retrieval
from gnod.search.hybrid.retrieval import Retrieved
from gnod.search.keyword import lexical
from gnod.search.keyword.lexical import LexicalResult
from gnod.search.meaning import candidate_documents, vector_search
from gnod.search.meaning.vector_search import Nearest, QueryVectors
from gnod.search.query.parsing import parse_clauses, parse_query
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.tables.filters import Filters
from tests.hits import wire_hits
from tests.small_index import SmallIndex, vector_of

URI = "file:/models/one.gguf"
TEXT = "# Kayaks\n\nThe kayak glides over the lake.\n"


def add_copies(index: SmallIndex, number: int, collection: str = "notes", source: str = "kayak") -> None:
    index.add({f"copies/{n:03d}/kayak.md": TEXT for n in range(number)}, collection, source=source, language="en")


def add_others(index: SmallIndex, number: int) -> None:
    texts = {f"other{n}.md": f"# Boats {n}\n\nA kayak and {n} boats lie at the pier.\n" for n in range(number)}
    index.add(texts, language="en")


def paths(index: SmallIndex, ranked: Sequence[RankedDocument]) -> list[str]:
    known = {row[0]: str(row[1]) for row in index.rows("SELECT id, path FROM documents")}
    return [known[each.id] for each in ranked]


def search(index: SmallIndex, query: str, limit: int, filters: Filters | None = None) -> LexicalResult:
    return lexical.search(index.reader, parse_clauses(query), filters or Filters(), limit=limit)


def near(index: SmallIndex, text: str, limit: int, filters: Filters | None = None) -> list[RankedDocument]:
    row = vector_of(URI, text)
    vectors = QueryVectors({URI: np.stack([row / np.linalg.norm(row)])}, {"notes": URI, "archive": URI})
    return vector_search.search(index.reader, Nearest(), vectors, filters or Filters(), limit=limit)


def retrieved(index: SmallIndex, query: str) -> Retrieved:
    row = vector_of(URI, query)
    vectors = QueryVectors({URI: np.stack([row / np.linalg.norm(row)])}, {"notes": URI})
    lines = parse_query(query).lines

    words = retrieval.survey_words(index.reader, lines, Filters())
    meanings = [line for line in lines if not line.is_lexical]
    return retrieval.retrieve(index.reader, Nearest(), words, meanings, vectors, Filters())


def hits(index: SmallIndex, query: str, params: SearchLexicalParams, filters: Filters | None = None) -> list[Hit]:
    connection = index.reader
    clauses = parse_clauses(query)
    ranked = lexical.search(connection, clauses, filters or Filters(), limit=5).ranked
    return wire_hits(connection, ranked, lexical.expression_of(connection, clauses), params, filters=filters)


@pytest.mark.slow
@pytest.mark.parametrize(("copies", "others"), [(30, 3), (30, 20), (700, 20), (150, 130)])
def test_keyword_search_returns_as_many_different_files_as_asked_for(
    small_index: SmallIndex, copies: int, others: int
) -> None:
    add_copies(small_index, copies)
    add_others(small_index, others)
    found = search(small_index, "kayak", 5)
    shown = paths(small_index, found.ranked)
    assert len(shown) == min(5, others + 1)
    assert sum(path.startswith("copies/") for path in shown) <= 1
    assert found.total == others + 1


def test_among_equal_copies_the_shortest_path_is_shown(small_index: SmallIndex) -> None:
    texts = dict.fromkeys(("b/kayak.md", "long/way/kayak.md", "a/kayak.md"), TEXT)
    small_index.add(texts, source="kayak", language="en")
    small_index.embed(URI)
    assert paths(small_index, search(small_index, "glides", 5).ranked) == ["a/kayak.md"]
    assert paths(small_index, near(small_index, "anything", 5)) == ["a/kayak.md"]


def in_place(index: SmallIndex, ranked: Iterable[RankedDocument]) -> list[RankedDocument]:
    return candidate_documents.placed(index.reader, ranked)


def test_the_best_ranked_copy_is_shown(small_index: SmallIndex) -> None:
    small_index.add(dict.fromkeys(("a.md", "b.md", "summer/holiday.md"), TEXT), source="kayak", language="en")
    assert paths(small_index, search(small_index, "holiday kayak", 5).ranked) == ["summer/holiday.md"]


@pytest.mark.slow
@pytest.mark.parametrize("copies", [30, 600])
def test_vector_search_returns_as_many_different_files_as_asked_for(small_index: SmallIndex, copies: int) -> None:
    add_copies(small_index, copies)
    add_others(small_index, 7)
    small_index.embed(URI)
    shown = paths(small_index, near(small_index, "Kayaks||" + TEXT, 5))
    assert len(shown) == len({path.partition("/")[0] for path in shown}) == 5
    within = Filters(collections=("notes",), path_prefix="copies/1")
    assert len(near(small_index, "anything", 5, within)) == (copies > 100)


def test_both_retrievers_name_the_same_copy(small_index: SmallIndex) -> None:
    """The words find the copy with the best name, and the vector finds the copy with the shortest path."""
    small_index.add(dict.fromkeys(("a.md", "b.md", "summer/holiday.md"), TEXT), source="kayak", language="en")
    add_copies(small_index, 150, source="another")
    add_others(small_index, 20)
    small_index.embed(URI)
    found = retrieved(small_index, "holiday kayak")
    ids = {id_ for each in found.evidence for id_ in each.scores}
    shown = paths(small_index, [RankedDocument(id_, 0.0, None, {}) for id_ in ids])
    assert sorted(path for path in shown if not path.startswith("other")) == [
        "copies/000/kayak.md",
        "summer/holiday.md",
    ]
    assert len(shown) == 22
    holiday = next(id_ for id_, path in zip(ids, shown, strict=True) if path == "summer/holiday.md")
    assert all(holiday in each.scores for each in found.evidence)
    (placed,) = in_place(small_index, [found.near[holiday]])
    assert placed.span is not None


def test_a_span_of_another_text_is_not_taken_over(small_index: SmallIndex) -> None:
    """The same bytes may give different texts as `.md` and as `.txt`."""
    small_index.add({"a.md": "# Kayaks\n\nThe lake.\n"}, source="same", language="en")
    small_index.add({"summer.md": TEXT}, source="same", language="en")
    small_index.embed(URI)
    found = retrieved(small_index, "summer glides")
    (shown,) = paths(small_index, [RankedDocument(id_, 0.0, None, {}) for id_ in found.documents])
    assert shown == "summer.md"
    near = in_place(small_index, found.near.values())
    assert all(each.span is None or each.span.end <= len(TEXT) for each in near)


def test_a_hit_lists_the_copies_within_the_filters(small_index: SmallIndex) -> None:
    add_copies(small_index, 3)
    add_copies(small_index, 2, "archive")
    (hit,) = hits(small_index, "glides", SearchLexicalParams("glides"))
    assert (hit.collection, hit.path) == ("archive", "copies/000/kayak.md")
    assert [each.uri for each in hit.also] == [
        "gno://notes/copies/000/kayak.md",
        "gno://archive/copies/001/kayak.md",
        "gno://notes/copies/001/kayak.md",
        "gno://notes/copies/002/kayak.md",
    ]
    assert hit.also[0].source == "/data/notes/copies/000/kayak.md"
    wanted = SearchLexicalParams("glides", collections=["archive"])
    (hit,) = hits(small_index, "glides", wanted, Filters(collections=("archive",)))
    assert [each.path for each in hit.also] == ["copies/001/kayak.md"]


def test_an_excluded_word_excludes_copies_by_their_path(small_index: SmallIndex) -> None:
    small_index.add(dict.fromkeys(("a.md", "b.md", "draft.md"), TEXT), source="kayak", language="en")
    (hit,) = hits(small_index, "kayak -draft", SearchLexicalParams("kayak -draft"))
    assert [hit.path, *(each.path for each in hit.also)] == ["a.md", "b.md"]


def test_only_some_of_many_copies_are_listed(small_index: SmallIndex) -> None:
    add_copies(small_index, 30)
    (hit,) = hits(small_index, "glides", SearchLexicalParams("glides"))
    assert len(hit.also) == MAX_COPIES
    assert hit.also_left_out == 29 - MAX_COPIES


def test_a_removed_or_edited_copy_is_not_a_copy(small_index: SmallIndex) -> None:
    small_index.add(dict.fromkeys(("a.md", "b.md", "c.md"), TEXT), source="kayak", language="en")
    small_index.remove("b.md")
    small_index.add({"c.md": TEXT}, source="edited", language="en")
    found = hits(small_index, "glides", SearchLexicalParams("glides"))
    assert {hit.path: hit.also for hit in found} == {"a.md": [], "c.md": []}


@pytest.mark.parametrize("seed", range(3))
def test_every_document_with_a_copy_is_known(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    index = SmallIndex(tmp_path / "i.sqlite")
    for _ in range(60):
        path = f"{chance.randrange(8)}.md"
        if chance.random() < 0.3:
            index.remove(path) if index.rows("SELECT 1 FROM collections") else None
        else:
            index.add({path: "text"}, source=f"source {chance.randrange(3)}")
        shared = index.rows(
            "SELECT id FROM documents WHERE active AND source_hash IN"
            " (SELECT source_hash FROM documents WHERE active GROUP BY 1 HAVING count(*) > 1)"
        )
        known = index.rows(
            "SELECT document_id FROM copies JOIN documents d ON d.id = document_id AND d.active"
            " AND d.source_hash = copies.source_hash"
        )
        assert set(shared) <= set(known)
        assert len(known) == index.rows("SELECT count(*) FROM copies")[0][0]
    index.close()


def test_every_text_of_an_evaluation_is_its_own_document() -> None:
    from gnod.ingest.workers.jobs import TextJob
    from gnod.ingest.workers.worker import perform
    from gnod.store.tables.records import PreparedDocument

    outcomes = [perform(TextJob(text=TEXT, relative_path=path)) for path in ("a", "b")]
    hashes = {outcome.source_hash for outcome in outcomes if isinstance(outcome, PreparedDocument)}
    assert len(hashes) == 2
