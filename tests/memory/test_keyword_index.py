"""The keyword index in RAM: what it finds, how it follows changes, and that `wipe` leaves nothing."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from datetime import date

import pytest

from gnod.analysis.terms import Analyzer
from gnod.memory.recalling.keyword_index import KeywordIndex, MemoryMatches
from gnod.memory.recalling.time_expressions import NO_DAY
from gnod.memory.records import Memory, Times
from gnod.memory.validity import TimeSpan
from gnod.search.keyword import expression
from gnod.search.query.parsing import parse_clauses

HOUR_MS = 3_600_000


def memory(
    id_: int, text: str, *, topics: tuple[str, ...] = (), time_ms: int = 1_000_000, at: str = "personal"
) -> Memory:
    return Memory(id_, f"m{id_}", "personal", "fact", time_ms, time_ms, text, list(topics))


def indexed(*memories: Memory) -> KeywordIndex:
    index = KeywordIndex()
    index.put(memories)
    return index


def search(index: KeywordIndex, query: str, dates: Sequence[str] = ()) -> MemoryMatches:
    return index.search(query, ids_of(index), dates)


def ids_of(index: KeywordIndex) -> list[int]:
    return [id_ for id_ in range(3000) if id_ in index]


def best(index: KeywordIndex, query: str, ids: Sequence[int] | None = None) -> list[int]:
    """Return the memories that have a word of the query, the best first."""
    ids = ids_of(index) if ids is None else ids
    ranked = sorted(zip(-index.search(query, ids).scores, ids, strict=True))
    return [id_ for score, id_ in ranked if score < 0]


def test_words_are_analysed_like_documents() -> None:
    index = indexed(
        memory(1, "Die Häuser am Hafen sind für die Touristen und nicht für uns."),
        memory(2, "Deployments use Node.js with blue-green rollouts."),
        memory(3, "毎週月曜日にサーバーを再起動する"),
        memory(4, "The parser of TokenBucket raises E4711 in parse_header."),
        memory(5, "Ask Ilse.", topics=("zirconium flange",)),
    )
    for query, id_ in [
        ("Haus am Hafen", 1),
        ("how do we deploy", 2),
        ("node.js", 2),
        ("サーバー", 3),
        ("parse_header", 4),
        ("E4711", 4),
        ("buckets", 4),
        ("TokenBucket", 4),
        ("flanges", 5),
    ]:
        assert best(index, query)[:1] == [id_], query
    assert "de" in index.languages
    found = search(index, "unknown words")
    assert best(index, "unknown words") == []
    assert found.coverage.max() == 0


def test_other_inflections_are_found_in_many_languages() -> None:
    texts = [
        ("Unser Schlüssel liegt beim Nachbarn", "die Schlüssel der Nachbarn"),
        ("Le médecin préfère les rendez-vous du matin", "rendez-vous préférés des médecins"),
        ("La reunión del equipo empieza a las nueve", "cuándo empiezan las reuniones de los equipos"),
        ("Il medico consiglia una camminata al giorno", "camminate consigliate dai medici"),
        ("A chave da garagem fica na gaveta", "onde ficam as chaves das garagens"),
        ("De vergadering begint om negen uur", "wanneer beginnen de vergaderingen"),
        ("Ключ от гаража лежит в ящике стола", "где ключи от гаражей"),
        ("Bilarna står i garaget", "bilar i garagen"),
        ("Avain on laatikossa keittiön pöydällä", "avaimet keittiöiden laatikoissa"),
        ("A kulcs a konyhai fiókban van", "hol vannak a kulcsok, melyik fiókokban"),
        ("Anahtarlar masanın üzerinde duruyor", "anahtar hangi masada"),
        ("Klucz do garażu leży w szufladzie", "klucze w szufladach"),
    ]
    index = indexed(*(memory(at, text) for at, (text, _) in enumerate(texts)))
    for at, (_, query) in enumerate(texts):
        assert best(index, query)[:1] == [at], query


def test_coverage_is_by_weight() -> None:
    index = indexed(memory(1, "boat harbour"), memory(2, "boat tide"), memory(3, "boat"))
    found = search(index, "boat harbour")
    # ln(1 + 0.5 / 3.5) and ln(1 + 2.5 / 1.5).
    assert found.coverage == pytest.approx([1.0, 0.11984, 0.11984], abs=1e-4)


def test_the_words_of_a_date_do_not_count_in_the_coverage() -> None:
    index = indexed(memory(1, "Staging runs on Postgres"), memory(2, "June was warm"), memory(3, "nothing"))
    query = "Postgres on staging in June 2025"
    assert search(index, query).coverage[0] < 0.7
    assert search(index, query, ["in", "june", "2025"]).coverage.tolist() == [1.0, 0.0, 0.0]
    assert search(index, "June", ["june"]).coverage.tolist() == [0.0, 1.0, 0.0], "there are no other words"


def test_it_follows_changes_and_namespaces() -> None:
    index = indexed(*(memory(n, f"boat number {n} leaves") for n in range(1, 400)))
    index.put([memory(7, "the kayak stays")])
    index.remove([8, 12345])
    assert len(index) == 398
    assert best(index, "kayak") == [7]
    assert 7 not in best(index, "boat")
    assert 8 not in best(index, "boat")
    assert best(index, "boat", [9, 8, 7]) == [9]
    assert search(index, "boat").is_indexed.all()
    found = index.search("boat", range(10))
    assert found.is_indexed.tolist() == [n not in (0, 8) for n in range(10)]
    assert found.scores[[0, 8]].tolist() == [0, 0]


@pytest.mark.slow
def test_many_segments_are_merged_into_one() -> None:
    index = indexed()
    for first in range(0, 3000, 50):
        index.put([memory(n, f"boat w{n} leaves berth b{n} for the {n}th time") for n in range(first, first + 50)])
    assert len(index._segments) < 33
    for n in (0, 1499, 2999):
        assert best(index, f"w{n}")[0] == n


def test_a_turn_is_found_by_the_question_before_it() -> None:
    asks, says = "Ada (8 May, 2023): When do you move to Lisbon?", "Bo (8 May, 2023): In May!"
    index = indexed(memory(1, asks), memory(2, says), memory(3, "Bo (9 May, 2023): Nothing."))
    found = search(index, "move to Lisbon")
    assert best(index, "move to Lisbon") == [1, 2]
    assert found.coverage.tolist() == [1.0, 1.0, 0.0], "an answer has all words of its question"
    assert found.asks.tolist() == [True, False, False]
    found = search(index, "When does Bo move")
    assert found.named.tolist() == [False, True, True]
    assert found.states_time.tolist() == [False, False, False]
    index = indexed(memory(1, "We move to Lisbon"), memory(2, "Nothing else"))
    assert best(index, "move to Lisbon") == [1], "facts that were stored in succession are not a conversation"
    index = indexed(memory(1, "Ada: Lisbon!"), memory(2, "Bo: Yes", time_ms=1_000_000 + 2 * HOUR_MS))
    assert best(index, "Lisbon") == [1], "hours later"


def test_relative_days_count_from_when_they_were_said() -> None:
    day_ms = 24 * HOUR_MS
    happened = memory(4, "Ada (10 May, 2023): We sailed yesterday.")._replace(times=Times(when_ms=100 * day_ms))
    index = indexed(
        memory(1, "We sailed yesterday.", time_ms=200 * day_ms),
        memory(2, "Ada (10 May, 2023): We sailed yesterday.", time_ms=200 * day_ms),
        memory(3, "We sailed.", time_ms=200 * day_ms),
        happened,
    )
    may_10 = (date(2023, 5, 10) - date(1970, 1, 1)).days
    days = [[day for day in of.tolist() if day != NO_DAY] for of in search(index, "sailed").days]
    assert days == [[199], [may_10, may_10 - 1], [], [may_10, 99]]


def test_which_memories_state_other_times() -> None:
    march, april, may = 100, 200, 300
    index = indexed(
        memory(1, "always"),
        memory(2, "until March")._replace(times=Times(valid_until_ms=march)),
        memory(3, "since May")._replace(times=Times(valid_from_ms=may)),
        memory(4, "from March to May")._replace(times=Times(valid_from_ms=march, valid_until_ms=may)),
        memory(5, "until March, and forgotten")._replace(times=Times(valid_until_ms=march)),
    )
    index.remove([5])
    assert index.outside(TimeSpan(april, april)).tolist() == [2, 3]
    assert index.outside(TimeSpan(march, may)).tolist() == []


def test_words_that_are_said_in_several_turns_come_together() -> None:
    says = ["I bought a kayak.", "Great!", "It is red.", "Nice.", "Bye.", "Bye.", "Bye."]
    index = indexed(*(memory(at, f"Ada: {text}") for at, text in enumerate(says)), memory(9, "The car is red."))
    found = search(index, "red kayak")
    assert best(index, "red kayak")[:2] == [0, 2], "each turn has one word and gets the other from its neighbour"
    assert found.coverage[0] < 1, "surrounding turns count in part"
    assert found.coverage[4] > found.coverage[5] > found.coverage[6] > 0, "the weight falls with the distance"
    assert found.scores[0] == search(index, "kayak").scores[0] + search(index, "red").scores[0]
    index.remove([1])
    assert found.coverage[2] < search(index, "red kayak").coverage[1], "a forgotten memory does not separate turns"


def test_after_wipe_nothing_is_left() -> None:
    index = indexed(memory(1, "the obsidian flange"))
    expression.build(parse_clauses("obsidian"), [Analyzer()])  # a search for its words
    pages = [array._bytes for array in index._arrays()]
    index.wipe()
    assert all(not page.any() for page in pages)
    index.put([memory(2, "a late thread")])
    assert len(index) == 0
    assert not index.search("obsidian", [1, 2]).is_indexed.any()
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, dict) and "obsidian" in each]
