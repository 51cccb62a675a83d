"""A hit shows either the nearest part by vector, or the place of the query's words."""

from __future__ import annotations

import pytest

from gnod.search.hits import HitOptions, hits_of
from gnod.search.keyword import lexical
from gnod.search.passages.best_passage import ShownPassage
from gnod.search.query.parsing import parse_query
from gnod.search.ranking.ranked import RankedDocument, Span
from tests.small_index import SmallIndex

BOTH = {"lexical": 0.2, "vector": 0.8}
LOG = "".join(f"2026-03-01 INFO worker {number} took job {7 * number + 30_000} in time\n" for number in range(3000))
TABLE = "| name | city |\n| --- | --- |\n" + "".join(f"| person{n} Berg | Lyon |\n" for n in range(900))
NOTES = "\n\n".join(f"The pump of hall {n} runs while the valve is open." for n in range(200))
BOOK = f"{NOTES}\n\nThe *red* valve of\n> the second boiler leaks.\n\n{NOTES}"


def shown(
    index: SmallIndex, text: str, query: str, near: str, *, path: str = "a.md", components: dict[str, float] = BOTH
) -> ShownPassage:
    """Return the passage of a document. `near`: the beginning of its nearest part by vector."""
    index.add({path: text}, language="en")
    start = text.index(near)
    span = Span(start, start + 600, text.count("\n", 0, start) + 1, text.count("\n", 0, start + 600) + 1)
    ranked = [RankedDocument(1, 1.0, span, components)]
    words = lexical.expression_of(index.reader, parse_query(query).terms)
    (hit,) = hits_of(index.reader, ranked, words, HitOptions())
    return hit.passages[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "query", "near", "line"),
    [
        (LOG, '"worker 2800"', "2026-03-01 INFO worker 1500 ", "worker 2800 took"),
        (LOG, "worker 2800", "2026-03-01 INFO worker 1500 ", "worker 2800 took"),
        (LOG, "what did worker 2800 do in time", "2026-03-01 INFO worker 1500 ", "worker 2800 took"),
        (LOG, '"job 49600"', "2026-03-01 INFO worker 100 ", "job 49600"),
        (TABLE, "person350", "| person700 ", "person350"),
        (TABLE, '"person350 Berg" Lyon', "| person10 ", "person350"),
        (BOOK, '"red valve of the second boiler"', "The pump of hall 7 ", "The red valve"),
        (BOOK, "valve leaks hall", "The pump of hall 7 ", "The red valve"),
    ],
)
def test_a_phrase_or_a_rare_word_decides(small_index: SmallIndex, text: str, query: str, near: str, line: str) -> None:
    found = shown(small_index, text, query, near)
    assert found.line <= text.replace("*", "")[: text.replace("*", "").index(line)].count("\n") + 1 <= found.end_line
    assert line in found.snippet


def test_the_nearest_part_decides_between_words_that_are_everywhere(small_index: SmallIndex) -> None:
    assert "hall 120 " in shown(small_index, BOOK, "is the pump running", "The pump of hall 120 ").snippet


def test_the_nearest_part_is_shown_where_the_document_has_no_word(small_index: SmallIndex) -> None:
    assert "hall 120 " in shown(small_index, BOOK, "machinery", "The pump of hall 120 ").snippet


def test_a_document_that_only_vectors_found_shows_the_nearest_part(small_index: SmallIndex) -> None:
    only_near = shown(small_index, LOG, "worker 2800", "2026-03-01 INFO worker 1500 ", components={"similarity": 0.8})
    assert only_near.line == 1501


@pytest.mark.parametrize(
    ("query", "line"),
    [
        ("canvassing", "no canvassing of tenants"),
        ("timed", "a timed test"),
        ('"query can"', "the query can fail"),
        ("ŽLUŤOUČKÝ", "žluťoučký kůň"),
        ("rolled-back", "a rolled-back row"),
        ("rolled-back row", "a rolled-back row"),
    ],
)
def test_among_words_with_one_stem_the_written_one_is_shown(small_index: SmallIndex, query: str, line: str) -> None:
    others = "Canvass the halls.\n\nRoll back the row.\n\nThe queries can wait.\n\nŽluťoučkých koní je málo.\n\n"
    others += "Time is short.\n\n"
    text = f"{others}{NOTES}\n\nThere is {line}.\n\n{NOTES}\n\n{others}"
    assert line in shown(small_index, text, query, "The pump of hall 7 ").snippet


def test_a_word_that_the_best_definition_lacks_decides(small_index: SmallIndex) -> None:
    code = "".join(f"def retry_{n}(job):\n    return job.retry({n})\n\n\n" for n in range(120))
    text = code + "LIMIT = retry_limit(job='nightly')\n"
    found = shown(small_index, text, "retry nightly", "def retry_7(", path="a.py")
    assert "job='nightly'" in found.snippet


def test_a_quoted_phrase_in_a_structured_query_is_one(small_index: SmallIndex) -> None:
    found = shown(small_index, LOG, 'lex: "worker 2800"\nvec: a worker took a job', "2026-03-01 INFO worker 1500 ")
    assert "worker 2800 took" in found.snippet
