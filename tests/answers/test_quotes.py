"""Quotes are exact, at their lines, and the best sentences of the found documents, with or without vectors."""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.answers import quotes
from gnod.answers.nearness import EmbeddedQuestion, Floats
from gnod.answers.quotes import Collected, ScoredQuote
from tests.search.passages.test_sentences import PIECES
from tests.small_index import SmallIndex

ANSWER = "Whoever cuts himself finds bandages and iodine in the yellow cupboard behind the compass room."
ANSWER_PARAGRAPH = (
    f"\n\n{ANSWER} Wash the wound, press a clean cloth on it and hold the arm high until the bleeding ends. With a deep"
    " wound or a broken bone, let him lie down, keep him warm and send for the doctor in the village.\n\n"
)
ANSWER_PAGE = 250
HARBOUR = {
    "deploy.md": "# Deploying\n\nThe site runs on two servers. Anybody may deploy from Monday to Thursday.\n\n"
    "On Friday,\nonly fixes go out.\n",
    "boiler.md": "# Boiler\n\n- Pressure: 1.2 to 1.8 bar.\n- Error **F28** means it did not ignite. Press reset.\n",
    "lamps.md": "# Lamps\n\n| Lamp | Meaning |\n|---|---|\n| Tap | No water |\n| Pump | The trap is full |\n",
    "poem.md": "# Poem\n\nThe harbour sleeps. The harbour dreams.\n",
}


def manual(pages: int = 300, seed: int = 1) -> str:
    """Return a long document. Its pages have about 3,000 characters, and all are about docks and pumps."""
    choose = random.Random(seed)
    nouns = ["dock", "pump", "lever", "valve", "crane", "anchor", "pilot", "harbour", "rope", "engine", "barge", "gate"]
    verbs = ["checks", "moves", "greases", "paints", "lifts", "repairs", "measures", "lowers", "replaces", "reports"]
    ends = ["before noon", "every week", "after the tide", "in winter", "with two men", "by hand", "when it rains"]
    text = []
    for page in range(1, pages + 1):
        sentences: list[str] = []
        while sum(map(len, sentences)) < 3000:
            a, b, c = choose.sample(nouns, 3)
            sentence = f"The {a} of the {b} {choose.choice(verbs)} the {c} {choose.choice(ends)}, as rule {page} says."
            sentences.append(sentence + ("\n\n" if choose.random() < 0.15 else " "))
        if page == ANSWER_PAGE:
            sentences.insert(len(sentences) // 2, ANSWER_PARAGRAPH)
        text.append(f"## Page {page}\n\n{''.join(sentences).strip()}\n\n")
    return "# Manual of the dry dock\n\n" + "".join(text)


def collected(index: SmallIndex, question: str, asked: EmbeddedQuestion | None = None) -> Collected:
    """Return the units that are preselected from all documents of the index."""

    ids = [int(str(row[0])) for row in index.reader.execute("SELECT id FROM documents WHERE active ORDER BY id")]
    return quotes.collect(index.reader, asked or EmbeddedQuestion(question, {}, {}, {}), dict.fromkeys(ids, 1.0))


def quoted(index: SmallIndex, question: str) -> list[ScoredQuote]:
    found = collected(index, question)
    return quotes.choose(quotes.rank(found, [None] * len(found.candidates)), found.texts)


@pytest.mark.parametrize(
    ("question", "path", "line", "kind", "text"),
    [
        ("Which days do we deploy?", "deploy.md", 3, "sentence", "Anybody may deploy from Monday to Thursday."),
        ("What goes out on Friday?", "deploy.md", 5, "sentence", "On Friday,\nonly fixes go out."),
        ("what does error F28 mean", "boiler.md", 4, "item", "Error **F28** means it did not ignite. Press reset."),
        ("what is the meaning of the pump lamp", "lamps.md", 6, "row", "Pump | The trap is full"),
    ],
)
def test_the_first_quote(question: str, path: str, line: int, kind: str, text: str, small_index: SmallIndex) -> None:
    small_index.add(HARBOUR)
    best = quoted(small_index, question)[0]
    assert (best.path, best.line, best.kind, best.text) == (path, line, kind, text)
    assert 0 < best.score <= 1


def test_what_contains_no_word_of_the_question_is_not_quoted(small_index: SmallIndex) -> None:
    small_index.add(HARBOUR)
    assert quoted(small_index, "xqzzy blorf wumpt") == []
    assert quoted(small_index, "") == []


def test_at_most_three_and_no_text_twice(small_index: SmallIndex) -> None:
    small_index.add({f"{n}.md": f"# Note {n}\n\nThe crane carries three tonnes.\n" for n in range(6)})
    assert [each.text for each in quoted(small_index, "What does the crane carry?")] == [
        "The crane carries three tonnes."
    ]
    small_index.add({f"more{n}.md": f"# More {n}\n\nCrane {n} carries {n} tonnes.\n" for n in range(6)})
    found = quoted(small_index, "What does the crane carry?")
    assert len(found) == quotes.MAX_QUOTES
    assert [each.rank for each in found] == [1, 2, 3]
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


@pytest.mark.slow
@given(texts=st.lists(st.lists(st.sampled_from(PIECES) | st.just("The otter swims.")).map("\n".join), max_size=3))
def test_quotes_are_exact_and_at_their_lines(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    index = SmallIndex(tmp_path_factory.mktemp("index") / "index.sqlite")
    try:
        sources = {f"{n}.md": f"An otter, once.\n\n{text}\n" for n, text in enumerate(texts)}
        index.add({path: text for path, text in sources.items() if text})
        for question in ("Where does the otter swim?", "one Title"):
            found = quoted(index, question)
            assert bool(found) == bool(texts) or question == "one Title"
            for each in found:
                lines = sources[each.path].split("\n")[each.line - 1 : each.end_line]
                assert each.text in "\n".join(lines)
                assert each.text.split("\n")[0] in lines[0]
    finally:
        index.close()


def test_vectors_decide_where_words_do_not(small_index: SmallIndex) -> None:
    small_index.add({"poem.md": HARBOUR["poem.md"]})
    found = collected(small_index, "What does the harbour do?")
    texts = [each.text for each in found.candidates]
    assert set(texts) == {"The harbour sleeps.", "The harbour dreams."}
    for best in texts:
        ranked = quotes.rank(found, [float(text == best) for text in texts])
        assert ranked[0].candidate.text == best
        turned = quotes.reranked(ranked, [0.0, 1.0])
        assert turned[0].candidate.text != best, "a cross-encoder says otherwise"
        assert all(0 <= each.score <= 1 for each in turned)


def test_cosines_are_scaled_by_what_the_model_says_of_nonsense(small_index: SmallIndex) -> None:
    small_index.add(HARBOUR)
    small_index.embed("file:/m.gguf")
    nonsense = np.ones((4, 8), np.float32) / np.sqrt(np.float32(8))
    vectors: Mapping[str, Floats] = {"file:/m.gguf": nonsense[0]}
    question = EmbeddedQuestion(
        "Which days do we deploy?", vectors, {"notes": "file:/m.gguf"}, {"file:/m.gguf": nonsense}
    )
    found = collected(small_index, question.text, question)
    assert all(each.uri == "file:/m.gguf" and each.piece is not None for each in found.candidates)
    ranked = quotes.rank(found, [found.base["file:/m.gguf"]] * len(found.candidates))
    assert all(each.components["sentence"] == pytest.approx(0.0) for each in ranked)


@pytest.mark.slow
def test_of_a_long_document_only_the_best_places_are_read(small_index: SmallIndex) -> None:
    text = manual()
    small_index.add({"manual.md": text})
    question = "In which cupboard are the bandages?"
    assert collected(small_index, question).units < 300, "of about 13,000 sentences"
    best = quoted(small_index, question)[0]
    assert best.text == ANSWER
    assert ANSWER in text.split("\n")[best.line - 1]
    assert best.heading.endswith("Page 250")
