"""A citation stays if its source says the same. The answer contains nothing else, whatever a model writes."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gnod.analysis.terms import Analyzer
from gnod.answers.citations import CheckedAnswer, CitedText, check, cited

CRANE = CitedText(1, "Crane manual\nTower cranes must stop working when the wind is stronger than 20 m/s.", "en")
VALVE = CitedText(2, "Boiler house\nThe safety valve of boiler 3 opens at 12 bar. Helmbrecht replaced it.", "en")
HOLIDAY = CitedText(3, "Holiday rules\nEvery employee has 28 days of holiday a year.", "en")
SOURCES = [CRANE, VALVE, HOLIDAY]
ENGLISH = Analyzer("en")


def found_in(said: str, question: str = "At what wind must cranes stop?") -> CheckedAnswer:
    return check(said, question, SOURCES, ENGLISH)


def checked(said: str) -> str:
    return found_in(said).text


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Cranes must stop above 20 m/s [1].", "Cranes must stop above 20 m/s [1]."),
        ("Cranes must stop above 20 m/s. [1]", "Cranes must stop above 20 m/s [1]."),
        ("Cranes must stop above 20 m/s.[1]", "Cranes must stop above 20 m/s [1]."),
        ("Cranes must stop above 20 m/s [1, 3].", "Cranes must stop above 20 m/s [1]."),
        ("Cranes must stop above 20 m/s [1][3][9].", "Cranes must stop above 20 m/s [1]."),
        ("Cranes must stop above 20 m/s [2].", "Cranes must stop above 20 m/s [1]."),
        ("Cranes must stop above 20 m/s [1-3].", "Cranes must stop above 20 m/s [1]."),
        ("Cranes must stop above 20 m/s", "Cranes must stop above 20 m/s [1]"),
        ("The answer is: 20 m/s", "The answer is: 20 m/s [1]"),
        ("Cranes must stop above 20 m/s [1]. Have a nice day.", "Cranes must stop above 20 m/s [1]."),
        ("Stop the cranes at 20 m/s [1].\n\nThe valve opens at 12 bar [1].",
         "Stop the cranes at 20 m/s [1].\n\nThe valve opens at 12 bar [2]."),
    ],
)  # fmt: skip
def test_a_citation_stays_where_its_source_says_the_same(said: str, answer: str) -> None:
    assert checked(said) == answer


@pytest.mark.parametrize(
    "said",
    [
        *(
            "",
            "BANANA",
            "BANANA [1]",
            "The answer is 12.",
            "The answer is 12 [2].",
            "The answer is [1]: The answer [1]",
        ),
        *("Cranes [1]", "20 [1].", "It is [1].", "Cranes must stop [1].", "[1]", "[1] [2] [3]"),
        "Cranes must stop above 20 m/s on Fridays [1].",
        "Cranes must stop above 20 m/s, says Helmbrecht [1].",
        "Helmbrecht stops the cranes above 20 m/s [1].",
        "Cranes must stop above 20 m/s since 2 May 2019 [1].",
        "Cranes must stop above 20 m/s with `crane --stop` [1].",
        "Cranes must stop above 35 m/s [1].",
        "The safety valve of boiler 3 opens at 12:30 in March 2024 [2].",
        "The president of France lives in Paris [1].",
        "```\nCranes must stop above 20 m/s [1].\n```",
    ],
)
def test_what_no_source_says_is_no_answer(said: str) -> None:
    found = found_in(said)
    assert (found.text, found.citations, found.reason) == ("", [], "unsupported")


@pytest.mark.parametrize(
    "said",
    [
        "Not enough information.",
        "There is not enough information in the sources [1].",
        "The sources do not contain the answer [2].",
        "Nicht genug Informationen.",
    ],
)
def test_a_model_may_decline(said: str) -> None:
    assert found_in(said, "Who is it?").reason == "model_declined"


def test_a_part_of_an_answer_is_one() -> None:
    said = "Cranes must stop above 20 m/s [1]. There is not enough information about lifts."
    assert found_in(said, "When do cranes and lifts stop?").citations


def test_unsupported_and_repeated_sentences_are_removed() -> None:
    said = "Cranes must stop above 20 m/s [1]. The limit is 35 m/s. Cranes must stop above 20 m/s. Good luck."
    found = found_in(said)
    assert (found.text, found.removed) == ("Cranes must stop above 20 m/s [1].", ["The limit is 35 m/s.", "Good luck."])
    assert checked("Cranes must stop above 20 m/s [1].\n\n\nIt is 9.\n\nEach has 28 days of holiday [3].") == (
        "Cranes must stop above 20 m/s [1].\n\nEach has 28 days of holiday [3]."
    )


def test_where_sentences_end() -> None:
    source = CitedText(1, "Hugenotten\nSie kamen im 18. und 19. Jahrhundert, z. B. aus Lyon, nach Berlin.", "de")
    said = "Sie kamen im 18. und 19. Jahrhundert aus Lyon nach Berlin [1]. Sie kamen im 20. Jahrhundert."
    found = check(said, "Wann kamen die Hugenotten?", [source], Analyzer("de"))
    assert found.text == "Sie kamen im 18. und 19. Jahrhundert aus Lyon nach Berlin [1]."
    assert found.removed == ["Sie kamen im 20. Jahrhundert."]


def test_headings_and_titles_are_no_answer() -> None:
    assert checked("# Crane manual [1]\n\nCranes must stop above 20 m/s.") == "Cranes must stop above 20 m/s [1]."
    assert checked("## Crane manual [1]") == ""


def test_what_the_question_says_already_proves_nothing() -> None:
    assert not found_in("The safety valve of boiler 3 opens.", "When does the safety valve of boiler 3 open?").citations


def test_a_source_in_another_language_is_taken_at_its_numbers() -> None:
    source = CitedText(1, "Every employee has 28 days of holiday a year.", "en")
    german = Analyzer("de")
    question = "Wie viel Urlaub haben Angestellte?"
    assert check("Sie haben 28 Tage Urlaub im Jahr [1].", question, [source], german).citations == [1]
    assert not check("Sie haben 30 Tage Urlaub im Jahr [1].", question, [source], german).citations


def test_code_is_left_as_it_is() -> None:
    source = CitedText(1, "Dates\nRun restore.sh with the date, which is `argv[1]`, as its argument.")
    said = "Run restore.sh; the date is `argv[1]` [1]."
    assert check(said, "How do I restore?", [source], ENGLISH).text == said
    fenced = "Run restore.sh with the date as argument:\n```\necho [1] [7]\n```"
    source = source._replace(text=f"{source.text}\n\n    echo  [1] [7]")
    assert "echo [1] [7]" in check(fenced, "How do I restore?", [source], ENGLISH).text


def test_scripts_without_spaces() -> None:
    source = CitedText(1, "安全\n風速が毎秒20メートルを超えるとクレーンは停止しなければならない。", "ja")
    found = check("クレーンは毎秒20メートルで停止する。", "風速は?", [source], Analyzer("ja"))
    assert found.citations == [1]
    assert found.text == "クレーンは毎秒20メートルで停止する [1]。"


_PIECES = st.sampled_from(
    ["Cranes must stop above 20 m/s", " [1]", "[1, 3]", "[2][9]", "[1-2]", "[0]", "[007]", ". ", "\n", "`", "```\n",
     " 12 bar", " the valve opens", "[1](http://x)", "[[2]]", "[", "]", " 。", "\x1b[1]", "É", "[12345]", "?! "]
)  # fmt: skip
said_by_models = st.lists(_PIECES | st.text(max_size=12), max_size=25).map("".join)


@pytest.mark.slow
@given(said_by_models)
@example("```\n[1]")
@example(" [1]```\nCranes must stop above 20 m/s")
@example("Cranes must stop above 20 m/s?!  [1]Cranes must stop above 20 m/s")
def test_any_answer_is_checked(said: str) -> None:
    found = found_in(said)
    prose = re.sub(r"^\s*(```|~~~).*?(^\s*(```|~~~).*?$|\Z)", "", found.text, flags=re.M | re.S)
    assert set(cited(prose)) <= set(found.citations) <= {1, 2, 3}
    assert found.citations == sorted(set(found.citations))
    assert bool(found.citations) == bool(found.text) == (found.reason is None)
    again = found_in(found.text)
    if found.citations:
        # The text may differ: the end of a sentence may change after the part between two sentences is removed.
        assert set(again.citations) <= set(found.citations), "to check again finds nothing new"


def test_code_is_what_stands_in_a_source() -> None:
    source = CitedText(1, "Renew it:\n\n    certbot  renew --quiet\n\nThen reload nginx, the web server.")
    block = "```sh\ncertbot renew --quiet\ncertbot renew --quiet\nrm -rf /\n```"
    said = f"To renew, reload nginx, the web server [1]:\n\n{block}"
    found = check(said, "how do I renew", [source], ENGLISH)
    assert found.text.endswith("```sh\ncertbot renew --quiet\n```")
    assert "rm" not in found.text
    found = check("Reload nginx, the web server [1].\n```\n#include <cstdint>\n#include", "how", [source], ENGLISH)
    assert found.text == "Reload nginx, the web server [1]."
