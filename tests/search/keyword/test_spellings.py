"""Every spelling of a word, symbol, number or date finds the others, below the typed spelling, and the snippet marks
it.

The pairs are in spellings.tsv. Each pair has two documents, one with the typed form and one with the written form. All
pairs are in one index.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gnod.analysis.stemming import normalise
from gnod.search.hits import analyzers_of
from gnod.search.keyword import lexical
from gnod.search.keyword.marks import TermFinder
from gnod.search.passages.best_passage import best_passage
from gnod.search.query.parsing import parse_clauses
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex

_ROWS = [
    line.split("\t")
    for line in (Path(__file__).parent / "spellings.tsv").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
_SENTENCES = {language: text for kind, language, _, text in _ROWS if kind == "sentence"}
_SHOWN = 10
_LEAST = 0.97


class Pair(NamedTuple):
    kind: str
    language: str
    typed: str
    written: str


_PAIRS = [Pair(*row) for row in _ROWS if row[0] != "sentence"]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    made = SmallIndex(tmp_path_factory.mktemp("spellings") / "index.sqlite")
    texts = {}
    for number, pair in enumerate(_PAIRS):
        texts[f"{number}-typed.md"] = _SENTENCES[pair.language].replace("{}", pair.typed)
        texts[f"{number}-written.md"] = _SENTENCES[pair.language].replace("{}", pair.written)
    made.add(texts)
    yield made
    made.close()


def _fault(index: SmallIndex, query: str, path: str, form: str) -> str | None:
    """Return the fault in the hits of a query: a document is missing, or the form in it is not marked."""
    found = lexical.search(index.reader, parse_clauses(query), Filters(), limit=_SHOWN)
    rows = documents.by_ids(index.reader, [each.id for each in found.ranked])
    row = next((row for row in rows.values() if row.path == path), None)
    if row is None:
        return f"{query!r} does not find {form!r}"
    text = documents.markdown(index.reader, row.mirror_hash)
    analyzers = analyzers_of(rows, lexical.analyzers_of_index(index.reader))[row.id]
    passage = best_passage(TermFinder(text, analyzers), found.expression.query_terms())
    marked = normalise("".join(passage.snippet[start:end] for start, end in passage.marks))
    letters = set(filter(str.isalnum, normalise(form)))
    return None if letters <= set(marked) else f"{query!r} marks {marked!r} of {form!r}"


def test_there_are_enough_pairs() -> None:
    assert len(_PAIRS) >= 300
    assert len({pair.language for pair in _PAIRS}) >= 40


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_each_form_finds_the_other(index: SmallIndex) -> None:
    faults = []
    for number, pair in enumerate(_PAIRS):
        faults += [
            _fault(index, pair.typed, f"{number}-written.md", pair.written),
            _fault(index, pair.written, f"{number}-typed.md", pair.typed),
        ]
    wrong = list(filter(None, faults))
    assert len(wrong) <= (1 - _LEAST) * len(faults), "\n".join(wrong)


@pytest.mark.parametrize(
    ("query", "best", "others"),
    [
        ("plug-in", "Install the plug-in now.", ["Install the plugin now.", "Install the plug into the wall."]),
        ("plugin", "Install the plugin now.", ["Install the plug-in now."]),
        (".NET 3.5", "Ported to .NET 3.5 last year.", ["Fishing nets, net weight 3.5 kg."]),
        ("C#", "Written in C# last year.", ["Written in C last year.", "Written in C++ last year."]),
        ("A-Company", "We met A-Company on Friday.", ["a company of a friend of a friend, a b a c"]),
        ("3.14", "The result is 3.14 here.", ["The result is 3,14 here.", "The result is 14 of 3 here."]),
    ],
)
def test_what_was_typed_comes_first(small_index: SmallIndex, query: str, best: str, others: list[str]) -> None:
    small_index.add({f"{number}.md": text for number, text in enumerate(others)} | {"best.md": best})
    assert small_index.search(query)[:1] == ["best.md"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("notable", "They are not able to come."),
        ("not able", "A notable man came."),
        ("therapist", "The rapist is in prison."),
        ("1234567", "Sizes 1,2,3,4,5,6,7 are sold."),
        ("1921681", "The host 192.168.1.10 is down."),
        ("2026-05-04", "On 5 April 2026 it rained."),
        ("12", "The number is 1 2."),
        ("3,14", "The ratio is 314."),
    ],
)
def test_other_words_are_not_found(small_index: SmallIndex, query: str, text: str) -> None:
    small_index.add({"other.md": text, "filler.md": "Nothing in particular."})
    assert "other.md" not in small_index.search(query)
