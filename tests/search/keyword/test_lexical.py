"""The documents that keyword search must find, and their order. Another implementation returns nothing for the first
table."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.search.keyword.lexical import as_shares
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.tables.filters import Filters
from tests.small_index import SmallIndex

FILLER = {f"filler{i}.md": f"# Filler {i}\n\nSome words about nothing in particular, number {i}.\n" for i in range(12)}


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("real-time", "The system works in real-time."),
        ("gpt-4", "We compared it with GPT-4 last year."),
        ("DEC-0054", "See decision DEC-0054 for the reasons."),
        ("dec-0054", "See decision DEC-0054 for the reasons."),
        ("snake_case", "Names are written in snake_case here."),
        ("node.js", "It runs on node.js and on bun."),
        ("Node.js", "It runs on node.js and on bun."),
        ("v1.2.3", "Fixed in v1.2.3, see there."),
        ("foo::bar", "Call foo::bar() first."),
        ("user@example.com", "Write to user@example.com, please."),
        ("config.yaml", "All is set in config.yaml or elsewhere."),
        ("a/b/c.md", "It is explained in a/b/c.md."),
        ("camelCase", "The function camelCase() does it."),
        ("camelcase", "The function camelCase() does it."),
        ("github", "Open an issue on GitHub."),
        ("GitHub", "Open an issue on github."),
        ("snake", "Names are written in snake_case here."),
        ("gpt4", "We compared it with GPT-4 last year."),
        ("1.2.3", "Fixed in v1.2.3, see there."),
        ("example.com", "Write to user@example.com, please."),
        ("resume", "Send us your résumé today."),
        ("naïve", "A naive approach."),
        ("deployment", "How to deploy it."),
    ],
)
def test_identifiers_and_compounds_are_found(small_index: SmallIndex, query: str, text: str) -> None:
    small_index.add({**FILLER, "target.md": f"# Page\n\n{text}\n"})
    assert small_index.search(query)[:1] == ["target.md"]


def test_parts_of_names_are_words_in_code_and_not_in_prose(small_index: SmallIndex) -> None:
    prose = {f"{name}.txt": f"Ask on {name}, please.\n" for name in ("GitHub", "YouTube", "iPhone", "LaTeX", "OpenAI")}
    small_index.add({f"p{n}.txt": text for n, text in enumerate(prose.values())})
    small_index.add({"hubs.txt": "Many pages lead to hubs. " * 9, "GitHubClient.py": "class GitHubClient:\n    pass\n"})
    assert small_index.search("hubs") == ["hubs.txt", "GitHubClient.py"]
    assert small_index.search("tube phone open tex") == []
    for query in ("GitHub", "github", "git hub", '"on GitHub please"', '"git hub client"'):
        assert small_index.search(query), query
    assert small_index.search("GitHub") == ["GitHubClient.py", "p0.txt"]
    assert small_index.search("-GitHub hubs") == ["hubs.txt"]


@pytest.mark.parametrize(
    ("query", "other"),
    [
        ("authorities", "author"),
        ("customer", "custom"),
        ("experience", "experiment"),
        ("important", "import"),
        ("international", "internal"),
        ("relative", "relation"),
        ("several", "severe"),
        ("university", "universe"),
    ],
)
def test_a_stem_of_two_english_words_finds_one_of_them(small_index: SmallIndex, query: str, other: str) -> None:
    small_index.add(
        {"other.md": f"{other} {other}s", "page.md": f"This is about the {query} of something."}, language="en"
    )
    assert small_index.search(query) == ["page.md"]
    assert small_index.search(other) == ["other.md"]


@pytest.mark.parametrize("query", ["modulů", "modulu", '"nových modulů"', "seznam modulů servery"])
def test_texts_in_a_language_without_a_stemmer_are_found_by_their_words(small_index: SmallIndex, query: str) -> None:
    small_index.add({**FILLER, "de.md": "Die Häuser der Stadt wurden im Jahr der großen Flut gebaut.\n"})
    small_index.add({"target.md": "Seznam nových modulů, které všechny servery načtou při spuštění.\n"})
    assert small_index.search(query)[:1] == ["target.md"]
    assert small_index.rows("SELECT language FROM documents WHERE path = 'target.md'") == [("cs",)]


@pytest.mark.parametrize(("query", "path"), [("C++", "cpp.md"), ("C#", "csharp.md"), ("c++", "cpp.md")])
def test_names_with_signs_are_found_and_not_every_c(small_index: SmallIndex, query: str, path: str) -> None:
    small_index.add(
        {
            "cpp.md": "We write it in C++.",
            "csharp.md": "We write it in C#, they say.",
            "c.md": "We write it in C. Plan c is vitamin c.",
            "cat.md": "A cat.",
        }
    )
    assert small_index.search(query) == [path]


def test_a_whole_question_finds_the_page_about_it(small_index: SmallIndex) -> None:
    small_index.add(
        {
            **FILLER,
            "deployment.md": "# Deployment\n\nTo bring a release to production, run the deploy script.\n",
            "howto.md": "# How do I do what I do\n\nHow I do it, and what to do, and how to do that.\n",
            "production.md": "# Oil\n\nThe production of oil fell.\n",
        }
    )
    assert small_index.search("how do I deploy to production")[0] == "deployment.md"


def test_title_beats_path_beats_body(small_index: SmallIndex) -> None:
    body = "some words that every one of these documents holds in the same number"
    small_index.add(
        {
            **FILLER,
            "one.md": f"# Zebra\n\n{body} giraffe\n",
            "zebra.md": f"# Animal\n\n{body} giraffe\n",
            "three.md": f"# Animal\n\n{body} zebra\n",
        }
    )
    assert small_index.search("zebra") == ["one.md", "zebra.md", "three.md"]


def test_documents_with_every_word_come_ahead_where_scores_are_close(small_index: SmallIndex) -> None:
    small_index.add(
        {**FILLER, "both.md": "red green plain words", "one.md": "red red plain words", "two.md": "green green plain"}
    )
    assert small_index.search("red green")[0] == "both.md"


def test_phrases_are_required(small_index: SmallIndex) -> None:
    small_index.add({"yes.md": "the quick brown fox", "no.md": "the brown quick fox"})
    assert small_index.search('"quick brown"') == ["yes.md"]
    assert small_index.search('"quick brown" fox elephant') == ["yes.md"]


def test_in_a_sentence_quotation_marks_are_punctuation(small_index: SmallIndex) -> None:
    small_index.add({"yes.md": "the type of a module matches its contexts", "no.md": "a module of words"})
    question = 'I would like to check whether the type of a module really "matches contexts" where it is used'
    assert small_index.search(question)[0] == "yes.md"


def test_a_phrase_may_span_identifiers(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "call snake_case now"})
    assert small_index.search('"call snake case now"') == ["a.md"]
    assert small_index.search('"call snake_case now"') == ["a.md"]


def test_negation(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "jaguar cat", "b.md": "jaguar car engines", "c.md": "jaguar fast car"})
    assert small_index.search("jaguar -car") == ["a.md"]
    assert small_index.search('jaguar -"fast car"') == ["a.md", "b.md"]
    assert small_index.search("jaguar -cars") == ["a.md"]


def test_words_are_stemmed_in_every_language_of_the_index(small_index: SmallIndex) -> None:
    small_index.add({"de.md": "Die alten Häuser stehen leer."}, language="de")
    small_index.add({"en.md": "The houses are empty."}, language="en")
    assert small_index.search("Haus") == ["de.md"]
    assert small_index.search("hauser") == ["de.md"]
    assert small_index.search("house") == ["en.md"]


@pytest.mark.parametrize(
    ("query", "language", "accident"),
    [
        ("intern", "sv", "An int is a number, and an int has bits in it."),
        ("alter", "de", "Press alt and a letter, then alt and another."),
        ("comes", "es", "Open the com port, and then close the com port."),
        ("halving", "nl", "It is half a mile there, and half a mile back."),
    ],
)
def test_a_stem_of_one_language_counts_less_in_documents_of_another(
    small_index: SmallIndex, query: str, language: str, accident: str
) -> None:
    small_index.add({"own.md": f"A page that has {query} once among its ten words."}, language="en")
    small_index.add({"accident.md": accident}, language="en")
    small_index.add({f"{number}.md": "Ett 7" for number in range(5)}, language=language)
    assert small_index.search(query) == ["own.md", "accident.md"]


def test_words_count_fully_in_texts_of_unknown_language(small_index: SmallIndex) -> None:
    small_index.add({"names.md": "Namen: Häuser, Becker, Vogel, Schmidt"})
    small_index.add({"en.md": "Names: Häuser, Becker, Vogel, Schmidt"}, language="en")
    small_index.add({f"{number}.md": "Die Stadt 7" for number in range(5)}, language="de")
    assert small_index.search("wer ist der Becker")[:2] == ["names.md", "en.md"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Welche Universität hat die meisten Studenten", ["university.md"]),
        ("Was ist die Motivation der Technologien", ["technology.md"]),
        ("wo war die Konferenz", []),
        ("los angeles", ["los.md"]),
    ],
)
def test_a_question_in_a_language_that_no_document_has(small_index: SmallIndex, query: str, found: list[str]) -> None:
    """Its function words are dropped, but languages share words: a single word does not show the language."""
    pages = {
        "university.md": "The university has many students.",
        "technology.md": "Each technology needs a motive.",
        "die.md": "Plants die in a war, and he was there in time.",
        "los.md": "Flights to Los Alamos.",
    }
    small_index.add(pages, language="en")
    assert small_index.search(query) == found


@pytest.mark.parametrize(
    ("query", "language", "word", "other", "text"),
    [
        ("what are the bones of a whale", "en", "bones", "fr", "Une bonne idée pour la ville, et de bonnes notes."),
        ("where do the cases go", "en", "cases", "es", "La casa del puerto es grande, y otra casa es blanca."),
        ("which intern was here", "en", "intern", "sv", "Båten är inte i hamnen, och den kommer inte."),
        ("wo ist der Server", "de", "Server", "en", "The server is up, and the other server is down."),
        ("où est le canvas", "fr", "canvas", "de", "Das Canvas ist leer, das andere Canvas ist voll."),
    ],
)
def test_a_query_that_shows_its_language_prefers_it_and_hides_no_other(
    small_index: SmallIndex, query: str, language: str, word: str, other: str, text: str
) -> None:
    small_index.add({"own.md": f"7 8 9 {word} 10 11 12 13 14"}, language=language)
    small_index.add({"other.md": text}, language=other)
    small_index.add({f"{number}.md": "15" for number in range(5)}, language=language)
    assert small_index.search(query)[:2] == ["own.md", "other.md"]
    assert small_index.search(word)[0] == "other.md"


@pytest.mark.parametrize(
    ("query", "title"),
    [("canvas", "Canvas"), ("what is a canvas", "Canvas"), ("sync regions", "Sync regions"), ("Größe", "Größen")],
)
def test_a_page_whose_title_the_query_covers_comes_first(small_index: SmallIndex, query: str, title: str) -> None:
    changes = f"- {title}: fixed. {title}: faster. {title}: new. {title}: better.\n"
    small_index.add({f"v{number}.md": f"# Version {number}\n\n{changes * 2}" for number in range(6)}, language="de")
    small_index.add({"part.md": f"# {title} and many other things of the program\n\n{changes}"}, language="de")
    page = f"# {title}\n\nA long page about one subject, which it seldom names. {title}. {'More of it. ' * 40}"
    small_index.add({"page.md": page}, language="de")
    assert small_index.search(query)[0] == "page.md"


@pytest.mark.parametrize(
    "phrase", ["to be or not to be", "sein oder nicht sein", "être ou ne pas être", "быть или не быть", "it was not me"]
)
def test_common_words_alone_count_as_a_phrase(small_index: SmallIndex, phrase: str) -> None:
    words = phrase.split()
    noise = f"{' 7 '.join(words)}. "
    small_index.add({f"{number}.md": noise * (number + 1) for number in range(6)})
    small_index.add({"page.md": f"A play, and a long speech: {phrase.capitalize()}, that is what he asks. And so on."})
    assert small_index.search(phrase)[0] == "page.md"
    assert len(small_index.search(phrase)) == 7


@pytest.mark.parametrize(
    ("query", "found"),
    [("冷凍", True), ("凍", True), ("保守記録", True), ('"冷凍設備の保守"', True), ("録", True), ("検索", False)],
)
def test_scripts_without_spaces(small_index: SmallIndex, query: str, found: bool) -> None:
    small_index.add({"ja.md": "冷凍設備の保守記録"})
    assert bool(small_index.search(query)) is found


def test_a_small_collection_is_not_hidden_by_a_large_one(small_index: SmallIndex) -> None:
    small_index.add({f"{i}.md": "zebra " * 5 for i in range(300)}, collection="large")
    small_index.add({"one.md": "zebra among many other words " * 5}, collection="small")
    assert small_index.search("zebra", Filters(collections=("small",)), limit=5) == ["one.md"]


def test_ties_go_by_docid_whatever_the_order_of_indexing(tmp_path: pytest.TempPathFactory) -> None:
    texts = {f"{i}.md": "zebra" for i in range(20)}
    orders = []
    for seed in range(3):
        items = list(texts.items())
        random.Random(seed).shuffle(items)
        index = SmallIndex(tmp_path / f"{seed}.sqlite")  # type: ignore[operator]
        index.add(dict(items))
        orders.append(index.search("zebra"))
        index.close()
    assert orders[0] == orders[1] == orders[2]


@given(st.lists(st.floats(0, 1000), max_size=20), st.floats(0.01, 1000))
def test_scores_are_shares_of_the_greatest(scores: list[float], greatest: float) -> None:
    ranked = [RankedDocument(n, score, None, {}) for n, score in enumerate(sorted(scores, reverse=True))]
    shares = as_shares(ranked, greatest)
    assert [each.id for each in shares] == [each.id for each in ranked]
    for share, score in zip(shares, sorted(scores, reverse=True), strict=True):
        assert 0.0 <= share.score <= 1.0
        assert share.score == pytest.approx(score / max(greatest, *scores))


def test_thousands_of_words_are_cut_and_answered(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "word1 word2"})
    assert small_index.search(" ".join(f"word{i}" for i in range(700))) == ["a.md"]
