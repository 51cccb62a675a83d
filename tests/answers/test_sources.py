"""The passages that are read: those around the answer, wherever it stands, with or without vectors."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from gnod.answers.sources import (
    MAX_SOURCES,
    NONSENSE,
    EmbeddedQuestion,
    Floats,
    SourcePassage,
    estimated_tokens,
    select,
)
from gnod.models.embedding_profiles import EmbeddingText
from gnod.models.files import ModelFiles
from gnod.models.run.embedder import Embedder
from gnod.models.run.inference import Inference
from gnod.store.vectors import vectors
from gnod.store.vectors.vectors import StoredPiece
from tests.small_index import SmallIndex

ANSWER = "Whoever cuts himself finds bandages and iodine in the yellow cupboard behind the compass room."
ANSWER_PARAGRAPH = (
    f"\n\n{ANSWER} Wash the wound, press a clean cloth on it and hold the arm high until the bleeding ends. With a deep"
    " wound or a broken bone, let him lie down, keep him warm and send for the doctor in the village.\n\n"
)
QUESTION = "In which cupboard are the bandages?"
PARAPHRASE = "first aid for an injury"
ANSWER_PAGE = 250


def manual(pages: int = 300, seed: int = 1) -> str:
    """Return a long document of pages of about 3,000 characters, all of them about docks and pumps."""
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


def chosen(
    index: SmallIndex,
    question: str,
    vectors_of: Mapping[str, Floats] | None = None,
    nonsense: Mapping[str, Floats] | None = None,
    tokens: int = 2000,
    served: str = "",
) -> list[SourcePassage]:
    """Return the sources from all documents of the index."""

    ids = [int(str(row[0])) for row in index.reader.execute("SELECT id FROM documents WHERE active ORDER BY id")]
    asked = EmbeddedQuestion(question, vectors_of or {}, {"notes": served} if served else {}, nonsense or {})
    return select(index.reader, asked, dict.fromkeys(ids, 1.0), tokens=tokens)


def paths(sources: Sequence[SourcePassage]) -> list[str]:
    return [source.path for source in sources]


def lines(text: str, source: SourcePassage) -> str:
    return "\n".join(text.split("\n")[source.line - 1 : source.end_line])


@pytest.mark.slow
def test_page_250_of_300_without_vectors(small_index: SmallIndex) -> None:
    text = manual()
    small_index.add({"manual.md": text})
    chosen(small_index, QUESTION)
    started = time.process_time()
    sources = chosen(small_index, QUESTION)
    took_s = time.process_time() - started
    (holding,) = [source for source in sources if ANSWER in source.text]
    assert holding.score == max(source.score for source in sources)
    assert ANSWER in lines(text, holding)
    assert took_s < 3, "and fast, on a busy machine too"


@pytest.mark.stress
@pytest.mark.timeout(400)
def test_page_250_of_300_with_vectors(small_index: SmallIndex, minilm_onnx: Path, tmp_path: Path) -> None:
    text = manual()
    small_index.add({"manual.md": text})
    uri = f"file:{minilm_onnx}"
    asked = [QUESTION, PARAPHRASE, *NONSENSE]
    found = asyncio.run(embedded(small_index, uri, asked, tmp_path))
    nonsense = {uri: found[2:]}
    for question, vector in ((QUESTION, found[0]), (PARAPHRASE, found[1])):
        sources = chosen(small_index, question, {uri: vector}, nonsense, served=uri)
        assert any(ANSWER in source.text for source in sources), question


async def embedded(index: SmallIndex, uri: str, queries: Sequence[str], folder: Path) -> Floats:
    """Give the chunks around the answer, and every tenth of the others, their real vectors; return the queries'."""
    inference = Inference(idle_unload_s=60)
    try:
        embedder = Embedder(uri, files=ModelFiles(folder), inference=inference, gpu=False, threads=2)
        pending = vectors.pending(index.reader, uri, ["notes"], 10_000)
        # All of them would take a minute; those without vectors have their words.
        some = [chunk for n, chunk in enumerate(pending) if ANSWER in chunk.text or n % 10 == 0]
        documents = await embedder.documents([EmbeddingText(c.title, c.heading, c.text) for c in some])
        made = {c.embed_hash: [StoredPiece(*p) for p in pieces] for c, pieces in zip(some, documents, strict=True)}
        index.write(lambda c: vectors.put(c, uri, made))
        return np.asarray(await embedder.texts(queries))
    finally:
        await inference.close()


def test_a_passage_has_whole_sentences_and_the_lines_of_the_source(small_index: SmallIndex) -> None:
    filler = "Nothing of interest is said in this sentence. " * 40
    text = f"# Notes\n\n\n\n{filler}\n\n\n\nThe key hangs by the door. It is brass.\n\n{filler}\n"
    small_index.add({"notes.md": text})
    (source,) = chosen(small_index, "Where does the key hang?")
    assert "The key hangs by the door. It is brass." in source.text
    assert "The key hangs" in lines(text, source)
    assert source.text[0].isupper()
    assert source.text[-1] == "."
    assert len(source.text) < 2000
    assert source.number == 1
    assert source.uri == "gno://notes/notes.md"


def test_passages_of_one_document_are_in_order_and_joined(small_index: SmallIndex) -> None:
    filler = "\n\n".join("Nothing of interest is said in this paragraph, however long it is. " * 5 for _ in range(15))
    first = "The brass key hangs by the door. The brass key is old."
    text = f"# Keys\n\n{first}\n\n{filler}\n\nThe brass key opens the attic."
    small_index.add({"keys.md": text})
    sources = chosen(small_index, "What about the brass key?")
    assert len(sources) == 2
    assert [source.number for source in sources] == [1, 2]
    assert sources[0].end_line < sources[1].line
    assert "hangs" in sources[0].text
    assert "attic" in sources[1].text


def test_the_best_document_comes_first_and_copies_once(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n\nThe crane is yellow.\n", "b.md": "# B\n\nThe crane stops at 20 m/s of wind.\n"})
    small_index.add({"copy.md": "# B\n\nThe crane stops at 20 m/s of wind.\n"})
    sources = chosen(small_index, "At which wind does the crane stop?")
    assert paths(sources)[0] == "b.md"
    assert "copy.md" not in paths(sources)


def test_nothing_is_read_for_a_question_about_nothing(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n\nThe crane is yellow. What is it? How does it go?\n"})
    assert chosen(small_index, "What is xqzzy blorf?") == []
    assert chosen(small_index, "wumpt") == []
    assert chosen(small_index, "What is xqzzy in the blorf of it, and how does it wumpt for it?") == []
    assert chosen(small_index, "?!") == []
    assert paths(chosen(small_index, "What colour is the crane?")) == ["a.md"]


def test_a_near_text_without_a_word_of_the_question_is_read(small_index: SmallIndex) -> None:
    small_index.add({"a.md": "# A\n\nThe kitten sleeps.\n"})
    uri = "file:/models/one.gguf"
    small_index.embed(uri)
    rows = small_index.rows("SELECT embedding FROM content_vectors")
    assert isinstance(rows[0][0], bytes)
    same = np.frombuffer(rows[0][0], "<f4")
    away = np.roll(same, 3)
    away = (away - same * (away @ same)) / np.linalg.norm(away - same * (away @ same))
    nonsense = {uri: np.stack([away, away])}
    assert chosen(small_index, "pets that rest", {uri: same}, nonsense, served=uri)
    assert not chosen(small_index, "pets that rest", {uri: -same}, nonsense, served=uri)
    assert not chosen(small_index, "pets that rest", {uri: same}, served=uri), "not known what near means"


def test_the_budget_holds(small_index: SmallIndex) -> None:
    for number in range(12):
        small_index.add(
            {f"{number}.md": f"# {number}\n\n" + f"Every crane of hall {number} stops in a storm.\n\n" * 60}
        )
    for tokens in (50, 300, 700, 2000, 100_000):
        sources = chosen(small_index, "When do cranes stop?", tokens=tokens)
        assert 1 <= len(sources) <= MAX_SOURCES
        assert sum(estimated_tokens(source.text) for source in sources) <= tokens


def test_estimated_tokens() -> None:
    assert estimated_tokens("") == 1
    assert estimated_tokens("a" * 300) == 101
    assert estimated_tokens("日本語" * 100) > 300
    assert estimated_tokens("ä" * 10) == 11
