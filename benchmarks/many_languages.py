"""Generate documents in many languages, and requests about them: misspelt, long, random, filtered and cancelled ones.

The texts recombine the samples of `gnod/models/language_samples.json`; halves of their words form new words. The same
seed makes the same documents and requests.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.throwaway import REPOSITORY

_SAMPLES = REPOSITORY / "gnod" / "models" / "language_samples.json"
_WORD = re.compile(r"[^\s\d!-/:-@\[-`{-~«»„“”‘’…。、，？।؟،]{4,24}")
# Numbers of new words and of sample sentences in a document.
_NEW_WORDS, _SENTENCES = 60, 4
_LONGEST_QUERY = 4000
_CANCELLED = 0.05
_MARKS = "\"'*()-:<>/\\|&^~#@. \t"
# Characters of random queries: Latin to Hebrew, Indian scripts, Chinese, Korean, emoji, rare Chinese.
_RANGES = ((0x20, 0x5FF), (0x900, 0xDFF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1F6FF), (0x20000, 0x2A6DF))


class Request(NamedTuple):
    method: str
    params: dict[str, object]
    is_cancelled: bool


def write(folder: Path, languages: int, documents: int, seed: int = 1) -> None:
    """Write `documents` files in each of `languages` languages, with a folder for each language."""
    rng = random.Random(seed)
    samples = json.loads(_SAMPLES.read_text())
    for code in sorted(samples)[:: max(len(samples) // languages, 1)][:languages]:
        sentences = [*samples[code]["statements"], *samples[code]["questions"]]
        words = _WORD.findall(" ".join(sentences))
        (folder / code).mkdir(parents=True)
        for number in range(documents):
            new = " ".join(_recombined(words, rng) for _ in range(_NEW_WORDS))
            text = " ".join(rng.sample(sentences, _SENTENCES))
            (folder / code / f"{number:04d}.md").write_text(f"# {rng.choice(sentences)}\n\n{text} {new} {number}\n")


def words_by_folder(folder: Path) -> dict[str, list[str]]:
    """Return the sorted words of the files in each top-level folder, by folder. Folders are named after languages."""
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*.md"):
        words = _WORD.findall(path.read_text(errors="replace"))
        found.setdefault(path.relative_to(folder).parts[0], set()).update(words)
    return {name: sorted(words) for name, words in sorted(found.items()) if words}


def misspelt(word: str, rng: random.Random) -> str:
    """Return the word with one or two edits."""
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(word))
        word = rng.choice(
            (
                word[:at] + word[at + 1 :],
                word[:at] + word[at] + word[at:],
                word[:at] + rng.choice(word) + word[at + 1 :],
                word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
                word[:at] + rng.choice(word) + word[at:],
            )
        )
        if len(word) < 2:
            break
    return word


class Requests:
    """Yields an endless series of varied requests. `documents`: addresses for requests that read documents."""

    def __init__(self, words: Sequence[Sequence[str]], documents: Sequence[str], seed: int) -> None:
        self._words = words
        self._documents = documents
        self._rng = random.Random(seed)
        self._next_document = 0

    def __iter__(self) -> Iterator[Request]:
        kinds: dict[Callable[[], tuple[str, dict[str, object]]], int] = {
            self._misspelt: 50,
            self._get: 14,
            self._wild: 10,
            self._part: 8,
            self._fields: 10,
            self._answer: 8,
        }
        while True:
            (make,) = self._rng.choices(list(kinds), list(kinds.values()))
            yield Request(*make(), is_cancelled=self._rng.random() < _CANCELLED)

    def misspelt_query(self, count: int) -> str:
        """Return a query of misspelt words, usually of one language."""
        rng = self._rng
        language = rng.choice(self._words)
        chosen = [rng.choice(rng.choice(self._words) if rng.random() < 0.1 else language) for _ in range(count)]
        return " ".join(misspelt(word, rng) for word in chosen)

    def _word(self) -> str:
        return self._rng.choice(self._rng.choice(self._words))

    def _misspelt(self) -> tuple[str, dict[str, object]]:
        count = self._rng.randint(1, 8)
        return "search.lexical", {"query": self.misspelt_query(count), "limit": self._rng.choice((5, 10, 50))}

    def _get(self) -> tuple[str, dict[str, object]]:
        self._next_document += 1
        params: dict[str, object] = {"ref": self._documents[self._next_document % len(self._documents)]}
        if self._rng.random() < 0.5:
            params |= {"start_line": self._rng.randint(1, 50), "max_lines": self._rng.randint(1, 200)}
        return "document.get", params

    def _wild(self) -> tuple[str, dict[str, object]]:
        rng, query = self._rng, ""
        length = rng.choice((3, 30, 300, _LONGEST_QUERY))
        while len(query) < length:
            low, high = rng.choice(_RANGES)
            run = "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 12)))
            query += rng.choice((run, self._word(), f'"{self._word()} {run}"', f"-{run}")) + rng.choice(_MARKS)
        return "search.lexical", {"query": query[:length]}

    def _part(self) -> tuple[str, dict[str, object]]:
        word = self._word()
        start = self._rng.randrange(max(len(word) - 3, 1))
        query = self._rng.choice((f"{word[:4]}*", f"*{word[start : start + 4]}*", f"*{word[-4:]}"))
        if self._rng.random() < 0.3:
            return "search.lexical", {"query": word[: self._rng.randint(1, len(word))], "prefix_last_term": True}
        return "search.lexical", {"query": f"{query} {self._word()}"}

    def _fields(self) -> tuple[str, dict[str, object]]:
        rng, word = self._rng, self._word()
        field = rng.choice(("title", "path", "tag", "lang", "ext", "author", word.lower()))
        value = rng.choice((word, "md", "de", f'"{word} {self._word()}"', f"{word[:3]}*"))
        query = f"{field}:{value} {misspelt(self._word(), rng)}"
        return "search.lexical", {"query": query, "facets": rng.choice(([], ["lang", "tag", word[:60]]))}

    def _answer(self) -> tuple[str, dict[str, object]]:
        query = self.misspelt_query(self._rng.randint(2, 8))
        method = self._rng.choice(("search.query", "evidence.gather", "ask.answer"))
        return method, {"query" if method == "search.query" else "question": query}


def _recombined(words: Sequence[str], rng: random.Random) -> str:
    first, second = rng.choice(words), rng.choice(words)
    return first[: (len(first) + 1) // 2] + second[len(second) // 2 :]
