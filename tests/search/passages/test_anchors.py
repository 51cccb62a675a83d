"""Which variants of the words a document contains, and which of them leads to its best passage."""

from __future__ import annotations

import pytest

from gnod.analysis.terms import Analyzer
from gnod.search.hits import marked
from gnod.search.keyword.marks import TermFinder
from gnod.search.passages import anchors
from gnod.search.passages.anchors import AnchorTerms
from gnod.search.passages.best_passage import best_passage, best_passage_of
from gnod.search.query.parsing import parse_clauses
from gnod.store.connection import Connection
from gnod.store.tables import documents
from tests.small_index import SmallIndex

FILLER = "\n\n".join(f"The valve of pump {i} is checked. Nothing else happens here, number {i}." for i in range(60))
ANSWER = "The emergency valve opens at nine bar."


def wanted(index: SmallIndex, query: str) -> AnchorTerms:
    return wanted_in(index.reader, query)


def wanted_in(connection: Connection, query: str, text: str | None = None) -> AnchorTerms:
    """What the first document is searched for. `text`: its own, if it is short."""
    words = marked(connection, parse_clauses(query))
    known = documents.by_ids(connection, [1])
    return anchors.wanted(connection, words.expression, known, () if text is None else {1})[1]


def test_only_the_variants_that_are_in_the_document(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "Die Pumpen laufen."}, language="de")
    small_index.add({"b.md": "The pumps run."}, language="en")
    assert wanted(small_index, "Pumpen elephants").terms == [[("pump",), ("=pumpen",)], []]


def test_the_anchor_is_the_rarest_word_of_the_best_window(small_index: SmallIndex) -> None:
    small_index.add({"a.md": f"{FILLER}\n\n{ANSWER}\n\n{FILLER}\n\nAn emergency plan."})
    found = wanted(small_index, "emergency valve opens")
    assert found.anchor == ("open",)
    assert best_passage_of([f"{FILLER}\n\n{ANSWER}\n\n{FILLER}"], found.terms, [], ("none",)).line == 1
    assert wanted(small_index, "elephant").anchor is None


def test_the_passage_of_a_long_document_is_near_the_anchor(small_index: SmallIndex) -> None:
    text = f"{FILLER}\n\n{ANSWER}\n\n{FILLER}"
    small_index.add({"a.md": text})

    def work(connection: Connection) -> str:
        words = marked(connection, parse_clauses("emergency valve opens"))
        found = wanted_in(connection, "emergency valve opens")
        with_anchor = best_passage_of([text], found.terms, words.analyzers, found.anchor)
        assert with_anchor == best_passage_of([text], found.terms, words.analyzers)
        in_parts = best_passage_of([text[:1500], text[1500:]], found.terms, words.analyzers, found.anchor)
        assert with_anchor.as_written() == in_parts.as_written()
        return with_anchor.snippet

    assert ANSWER in small_index.database.submit_read(work).result()


def test_a_short_document_has_no_anchor(small_index: SmallIndex) -> None:
    small_index.add({"a.md": ANSWER})
    found = wanted(small_index, "emergency valve")
    assert found.anchor is None
    assert found.terms == [[("emergenc",), ("=emergency",)], [("valv",), ("=valve",)]]


def test_a_short_text_is_searched_only_for_words_that_its_document_has(small_index: SmallIndex) -> None:
    text = "The pumpkin is elegant."
    small_index.add({"a.md": text, "b.md": "Pumps for elephants."})
    found = wanted_in(small_index.reader, "pump elephants pumpkin", text)
    assert found.terms == [[], [], [("pumpkin",), ("=pumpkin",)]]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The pump runs. Running pumps!", "pumps running ran"),
        ("call retry_with_backoff() in node.js", "backoff retry_with_backoff node.js node"),
        ("state-of-the-art, a real time system; real-time", "real-time state-of-the-art system"),
        ("getUserName and GitHub, PDFs of 2024", "user GitHub github pdf 2024 getUserName"),
        ("東京の北京大学", "東京 京 大学 北京"),
        ("Žluťoučký kůň, naïve", "zlutoucky naive kun"),
        ("C++ and C# are not C", "C++ C# C"),
        ("unrelated", "related relate un"),
        (f"{FILLER} The valve closes.", "valves close pumps nothing"),
    ],
)
def test_a_short_text_shows_what_the_table_says_of_it(small_index: SmallIndex, text: str, query: str) -> None:
    small_index.add({"a.md": text}, language="en")
    small_index.add({"b.md": "Die Pumpen laufen."}, language="de")

    connection = small_index.reader
    analyzers = [Analyzer("en")]
    of_table, of_text = wanted_in(connection, query), wanted_in(connection, query, text)
    finder = TermFinder(text, analyzers)
    assert best_passage(finder, of_text.terms) == best_passage(finder, of_table.terms)


def test_a_short_text_is_marked_as_its_language_has_it(small_index: SmallIndex) -> None:
    """German has `long` for `longer`, English does not."""
    text = "The long days, and the longer nights."
    small_index.add({"a.md": text}, language="en")
    small_index.add({"b.md": "Die langen Nächte."}, language="de")

    def work(connection: Connection) -> list[str]:
        words = marked(connection, parse_clauses("long"))
        analyzers = anchors.analyzers_of(documents.by_ids(connection, [1]), words.analyzers)[1]
        passage = best_passage(TermFinder(text, analyzers), wanted_in(connection, "long", text).terms)
        return [passage.snippet[start:end] for start, end in passage.marks]

    assert small_index.database.submit_read(work).result() == ["long"]
