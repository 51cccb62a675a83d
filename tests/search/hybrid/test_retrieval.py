"""The evidence of both retrievers, on a real index with vectors made of hashes: each retriever scores the other's
documents, and exclusions and phrases of the query apply to every list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import pytest

from gnod.errors import QuerySyntaxError
from gnod.models.readability import LanguageReading, Readability
from gnod.search.hybrid import retrieval
from gnod.search.hybrid.budget import ReadabilityOf
from gnod.search.hybrid.retrieval import Retrieved
from gnod.search.meaning.vector_search import Nearest, QueryVectors
from gnod.search.query.parsing import QueryLine, Subquery, parse_query, variant_lines
from gnod.search.ranking.fusion import NEAR, RetrieverResults, Trust
from gnod.store.connection import Connection
from gnod.store.tables import learned_factors
from gnod.store.tables.filters import Filters
from gnod.store.tables.learned_factors import Prior
from gnod.store.vectors import vectors
from tests.small_index import SmallIndex, vector_of

URI = "file:/models/one.gguf"
# The mean of unrelated texts. All queries are equally far from it.
ORIGIN = np.zeros_like(vector_of(URI, "")).tobytes()
READABLE = Readability(
    version=1,
    model="",
    languages={"en": LanguageReading(separation=1.0, centre=ORIGIN, deviation=0.4)},
    scripts={"LATIN": 1.0},
)
READING = LanguageReading(separation=0.5, centre=b"", deviation=0.1)


@pytest.fixture
def cars(small_index: SmallIndex) -> SmallIndex:
    """An index of 200 pages. Most have no word of the queries."""
    texts = {f"other{n}.md": f"# Page {n}\n\nNothing about it, in {n} words.\n" for n in range(190)}
    texts |= {f"cat{n}.md": f"# Cat {n}\n\nThe jaguar is a big cat. {'cat ' * n}\n" for n in range(5)}
    texts |= {f"car{n}.md": f"# Car {n}\n\nThe jaguar is a fast car. {'car ' * n}\n" for n in range(5)}
    small_index.add(texts, language="en")
    return small_index


def retrieved(
    index: SmallIndex,
    query: str,
    variants: Sequence[Subquery] = (),
    filters: Filters | None = None,
    with_vectors: bool = True,
    reader: ReadabilityOf = lambda _: None,
) -> Retrieved:
    originals, added = parse_query(query).lines, variant_lines(variants)
    wanted = filters or Filters()

    def meant(lines: Sequence[QueryLine]) -> list[QueryLine]:
        return sorted((x for x in lines if not x.is_lexical), key=lambda x: x.subquery.kind == "hyde")

    words = retrieval.survey_words(index.reader, [*originals, *added], wanted)
    meanings = [*meant(originals), *meant(added)]
    rows = [vector_of(URI, line.subquery.text) for line in meanings]
    unit = {URI: np.stack([row / np.linalg.norm(row) for row in rows])} if rows else {}
    given = QueryVectors(unit, {"notes": URI}) if rows else None
    return retrieval.retrieve(
        *(index.reader, Nearest(), words, meanings, given if with_vectors else None, wanted), readability=reader
    )


def paths(index: SmallIndex, scores: Mapping[int, float]) -> list[str]:
    known = {row[0]: str(row[1]) for row in index.rows("SELECT id, path FROM documents")}
    return [known[id_] for id_ in scores]


def of(found: Retrieved, kind: str) -> RetrieverResults:
    return next(each for each in found.evidence if each.retriever == kind)


def test_each_retriever_scores_the_documents_of_the_other(cars: SmallIndex) -> None:
    cars.embed(URI)
    found = retrieved(cars, "jaguar")
    words, meanings = of(found, "lexical"), of(found, "vector")
    assert words.scores.keys() == meanings.scores.keys()
    assert (words.found, meanings.found) == (10, 100)
    assert all(path.startswith("ca") for path in paths(cars, words.scores)[:10])
    assert set(list(words.scores.values())[10:]) == {0.0}
    assert list(meanings.scores.values()) == sorted(meanings.scores.values(), reverse=True)
    assert words.prominence
    assert meanings.prominence
    assert found.bm25 == dict(list(words.scores.items())[:10])
    assert found.similarity == meanings.scores
    assert found.near.keys() == meanings.scores.keys()


def test_a_document_without_a_vector_is_found_by_words(cars: SmallIndex) -> None:
    cars.embed(URI, limit=50)
    found = retrieved(cars, "jaguar")
    embedded = {
        row[0]
        for row in cars.rows(
            "SELECT d.id FROM documents d JOIN chunks USING (mirror_hash) JOIN content_vectors USING (embed_hash)"
        )
    }
    assert of(found, "vector").scores.keys() == embedded
    assert len([path for path in paths(cars, of(found, "lexical").scores) if path.startswith("ca")]) == 10


def test_without_vectors_only_keywords_are_used(cars: SmallIndex) -> None:
    found = retrieved(cars, "jaguar", with_vectors=False)
    assert [each.retriever for each in found.evidence] == ["lexical"]
    assert found.near == {}
    assert found.similarity == {}


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("jaguar -car", "cat"),
        ('jaguar "fast car"', "car"),
        ('jaguar -"big cat"', "car"),
        ("lex: jaguar\nlex: jaguar -car\nvec: a beast", "cat"),
        ("lex: jaguar -car\nhyde: The beast sleeps.", "cat"),
    ],
)
def test_what_is_excluded_or_required_binds_every_list(cars: SmallIndex, query: str, kept: str) -> None:
    cars.embed(URI)
    variants = [Subquery("lex", "jaguar cat car"), Subquery("vec", "jaguar"), Subquery("hyde", "It is so.")]
    found = retrieved(cars, query, variants)
    banned = "car" if kept == "cat" else "cat"
    for each in found.evidence:
        there = paths(cars, each.scores)
        assert not [path for path in there if path.startswith(banned)]
        assert 0 <= each.found <= len(each.scores)
        if each.retriever == "lexical":
            assert all(path.startswith(kept) for path in there[: each.found]), "its own results come first"
    if '"fast car"' in query:
        assert all(path.startswith("car") for each in found.evidence for path in paths(cars, each.scores))


def test_filters_bind_every_list(cars: SmallIndex) -> None:
    cars.embed(URI)
    variants = [Subquery("lex", "jaguar car"), Subquery("vec", "who"), Subquery("hyde", "It is so.")]
    found = retrieved(cars, "jaguar", variants, Filters(path_prefix="cat"))
    assert [each.retriever for each in found.evidence] == ["lexical", "lexical", "vector", "vector", "vector"]
    assert all(path.startswith("cat") for each in found.evidence for path in paths(cars, each.scores))
    assert all(len(each.scores) == 5 for each in found.evidence)


def test_variants_are_short_lists_without_a_prominence(cars: SmallIndex) -> None:
    cars.embed(URI)
    variants = [Subquery("lex", "nothing"), Subquery("vec", "who"), Subquery("hyde", "It is so.")]
    found = retrieved(cars, "jaguar", variants)
    made_up = [each for each in found.evidence if each.prominence is None]
    assert [(each.retriever, each.weight) for each in made_up] == [("lexical", 1.0), ("vector", 1.0), ("vector", 1.4)]
    assert all(len(each.scores) == each.found == retrieval.POOL for each in made_up)


def test_a_variant_without_words_is_left_out(cars: SmallIndex) -> None:
    found = retrieved(cars, "jaguar", [Subquery("lex", "?!")], with_vectors=False)
    assert len(found.evidence) == 1
    with pytest.raises(QuerySyntaxError):
        retrieved(cars, "lex: ?!", with_vectors=False)


def test_a_prior_of_the_collection_counts_while_its_model_serves(cars: SmallIndex) -> None:
    cars.embed(URI)
    prior = Prior("notes", 4.0, URI, 9, 99, 0.5, 0.6, 0.6, 0.7, 1.0)

    def learn(connection: Connection) -> None:
        vectors.serve(connection, "notes", URI)
        learned_factors.put(connection, prior)

    cars.write(learn)
    found = retrieved(cars, "car")
    assert set(found.trust.values()) == {Trust(vector=4.0)}
    assert found.trust.keys() == found.documents.keys()
    assert learned_factors.all_priors(cars.reader) == [prior]
    cars.write(lambda c: learned_factors.put(c, prior._replace(model="file:/another.gguf")))
    assert not retrieved(cars, "car").trust
    assert cars.write(lambda c: learned_factors.reset(c, "notes"))
    assert not cars.write(lambda c: learned_factors.reset(c, "notes"))


def test_what_the_model_cannot_read_is_found_by_words_alone(cars: SmallIndex) -> None:
    cars.add({"hindi.md": "car क्रेन " * 20}, language="hi")
    cars.embed(URI)
    unread = Readability(version=1, model="", languages={"hi": READING}, scripts={"DEVANAGARI": 0.5})
    found = retrieved(cars, "car", reader=lambda _: unread)
    hindi = next(id_ for id_, facts in found.documents.items() if facts.language == "hi")
    assert found.trust == {hindi: Trust(vector=0.0)}
    assert hindi in of(found, "lexical").scores
    assert hindi not in of(found, "vector").scores
    assert hindi not in found.near
    assert hindi in of(retrieved(cars, "car"), "vector").scores


def test_documents_without_a_word_that_are_hardly_nearer_than_unrelated_texts_are_loose(cars: SmallIndex) -> None:
    """The vectors are made of hashes, so all documents are unrelated to the query."""
    cars.embed(URI)
    found = retrieved(cars, "jaguar", reader=lambda _: READABLE)
    with_the_word = {id_ for id_ in found.documents if id_ in found.bm25}
    assert len(with_the_word) == 10
    assert found.loose == found.documents.keys() - with_the_word

    every, kept = (retrieval.fuse(found, "convex", 1000, loose=loose) for loose in (True, False))
    assert {each.id for each in every.ranked if each.is_loose} == found.loose
    assert [each[:2] for each in kept.ranked] == [each[:2] for each in every.ranked if not each.is_loose]
    assert every.loose == kept.loose == len(found.loose)


def test_a_document_that_is_near_is_not_loose_although_it_has_no_word(cars: SmallIndex) -> None:
    cars.embed(URI)
    found = retrieved(cars, "jaguar")
    nearest = max(found.similarity.keys() - found.bm25.keys(), key=lambda id_: found.similarity[id_])
    cosine = 2 * found.similarity[nearest] - 1
    english = msgspec.structs.replace(READABLE.languages["en"], deviation=cosine / (NEAR + 1))
    reader = msgspec.structs.replace(READABLE, languages={"en": english})
    assert nearest not in retrieved(cars, "jaguar", reader=lambda _: reader).loose


@pytest.mark.parametrize(
    ("query", "above"),
    [('"big cat"', 5), ("jaguar", 10), ("jaguar -car", 5), ("lex: cat\nlex: fast car\nvec: a beast", 10)],
)
def test_documents_with_the_words_are_above_the_line(cars: SmallIndex, query: str, above: int) -> None:
    cars.embed(URI)
    found = retrieved(cars, query, reader=lambda _: READABLE)
    fused = retrieval.fuse(found, "convex", 1000, loose=False)
    assert [path[:2] for path in paths(cars, {each.id: 1.0 for each in fused.ranked})] == ["ca"] * above


def test_nothing_is_loose_where_the_model_was_not_measured_or_nothing_was_searched_by_vector(cars: SmallIndex) -> None:
    cars.embed(URI)
    assert not retrieved(cars, "jaguar").loose
    assert not retrieved(cars, "jaguar", with_vectors=False, reader=lambda _: READABLE).loose
