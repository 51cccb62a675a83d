"""A packet of evidence never exceeds its budget, repeats nothing, and is an exact copy of lines of the documents."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.answers import evidence, packet, structure
from gnod.answers.evidence import EvidenceList
from gnod.answers.packet import Option, Packet, PacketSource
from gnod.answers.quoting import QuoteDependencies
from gnod.answers.structure import Range
from gnod.search.hybrid.budget import ThroughputEstimate
from gnod.search.hybrid.stages import HybridResult
from gnod.search.passages.sentences import units
from gnod.search.query.parsing import parse_query
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection
from gnod.store.tables import documents
from gnod.types import UnavailableModel, estimated_tokens
from tests.search.passages.test_sentences import PIECES
from tests.small_index import SmallIndex

T = TypeVar("T")

TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=30), min_size=1).map("\n".join)
PORTS = """# Ports

The servers listen on these ports:

- 8080: the web page.
- 9090: the metrics. They are read
  by the monitoring.

| Port | Service | Owner |
|------|---------|-------|
| 5432 | database | Anna |
| 6379 | cache | Bert |
| 5672 | queue | Cleo |

```sh
# restart the queue

systemctl restart queue
```

The queue keeps messages for two days. After that they are deleted.
"""


def passage(text: str, words: str, max_tokens: int = structure.MAX_TOKENS) -> tuple[str, str]:
    """Return the passage around the unit with these words, and its lead."""
    found = units(text, "en")
    at = next(n for n, unit in enumerate(found) if words in text[unit.start : unit.end])
    place = structure.around(text, found, at, max_tokens)
    return text[place.start : place.end], text[slice(*place.lead)]


@pytest.mark.parametrize(
    ("words", "expected", "lead"),
    [
        ("database", "| 5432 | database | Anna |", "| Port | Service | Owner |"),
        ("metrics", "- 9090: the metrics. They are read\n  by the monitoring.", "The servers listen on these ports:"),
        ("systemctl", "# restart the queue\n\nsystemctl restart queue", ""),
        ("deleted", "The queue keeps messages for two days. After that they are deleted.", ""),
    ],
)
def test_a_passage_is_a_whole_part_of_the_structure(words: str, expected: str, lead: str) -> None:
    assert passage(PORTS, words) == (expected, lead)


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    text = " ".join(f"Sentence {n} is about the pump." for n in range(40))
    around, _ = passage(text, "Sentence 20 ", 60)
    assert "Sentence 20 " in around
    assert around.startswith("Sentence ")
    assert around.endswith("pump.")
    assert 30 < estimated_tokens(around) <= 60
    unspaced = "".join(f"第{n}号机器每天早上检查一次。" for n in range(40))
    assert passage(unspaced, "第20号", 60)[0].endswith("。")


@given(TEXTS, st.integers(1, 300), st.booleans())
def test_every_passage_is_a_range_with_its_unit(text: str, max_tokens: int, is_code: bool) -> None:
    found = units(text, None, is_code=is_code)
    for at, unit in enumerate(found):
        place = structure.around(text, found, at, max_tokens)
        alone = structure.alone(text, unit)
        assert 0 <= place.start <= alone.start <= unit.start < unit.end <= alone.end <= place.end <= len(text)
        assert place == alone or estimated_tokens(text[place.start : place.end]) <= max_tokens
        low, high = place.lead
        assert low <= high <= place.start


@st.composite
def options(draw: st.DrawFn) -> tuple[list[Option], dict[int, PacketSource]]:
    """Return passages of some texts, built as in `evidence`, with arbitrary scores."""
    sources, found = {}, []
    for number, text in enumerate(draw(st.lists(TEXTS, min_size=1, max_size=4))):
        sources[number] = PacketSource(text, f"Title {number}")
        cut = units(text)
        for at in range(len(cut)):
            words = draw(st.frozensets(st.integers(0, 2)))
            score = draw(st.sampled_from([0.2, 0.5, 0.7, 1.0]))
            whole, alone = structure.around(text, cut, at, 40), structure.alone(text, cut[at])
            short = _option(number, alone, score, words) if alone != whole else None
            found.append(_option(number, whole, score, words)._replace(short=short))
    return found, sources


def _option(document: int, place: Range, score: float, words: frozenset[int]) -> Option:
    return Option(document, *place, score, words)


@pytest.mark.slow
@given(options(), st.integers(1, 400), st.randoms(use_true_random=False))
def test_a_packet_keeps_its_promises(
    given_: tuple[list[Option], dict[int, PacketSource]], max_tokens: int, shuffled: random.Random
) -> None:
    found, sources = given_
    chosen = packet.choose(found, sources, [0.5, 0.3, 0.2], max_tokens)
    assert chosen.tokens <= max_tokens
    assert chosen.tokens >= sum(map(estimated_tokens, texts_of(chosen, sources)))
    best: dict[int, float] = {}
    for each in chosen.passages:
        best[each.document] = max(best.get(each.document, 0.0), each.score)
    for one, other in zip(chosen.passages, chosen.passages[1:], strict=False):
        if one.document == other.document:
            assert one.end <= other.start
        else:
            assert best[one.document] >= best[other.document]
    # Each document occurs once.
    order = [each.document for each in chosen.passages]
    assert len({*order}) == sum(a != b for a, b in zip([None, *order], order, strict=False))
    for left_out in chosen.left_out:
        assert (left_out.reason == "repeats") == (left_out.repeats is not None)
        assert left_out.repeats is None or left_out.repeats < len(chosen.passages)
    mixed = found[:]
    shuffled.shuffle(mixed)
    assert packet.choose(mixed, sources, [0.5, 0.3, 0.2], max_tokens).passages == chosen.passages


def texts_of(chosen: Packet, sources: Mapping[int, PacketSource]) -> list[str]:
    return [sources[each.document].text[each.start : each.end] for each in chosen.passages]


def chosen_of(*texts: str, max_tokens: int = 1000, words: Sequence[frozenset[int]] = ()) -> tuple[list[str], Packet]:
    """Choose from documents with one passage each; the first has the best score."""
    sources = {n: PacketSource(text, "") for n, text in enumerate(texts)}
    found = [
        Option(n, 0, len(text), "", (0, 0), 1 - n / 100, words[n] if words else frozenset())
        for n, text in enumerate(texts)
    ]
    chosen = packet.choose(found, sources, [0.5, 0.5], max_tokens)
    return texts_of(chosen, sources), chosen


@pytest.mark.parametrize(
    ("first", "copy"),
    [
        ("The safety valve of boiler 3 opens at 12 bar.", "the  safety valve of boiler 3\nopens at 12 bar"),
        ("彼は毎朝七時に機械を点検し、記録簿に結果を書きます。", "彼は毎朝七時に機械を点検し、記録簿に結果を書きます"),
        ("Die Ventile werden jeden Montag geprüft, auch im Winter.", "Die Ventile werden jeden Montag geprüft."),
        (
            "Boats may moor at the north pier from April to October if the harbour master agrees to it in writing.",
            "Boats may moor at the north pier from April to October if the harbour master agrees to it in writing!!",
        ),
    ],
)
def test_near_copies_are_left_out(first: str, copy: str) -> None:
    texts, chosen = chosen_of(first, copy)
    assert texts == [first]
    (left_out,) = chosen.left_out
    assert (left_out.reason, left_out.repeats) == ("repeats", 0)


def test_another_figure_is_no_copy() -> None:
    rows = ("| 8080 | the web server of the house |", "| 8081 | the web server of the house |")
    assert chosen_of(*rows)[0] == [*rows]


def test_a_word_that_is_not_covered_comes_first() -> None:
    texts = ("The crane lifts three tonnes.", "It is the crane of the dock.", "A pump moves water.")
    words = (frozenset({0}), frozenset({0}), frozenset({1}))
    # The packet is in the order of the scores. With a small budget, the passage with the new word comes second.
    assert chosen_of(*texts, max_tokens=26, words=words)[0] == [texts[0], texts[2]]


def test_neighbours_become_one_passage_with_one_lead() -> None:
    found = units(PORTS, "en")
    rows = [n for n, unit in enumerate(found) if unit.kind == "row"]
    places = [structure.around(PORTS, found, n) for n in rows]
    sources = {7: PacketSource(PORTS, "Ports")}
    both = [Option(7, *places[n], 0.9, frozenset()) for n in (1, 0)]
    (one,) = packet.choose(both, sources, [], 1000).passages
    assert PORTS[one.start : one.end] == "| 5432 | database | Anna |\n| 6379 | cache | Bert |"
    apart = [Option(7, *places[n], 0.9, frozenset()) for n in (0, 2)]
    first, second = packet.choose(apart, sources, [], 1000).passages
    assert (PORTS[slice(*first.lead)], second.lead) == ("| Port | Service | Owner |", (0, 0))


def gathered(index: SmallIndex, question: str, max_tokens: int = 1000) -> EvidenceList:
    """Gather evidence from all documents of the index by words only."""

    async def read(work: Callable[[Connection], T]) -> T:
        return index.database.submit_read(work).result()

    ids = sorted(id_ for id_, _, _ in documents.addresses(index.reader))
    ranked = [RankedDocument(id_, 1.0, None, {}) for id_ in ids]
    dependencies = QuoteDependencies(read, None, {}, UnavailableModel("none"), ThroughputEstimate())  # type: ignore[arg-type]
    found = HybridResult(parse_query("x"), ranked, len(ranked), [], None)
    return asyncio.run(evidence.gather(dependencies, question, found, max_tokens=max_tokens))


def test_passages_stand_at_the_lines_that_they_name(small_index: SmallIndex) -> None:
    texts = {
        "ports.md": PORTS,
        "de.md": "# Häfen\n\nDer Kran steht am Kai.\n\nDie Fähre legt um 9:15 Uhr ab. Sie fährt bis Rügen.\n",
        "ja.md": "# 港\n\nクレーンは岸壁にあります。\n\n- フェリーは九時に出発します。\n- 船長は田中さんです。\n",
        "hi.md": "# बंदरगाह\n\nनौका सुबह नौ बजे चलती है। वह द्वीप तक जाती है।\n",
    }
    small_index.add(texts)
    for question, path in (
        ("Who owns the cache service?", "ports.md"),
        ("Wann legt die Fähre ab?", "de.md"),
        ("フェリーは何時に出発しますか", "ja.md"),
        ("नौका कब चलती है", "hi.md"),
    ):
        found = gathered(small_index, question)
        assert found.passages[0].place.document.path == path
        for each in found.passages:
            place = each.place
            assert "\n".join(texts[place.document.path].split("\n")[place.line - 1 : place.end_line]) == each.text
            if each.lead and each.lead_line:
                assert texts[place.document.path].split("\n")[each.lead_line - 1] == each.lead
    assert gathered(small_index, "xqzzy blorf").passages == []


def test_the_unit_alone_comes_where_its_surroundings_do_not_fit(small_index: SmallIndex) -> None:
    small_index.add({"log.md": "# Log\n\nThe kiln was lit. It smoked. Nobody knew why the damper stuck at noon.\n"})
    (whole,) = gathered(small_index, "Why did the damper stick?").passages
    assert whole.text.startswith("The kiln")
    short = gathered(small_index, "Why did the damper stick?", 32)
    assert [each.text for each in short.passages] == ["Nobody knew why the damper stuck at noon."]
    nothing = gathered(small_index, "Why did the damper stick?", 5)
    assert nothing.passages == []
    assert [(each.reason, each.passages) for each in nothing.left_out] == [("over_budget", 1)]


def test_estimated_tokens() -> None:
    assert estimated_tokens("") == 1
    assert estimated_tokens("a" * 300) == 101
    assert estimated_tokens("日本語" * 100) > 300
    assert estimated_tokens("ä" * 10) == 11


def test_copies_of_a_document_are_counted_as_repetitions(small_index: SmallIndex) -> None:
    text = "# Ferry\n\nThe ferry leaves at noon.\n"
    small_index.add({"a.md": text, "b.md": text})
    found = gathered(small_index, "When does the ferry leave?")
    (left_out,) = found.left_out
    assert (left_out.reason, left_out.passages, left_out.repeats) == ("repeats", 1, 0)
    assert {left_out.place.document.path, found.passages[0].place.document.path} == {"a.md", "b.md"}


def test_the_fuller_a_packet_the_better_a_further_passage_must_be() -> None:
    """A passage that is worth adding to a short packet may not be worth adding to a long one; a larger budget lowers
    the bar."""

    def has_second(words: int, max_tokens: int) -> bool:
        text = "falcon " * words
        sources = {0: PacketSource(text, ""), 1: PacketSource("The heron nests in May.", "")}
        scores = ((0, len(text), 1.0), (1, len(sources[1].text), 0.65))
        found = [Option(n, 0, end, "", (0, 0), score, frozenset()) for n, end, score in scores]
        return len(packet.choose(found, sources, [], max_tokens).passages) == 2

    assert has_second(20, 1000)
    assert not has_second(200, 1000)
    assert has_second(200, 4000)
