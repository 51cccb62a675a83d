"""Make any number of documents from recombined sentences of real collections, so that words keep their frequencies."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.throwaway import SHARED

CHARACTERS = 1000
_COLLECTIONS = ("scifact", "cranfield", "cacm", "claude-docs-rag", "squad-en")
_PER_FOLDER = 500
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def write(folder: Path, count: int, seed: int = 1) -> None:
    """Write `count` files of about 1 kB. More files with the same seed begin with the same files."""
    sentences = all_sentences()
    rng = random.Random(seed)
    for number in range(count):
        path = folder / f"{number // _PER_FOLDER:04d}" / f"{number:07d}.md"
        if number % _PER_FOLDER == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_document(sentences, rng, number))


def questions(count: int, seed: int = 2) -> list[str]:
    """Return questions from the same collections."""
    asked = [line["text"] for name in _COLLECTIONS for line in _lines(name, "queries.jsonl") if len(line["text"]) < 300]
    return random.Random(seed).sample(asked, count)


def few_words(count: int, seed: int = 3) -> list[str]:
    """Return queries of one to four successive words from a sentence."""
    rng = random.Random(seed)
    sentences = [
        words for each in rng.sample(all_sentences(), count) if len(words := re.findall(r"[A-Za-z]{3,}", each)) > 4
    ]
    starts = [(words, rng.randrange(len(words) - 4), rng.randint(1, 4)) for words in sentences]
    return [" ".join(words[at : at + length]) for words, at, length in starts]


def _document(sentences: list[str], rng: random.Random, number: int) -> str:
    parts: list[str] = []
    length = 0
    while length < CHARACTERS:
        parts.append(rng.choice(sentences))
        length += len(parts[-1]) + 1
    title = " ".join(parts[0].split()[:6]).rstrip(".,:;")
    return f"# {title}\n\n{' '.join(parts)}\n\nNote {number}.\n"


def all_sentences() -> list[str]:
    texts = (line["text"] for name in _COLLECTIONS for line in _lines(name, "corpus.jsonl"))
    return [each for text in texts for each in _SENTENCE_END.split(text) if 20 < len(each) < 400 and "\n" not in each]


def _lines(collection: str, name: str) -> Iterator[dict[str, str]]:
    with (SHARED / "collections" / collection / name).open() as file:
        for line in file:
            yield json.loads(line)
