"""Words that no document has are corrected with the words of the index. Correct queries do not change."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import inf
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from gnod.search.correction.correctable_words import query_words
from gnod.search.correction.correction_service import Corrector
from gnod.search.correction.edits import one_edit
from gnod.search.correction.known_words import Vocabulary
from gnod.search.correction.query_correction import MAX_CORRECTIONS, Corrected, WordCorrection
from gnod.search.keyword import lexical
from gnod.search.query.parsing import parse_clauses
from gnod.store.connection import Connection
from gnod.store.keyword_index.postings.following import Following
from gnod.store.keyword_index.vocabulary import Words
from gnod.store.tables.filters import Filters
from tests.machine import wait_until
from tests.small_index import SmallIndex
from tests.store.followed import Index

PAGES = {
    "tls.md": "# TLS\n\nRenew the certificate of the server before it expires. Restart the machine afterwards.\n",
    "db.md": "# Storage\n\nThe database keeps its password in a file. Each database file has a checksum.\n",
    "plan.md": "# Plan\n\nThe decision is about modern deployments, and everybody decides and learns later.\n",
    "form.md": "# Form\n\nFill in the form, and send it from the office to the archive.\n",
}
WORDS = st.text("abcdeilmnorstu", min_size=4, max_size=12)


@pytest.fixture
def correct(small_index: SmallIndex) -> Callable[..., Corrected]:
    small_index.add(PAGES, language="en")
    small_index.add({"amt.md": "Die Behörde prüft die Genehmigung für größere Straßen.\n"}, language="de")
    corrector = Corrector(small_index.database.submit_read)

    def work(text: str, *, unfinished: bool = False) -> Corrected:
        return corrector.correct(small_index.reader, text, unfinished=unfinished)

    return work


@pytest.mark.parametrize(
    ("written", "searched"),
    [
        ("certifcate", "certificate"),  # a letter is missing
        ("certtificate", "certificate"),  # a letter is doubled
        ("certifiacte", "certificate"),  # swapped
        ("certigicate", "certificate"),  # a neighbouring key
        ("cretifcate", "certificate"),  # two errors in a long word
        ("rnodern deployments", "modern deployments"),  # text recognition
        ("c1ose certificate", "c1ose certificate"),  # no known word is similar
        ("passw0rd", "password"),
        ("pasword", "password"),
        ("Pasword?", "password?"),
        ("data base password", "database password"),
        ("databasefile", "database file"),
        ("datab ase", "database"),
        ("Genemigung", "genehmigung"),
        ("groessere Strassen", "groessere Strassen"),  # the index finds these spellings
        ("decieds later", "decides later"),
        ("renew certifcate", "renew certificate"),
        ("the certifcate pasword", "the certificate password"),
    ],
)
def test_an_error_is_corrected(correct: Callable[..., Corrected], written: str, searched: str) -> None:
    assert correct(written).text == searched


@pytest.mark.parametrize(
    "query",
    [
        "certificate",
        "certificates of a server",
        '"certifcate"',
        "“certifcate” renew",
        "renew -certifcate",
        "certifcate.pem",
        "certifcate_path",
        "certifCate",
        "CERT",
        "xyz",
        "12345",
        "form from",
        "証明書の更新",
        "lex:",
        "wann muss ich den Wagen zur Werkstatt fahren",
        "pool de connexion dépassé",
        "koneksi basis data gagal",
        "zzzzzzzzzz",
        "",
    ],
)
def test_words_meant_as_written_are_not_corrected(correct: Callable[..., Corrected], query: str) -> None:
    assert correct(query) == Corrected(query)


def test_the_correction_says_what_was_written(correct: Callable[..., Corrected]) -> None:
    found = correct("Renew certifcate and pasword")
    assert found.corrections == (WordCorrection("certifcate", "certificate"), WordCorrection("pasword", "password"))


def test_the_other_words_of_the_query_decide(small_index: SmallIndex) -> None:
    small_index.add({f"{i}.md": f"# House {i}\n\nA house has a roof.\n" for i in range(3)}, language="en")
    small_index.add({f"m{i}.md": f"# Mouse {i}\n\nA mouse likes cheese.\n" for i in range(2)}, language="en")
    corrector = Corrector(small_index.database.submit_read)
    queries = {"xouse roof": "house roof", "xouse cheese": "mouse cheese"}

    def corrected(query: str) -> str:
        return corrector.correct(small_index.reader, query).text

    assert {query: corrected(query) for query in queries} == queries


def test_a_frequent_neighbour_of_a_rare_error_is_searched_as_well(small_index: SmallIndex) -> None:
    small_index.add({f"{i}.md": f"# Note {i}\n\nAbout environment number {i}.\n" for i in range(120)}, language="en")
    small_index.add({"error.md": "# Error\n\nAbout enviroment.\n", "other.md": "# Other\n\nAbout numbed.\n"})
    corrector = Corrector(small_index.database.submit_read)
    found = corrector.correct(small_index.reader, "enviroment")
    assert found.text == "enviroment environment"
    assert small_index.search(found.text, limit=3)[0] == "error.md"


def test_the_last_word_may_be_unfinished(correct: Callable[..., Corrected]) -> None:
    assert correct("certifica", unfinished=True).text == "certifica"
    assert correct("checks", unfinished=True).text == "checks"
    assert correct("pasword ch", unfinished=True).text == "password ch"


def test_new_words_are_known_at_once_in_a_small_index(small_index: SmallIndex) -> None:
    small_index.add(PAGES, language="en")
    corrector = Corrector(small_index.database.submit_read, at_once_s=60)

    def corrected(text: str) -> str:
        return corrector.correct(small_index.reader, text).text

    assert corrected("thermomter") == "thermomter"
    small_index.add({"heat.md": "# Heat\n\nThe thermometer is in the cellar.\n"}, language="en")
    assert corrected("thermomter") == "thermometer"
    small_index.remove("heat.md")
    assert corrected("thermomter") == "thermomter"


def test_the_words_are_read_when_the_postings_have_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of documents that are only in the full-text table are not read, because that takes seconds."""
    monkeypatch.setattr("gnod.search.correction.correction_service.SHARE", 1e9)  # read the words after every change
    index = Index(tmp_path / "index.sqlite")
    corrector = Corrector(index.database.submit_read, at_once_s=0, rest_s=0)

    def corrected() -> str:
        """There is one reader thread, so the read that the last search started has ended."""
        return index.database.submit_read(lambda c: corrector.correct(c, "thermomter").text).result()

    index.add("a.md", text="nothing")
    wait_until(index.is_current)
    assert corrected() == "thermomter"
    index.following.close()
    index.add("heat.md", text="thermometer")
    assert {corrected() for _ in range(3)} == {"thermomter"}
    index.following = Following(index.database, index.postings, index.builder)
    index.following.start()
    wait_until(index.is_current)
    wait_until(lambda: corrected() == "thermometer")
    index.close()


def test_the_words_of_a_large_index_are_read_when_changes_rest_or_go_on_for_long(tmp_path: Path) -> None:
    index = Index(tmp_path / "index.sqlite")
    at_rest = Corrector(index.database.submit_read, at_once_s=0, rest_s=0)
    waiting = Corrector(index.database.submit_read, at_once_s=0, rest_s=inf, oldest_s=inf)
    old = Corrector(index.database.submit_read, at_once_s=0, oldest_s=0)

    def corrected(corrector: Corrector) -> str:
        return index.database.submit_read(lambda c: corrector.correct(c, "thermomter").text).result()

    index.add("a.md", text="nothing")
    wait_until(index.is_current)
    assert {corrected(each) for each in (at_rest, waiting, old)} == {"thermomter"}
    index.add("heat.md", text="thermometer")
    wait_until(index.is_current)
    wait_until(lambda: corrected(at_rest) == corrected(old) == "thermometer")
    assert corrected(waiting) == "thermomter"
    index.close()


@given(WORDS)
def test_one_edit_is_one_edit_or_a_confusion(word: str) -> None:
    for other, cost in one_edit(word).items():
        assert OSA.distance(word, other) <= 2
        assert 0 < cost <= 1.5
    assert word not in one_edit(word)


@given(WORDS, st.randoms(use_true_random=False))
def test_each_edit_is_undone(word: str, rng: random.Random) -> None:
    place = rng.randrange(len(word) - 1)
    edited = {
        word[:place] + rng.choice("abcxyz") + word[place:],
        word[:place] + word[place + 1 :],
        word[:place] + rng.choice("abcxyz") + word[place + 1 :],
        word[:place] + word[place + 1] + word[place] + word[place + 2 :],
    }
    assert all(word in one_edit(each) for each in edited - {word})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60) | st.lists(WORDS, max_size=4).map(" ".join))
def test_any_text_gives_a_query(correct: Callable[..., Corrected], text: str) -> None:
    found = correct(text)
    assert found.corrections or found.text == text
    assert all(each.written in text for each in found.corrections)


def test_a_long_query_has_few_corrections(correct: Callable[..., Corrected]) -> None:
    found = correct("certificate database " * 80 + "certifcate pasword " * 60)
    assert len(found.corrections) <= MAX_CORRECTIONS
    assert correct("q" * 4000).corrections == ()
    assert correct("a " * 2000).corrections == ()


def test_words_have_their_places() -> None:
    query = 'Fix "the qouted" -certifcate (pasword), id_42 x.y ÉCOLE naïve pa55word 3f5c0de12b1a'
    found = query_words(query)
    assert [query[each.start : each.end] for each in found] == [each.text for each in found]
    assert [each.text for each in found] == ["Fix", "pasword", "ÉCOLE", "naïve", "pa55word"]


def test_a_vocabulary_knows_its_words() -> None:
    words = ["apple", "apply", "ample", "applet", "pineapple", "maple", "tariff", "zolltarif"]
    found = Vocabulary(_words(words))
    assert found.known([*words, "appl", "zzz", ""]) == set(words)
    assert found.near("appel", 1, 9) == ["apple"]
    assert found.near("appel", 2, 9)[0] == "apple"
    assert found.containing("appl", 3) == ["apple", "apply", "applet"]
    assert found.containing("tarif", 9) == ["tariff", "zolltarif"]
    assert found.ending("tarif", 9) == ["zolltarif"]
    assert found.containing("lea", 9) == []  # no match across two words


def test_a_huge_vocabulary_is_bounded() -> None:
    rng = random.Random(1)
    many = sorted({"".join(rng.choices("abcdefghij", k=7)) for _ in range(20_000)})
    found = Vocabulary([*_words(many, frequent=False), *_words(["certificate"])], limit=5_000)
    assert found.size <= 5_000
    assert found.known(["certificate"]) == {"certificate"}  # words of several documents have priority


def _words(words: list[str], *, frequent: bool = True) -> list[Words]:
    keys = sorted({(len(word), word[0]) for word in words})
    return [
        Words(length, first, frequent, "".join(sorted(w for w in words if (len(w), w[0]) == (length, first))))
        for length, first in keys
    ]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("Tarif", "*tarif*"),
        ("Tarife", "*tarife*"),
        ("neue Tarif", "neue *tarif*"),
        ("Zolltarif", "Zolltarif"),
        ("Zoltarif", "zolltarif"),  # a similar word has priority
        ("unbekannt", "unbekannt"),
    ],
)
def test_a_word_that_no_document_has_is_searched_inside_longer_words(
    small_index: SmallIndex, query: str, text: str
) -> None:
    pages = {
        "zoll.md": "Der Zolltarif wurde im Januar vom Ministerium geändert.\n",
        "neu.md": "Das neue Haus ist alt.\n",
    }
    small_index.add(pages, language="de")
    corrector = Corrector(small_index.database.submit_read)

    def work(connection: Connection) -> tuple[str, list[str]]:
        corrected = corrector.correct(connection, query)
        clauses = corrector.resolved(connection, parse_clauses(corrected.text))
        ranked = lexical.search(connection, clauses, Filters(), limit=5).ranked
        paths = dict(connection.execute("SELECT id, path FROM documents"))
        return corrected.text, [paths[each.id] for each in ranked]

    found, paths = small_index.database.submit_read(work).result()
    assert found == text
    assert ("zoll.md" in paths) is (query != "unbekannt")


def test_no_word_is_searched_inside_longer_words_that_are_gone(small_index: SmallIndex) -> None:
    """The known words of a large index may be older than the index."""
    pages = {"zoll.md": "Der Zolltarif wurde im Januar geändert.\n", "neu.md": "Das neue Haus ist alt.\n"}
    small_index.add(pages, language="de")
    corrector = Corrector(small_index.database.submit_read, at_once_s=0)

    def corrected() -> str:
        return corrector.correct(small_index.reader, "Tarif").text

    assert corrected() == "*tarif*"
    small_index.remove("zoll.md")
    assert corrected() == "Tarif"
