"""The texts whose vectors are stored here: written by hand (`written.py`), or from this repository's own prose.

No other texts belong here: what is stored ships with the project. Must read nothing outside the repository. Run by hand
through `make_minilm.py` and `make_e5.py`; the tests read what those wrote, never this.
"""

from __future__ import annotations

import importlib
import itertools
import random
import re
import unicodedata
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]


class Text(NamedTuple):
    """A text, its language (or what is odd about it), and where it is from."""

    text: str
    language: str
    source: str


# As a script finds it: in its own folder.
HAND_WRITTEN: dict[str, list[str]] = importlib.import_module("written").HAND_WRITTEN
_LANGUAGES_OF_FILES = {"kartoffelsuppe.md": "de", "kyoto.md": "ja"}
_PROSE = ("README.md", "docs/adr/0*.md", "samples/*/*.md", "samples/*/*.html")
_CODE = ("samples/code/*", "samples/data/*.csv")


def hand_written(most: int = 100) -> list[Text]:
    """Return the texts written for this purpose, of each language the first `most`."""
    return [Text(text, language, "hand") for language, texts in HAND_WRITTEN.items() for text in texts[:most]]


def decomposed() -> list[Text]:
    """Return texts whose accents, vowel signs or syllables are characters of their own."""
    chosen = ("fr", "tr", "vi", "ru", "el", "cs", "bn", "ja", "ko")
    longest = {language: max(HAND_WRITTEN[language], key=len) for language in chosen}
    return [Text(unicodedata.normalize("NFD", text), language, "hand, NFD") for language, text in longest.items()]


def joined(language: str, characters: int, seed: int = 1) -> Text:
    """Return the texts of a language, or of all for "mixed", in a pseudo-random order, over and over up to a length."""
    pool = [text.text for text in hand_written() if language in (text.language, "mixed")]
    order = random.Random(seed)
    parts: list[str] = []
    for part in itertools.chain.from_iterable(order.sample(pool, len(pool)) for _ in itertools.count()):
        if sum(map(len, parts)) > characters:
            break
        parts.append(part)
    return Text("\n".join(parts), language, "hand, joined")


def sections(least: int, most: int) -> list[Text]:
    """Return the sections of our prose that have `least` characters, and our samples of code; cut to `most`."""
    prose = [
        Text(_cut(section, most), _LANGUAGES_OF_FILES.get(path.name, "en"), str(path.relative_to(ROOT)))
        for path in _files(_PROSE)
        for section in re.split(r"^(?=## )", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if len(section) >= least
    ]
    code = [
        Text(_cut(path.read_text(encoding="utf-8"), most), "code", str(path.relative_to(ROOT)))
        for path in _files(_CODE)
    ]
    return prose + code


def documents(count: int, characters: int) -> list[Text]:
    """Return the beginnings of our `count` longest documents."""
    longest = sorted(_files(_PROSE), key=lambda path: path.stat().st_size, reverse=True)[:count]
    return [
        Text(_cut(path.read_text(encoding="utf-8"), characters), "en", str(path.relative_to(ROOT))) for path in longest
    ]


def spread(texts: list[Text], count: int) -> list[Text]:
    """Return `count` of the texts, evenly spread."""
    assert len(texts) >= count, f"{count} texts wanted, {len(texts)} there"
    return [texts[n * len(texts) // count] for n in range(count)]


def _files(patterns: tuple[str, ...]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def _cut(text: str, characters: int) -> str:
    """Return at most so many characters, ended at white space if there is any near."""
    text = text.strip()
    if len(text) <= characters:
        return text
    head, space, _ = text[:characters].rpartition(" ")
    return head.strip() if space and len(head) > characters * 0.8 else text[:characters].strip()
