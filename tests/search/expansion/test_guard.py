"""The parts of a query that a variant must keep."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnod.search.expansion.guard import losses
from gnod.search.query.parsing import KINDS, Kind, Subquery

_EN: list[tuple[str, str, list[str]]] = [
    # Numbers, versions, dates.
    ("boiler error 4 reset", "reset boiler error four", ["lost '4'"]),
    ("boiler error 4 reset", "boiler fault 4: how to reset", []),
    ("python 3.11 release", "python 3.1 release", ["lost '3.11'"]),
    ("python 3.1 release", "python 3.11 release", ["lost '3.1'"]),
    ("changes in v1.2.3", "release notes of version 1.2.3", []),
    ("changes in v1.2.3", "release notes of version 1.2", ["lost '1.2.3'"]),
    ("minutes of 2026-11-21", "meeting minutes 2026-11-21", []),
    ("minutes of 2026-11-21", "meeting minutes november 2026", ["lost '2026-11-21'"]),
    ("budget 1,000 euros", "spending 1,000 eur", []),
    ("budget 1,000 euros", "spending 1 euro", ["lost '1,000'"]),
    ("10-year loan", "a loan that runs for 10 years", []),
    # Identifiers.
    ("node.js memory", "memory of Node JS", []),
    ("node.js memory", "memory of a javascript server", ["lost 'node.js'"]),
    ("where is FooBar used", "callers of foo_bar", []),
    ("where is FooBar used", "callers of foo and bar", ["lost 'FooBar'"]),
    ("set max_open_files", "raise max open files", []),
    ("set max_open_files", "raise the limit of open files", ["lost 'max_open_files'"]),
    ("gpt-4 price", "price of GPT 4", []),
    ("gpt-4 price", "price of claude 4", ["lost 'gpt-4'"]),
    ("C++ templates", "templates in C++", []),
    ("C++ templates", "templates in C", ["lost 'C++'"]),
    ("git commit --amend", "change the last commit", ["lost '--amend'"]),
    ("git commit --amend", "git: amend a commit", []),
    ("mail to ann@example.org", "contact ann@example.org", []),
    ("client/server and/or peers", "a server with many callers", []),
    ("tools, e.g. hammers", "equipment", []),
    # Acronyms.
    ("JSON over HTTP", "json via http", []),
    ("JSON over HTTP", "json via HTTPS", ["lost 'HTTP'"]),
    ("which APIs are public", "list of each public API", []),
    ("HOW TO RESET THE BOILER", "boiler reset", []),
    ("bread AND butter", "butter bread", []),
    # Names.
    ("hotels in Berlin", "places to stay, Berlin's centre", []),
    ("hotels in Berlin", "places to stay in the capital", ["lost 'Berlin'"]),
    ("Berlin hotels", "places to stay", []),
    ("Fine. Where then?", "and what about the place", []),
    ("How To Repair Leaking Pumps At Home", "mending a pump", []),
    ("what does vitamin C do", "use of vitamins", ["lost 'C'"]),
    ("when may I go", "permission to leave", []),
    # Quoted phrases.
    ('say "open the gate" twice', "say open the  gate two times", ['lost "open the gate"']),
    ('say "open the gate" twice', '"Open the gate" twice', []),
    # Negations.
    ("bread without flour", "bread with flour", ["lost the negation 'without'"]),
    ("bread without flour", "flour-free bread", []),
    ("why doesn't it start", "reasons it does not start", []),
    ("why doesn't it start", "reasons it fails to start", []),
    ("why doesn't it start", "reasons to start", ['lost the negation "doesn\'t"']),
    ("jaguar speed -car", "how fast a jaguar is -car", []),
    ("jaguar speed -car", "how fast a jaguar is", ["does not exclude 'car'"]),
]


@pytest.mark.parametrize(("query", "variant", "lost"), _EN)
def test_what_a_lexical_variant_loses(query: str, variant: str, lost: list[str]) -> None:
    assert losses(query, Subquery("lex", variant), "en") == lost


def test_phrases_are_operators_in_lexical_variants_only() -> None:
    query = 'say "open the gate"'
    assert losses(query, Subquery("lex", "open the gate please"), "en") == ['lost "open the gate"']
    assert losses(query, Subquery("vec", "who says: open the gate?"), "en") == []
    assert losses(query, Subquery("hyde", "Open the\tgate, he said."), "en") == []
    prose = 'what does it mean when the log says "gate is open" again and again'
    assert losses(prose, Subquery("lex", "log gate is open"), "en") == []
    assert losses(prose, Subquery("lex", "log gate"), "en") == ['lost "gate is open"']


def test_variants_by_meaning_must_not_contain_excluded_words() -> None:
    query = 'jaguar -car -"sports team"'
    assert losses(query, Subquery("vec", "where does the jaguar live?"), "en") == []
    assert losses(query, Subquery("hyde", "The jaguar is a cat, cars are no cats."), "en") == [
        "contains 'car', which the query excludes"
    ]
    assert losses(query, Subquery("vec", "the Sports Team called jaguar"), "en") == [
        "contains 'sports team', which the query excludes"
    ]
    assert losses("jaguar -JSON -4", Subquery("vec", "the animal"), "en") == []


@pytest.mark.parametrize(
    ("query", "variant", "language", "lost"),
    [
        ("Kosten der Heizung in Berlin", "was Heizen kostet", "de", []),
        ("Kosten der Heizung 2024", "was Heizen kostet", "de", ["lost '2024'"]),
        ("USB-Kabel für Drucker", "Kabel mit USB zum Drucken", "de", []),
        ("USB-Kabel für Drucker", "Kabel zum Drucken", "de", ["lost 'USB'"]),
        ("warum startet GitLab nicht", "GitLab startet", "de", ["lost the negation 'nicht'"]),
        ("warum startet GitLab nicht", "GitLab kann keinen Start ausführen", "de", []),
        ("Brot ohne Gluten", "glutenfreies Brot", "de", []),
        ("Größe „Haus am See“ Grundstück", "grosse vom Haus am See", "de", []),
        ("z.B. Kuchen u.a. Gebäck", "Süßes", "de", []),
        ("hôtels à Paris sans piscine", "logement Paris, pas de piscine", "fr", []),
        ("hôtels à Paris sans piscine", "logement avec piscine", "fr", ["lost 'Paris'", "lost the negation 'sans'"]),
        ("погода в городе Москва", "погода в Москве", "ru", []),
        ("погода в городе Москва", "погода в столице", "ru", ["lost 'Москва'"]),
        ("como instalar no Porto", "instalação em Porto", "pt", []),
        ("JSONの解析方法", "JSONを読む", "ja", []),
        ("JSONの解析方法", "データを読む", "ja", ["lost 'JSON'"]),
        ("बिना चीनी की चाय", "चाय चीनी के साथ", "hi", ["lost the negation 'बिना'"]),
        ("no gate nicht", "Tor", None, ["lost the negation 'no'"]),
    ],
)
def test_other_languages(query: str, variant: str, language: str | None, lost: list[str]) -> None:
    assert losses(query, Subquery("vec", variant), language) == lost


_QUERIES = st.text(max_size=60) | st.text(alphabet="aBc1.,-_'’\"“„/:+#& \té日ß́ДN", max_size=40)
_LANGUAGES = st.sampled_from(["en", "de", "fr", "ru", "ja", None])


@given(_QUERIES, _QUERIES, st.sampled_from(KINDS), _LANGUAGES)
def test_any_text_is_accepted(query: str, variant: str, kind: Kind, language: str | None) -> None:
    assert all(losses(query, Subquery(kind, variant), language))


@given(_QUERIES, _LANGUAGES)
@example("x____y 1,2.3", "en")
def test_a_query_loses_nothing_of_itself(query: str, language: str | None) -> None:
    assert losses(query, Subquery("lex", query), language) == []
    lost = losses(query, Subquery("vec", query), language)
    assert all(each.endswith("which the query excludes") for each in lost)


_SOME = ("pump", "seal", "Berlin", "JSON", "FooBar", "a_b", "4", "v1.2", "not", "nicht", "where", "it", "C++", "gpt-4")
_WORDS = st.lists(st.sampled_from(_SOME), max_size=8)


@given(_WORDS, _WORDS, _WORDS, _LANGUAGES)
def test_more_words_lose_nothing_and_order_does_not_matter(
    before: list[str], query: list[str], after: list[str], language: str | None
) -> None:
    variant = Subquery("vec", " ".join([*before, *reversed(query), *after]))
    assert losses(" ".join(query), variant, language) == []
