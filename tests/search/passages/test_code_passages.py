"""The definition that a hit in source code shows."""

from __future__ import annotations

from gnod.analysis.terms import Analyzer
from gnod.search.keyword import lexical
from gnod.search.keyword.marks import TermFinder
from gnod.search.passages import code_passages
from gnod.search.passages.best_passage import best_passage
from gnod.search.query.parsing import parse_text
from gnod.store.tables import documents
from tests.small_index import SmallIndex

FILLER = "".join(f"    total += {number}\n" for number in range(40))
TEXT = (
    '"""Pauses, attempts and zebras."""\n\nimport attempts\nimport pauses\n\n'
    f"def other():\n{FILLER}    return attempts\n\n"
    f'def wait_between(attempts):\n    """Wait between attempts."""\n{FILLER}    return pauses\n\n'
    f"def last():\n{FILLER}    return pauses\n"
)


def line_of_hit(index: SmallIndex, query: str) -> int | None:
    (document,) = documents.under(index.reader, None, "", 10, 0)
    analyzers, text = [Analyzer("en")], documents.markdown(index.reader, document.mirror_hash)
    terms = lexical.query_terms(parse_text(query), analyzers)
    finder = TermFinder(text, analyzers)
    part = code_passages.best_definition(index.reader, document, finder, terms)
    return best_passage(finder, terms, within=part).line if part else None


def test_the_definition_with_the_words_is_shown(small_index: SmallIndex) -> None:
    small_index.add({"a.py": TEXT})
    lines = TEXT.split("\n")
    assert line_of_hit(small_index, "pauses between attempts") == lines.index("def wait_between(attempts):") + 1
    assert line_of_hit(small_index, "zebra") == 1
    assert line_of_hit(small_index, "nothing of it") is None


def test_a_document_without_definitions_has_none(small_index: SmallIndex) -> None:
    small_index.add({"a.md": TEXT})
    assert line_of_hit(small_index, "zebra") is None
