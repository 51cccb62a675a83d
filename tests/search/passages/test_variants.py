"""The variants of query words that a document contains, and the passage that they find."""

from __future__ import annotations

from gnod.search.hits import analyzers_of, variants_in
from gnod.search.keyword import lexical
from gnod.search.keyword.marks import TermFinder, TermVariant
from gnod.search.passages.best_passage import best_passage, best_passage_of
from gnod.search.query.parsing import parse_clauses
from gnod.store.connection import Connection
from gnod.store.tables import documents
from tests.small_index import SmallIndex

FILLER = "\n\n".join(f"The valve of pump {i} is checked. Nothing else happens here, number {i}." for i in range(60))
ANSWER = "The emergency valve opens at nine bar."


def variants(connection: Connection, query: str) -> list[list[TermVariant]]:
    """Return the variants for the search in the first document."""
    return variants_in(connection, lexical.expression_of(connection, parse_clauses(query)), [1])[1]


def test_only_the_variants_that_are_in_the_document(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "Die Pumpen laufen."}, language="de")
    small_index.add({"b.md": "The pumps run."}, language="en")
    assert variants(small_index.reader, "Pumpen elephants") == [[("pump",), ("=pumpen",)], []]


def test_words_of_other_documents_are_not_looked_for(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "The pumpkin is elegant.", "b.md": "Pumps for elephants."})
    assert variants(small_index.reader, "pump elephants pumpkin") == [[], [], [("pumpkin",), ("=pumpkin",)]]


def test_a_text_in_parts_has_the_passage_of_the_whole(small_index: SmallIndex) -> None:
    text = f"{FILLER}\n\n{ANSWER}\n\n{FILLER}"
    small_index.add({"a.md": text})

    def work(connection: Connection) -> str:
        analyzers = lexical.analyzers_of_index(connection)
        found = variants(connection, "emergency valve opens")
        whole = best_passage(TermFinder(text, analyzers), found)
        in_parts = best_passage_of([text[:1500], text[1500:]], found, analyzers)
        assert whole.as_written() == in_parts.as_written()
        return whole.snippet

    assert ANSWER in small_index.database.submit_read(work).result()


def test_a_text_is_marked_as_its_language_has_it(small_index: SmallIndex) -> None:
    """`long` has the stem of `longer` in German, but not in English."""
    text = "The long days, and the longer nights."
    small_index.add({"a.md": text}, language="en")
    small_index.add({"b.md": "Die langen Nächte."}, language="de")

    def work(connection: Connection) -> list[str]:
        analyzers = analyzers_of(documents.by_ids(connection, [1]), lexical.analyzers_of_index(connection))[1]
        passage = best_passage(TermFinder(text, analyzers), variants(connection, "long"))
        return [passage.snippet[start:end] for start, end in passage.marks]

    assert small_index.database.submit_read(work).result() == ["long"]


def test_a_frequent_word_counts_beside_rarer_ones_far_down_in_the_text(small_index: SmallIndex) -> None:
    early = "\n\n".join(f"Alpha and beta, number {n}." for n in range(40))
    apart = "Nothing else happens here.\n\n" * 20
    text = f"{early}\n\n{apart}{FILLER}\n\n{apart}The valve of alpha and beta.\n\n{apart}{FILLER}"
    small_index.add({"a.md": text})

    def work(connection: Connection) -> str:
        analyzers = lexical.analyzers_of_index(connection)
        return best_passage(TermFinder(text, analyzers), variants(connection, "alpha beta valve")).snippet

    assert "The valve of alpha and beta." in small_index.database.submit_read(work).result()
