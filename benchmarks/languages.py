"""Measure how often the language of a text is detected correctly. The texts consist of translated messages.

    python -m benchmarks.languages [LOCALES]

LOCALES contains `LANGUAGE/LC_MESSAGES/*.mo` of glibc (domain `libc`) and GLib (`glib20`), as Debian's packages
libc-l10n and libglib2.0-data install them (default: /usr/share/locale). For languages without either, the repository's
sample texts for embedding models are used. Each language has 20 texts each of 40, 200 and 1,000 characters. If `babel`
is installed, lists of names from Unicode's CLDR, which are not prose, are also measured.
"""

from __future__ import annotations

import importlib
import importlib.util
import random
import re
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from gnod.analysis import languages
from gnod.analysis.alphabets import LANGUAGES
from gnod.analysis.short_texts import detect_short
from gnod.models.readability import samples

LENGTHS = (40, 200, 1000)
TARGETS = {40: 0.85, 200: 0.95, 1000: 0.98}
_TEXTS = 20
_DOMAINS = ("libc", "glib20")
# Folders of translations whose names are not the language code.
_FOLDERS = {"zh": "zh_CN", "en": "de", "pt": "pt_BR"}
_NOT_PROSE = re.compile(r"%[-#0 +'I]*\*?[\d.]*[hlqjzt]*[a-zA-Z]|\{[^}]*\}|<[^>]*>|[_&](?=\w)|\\\w|--?\w[\w=-]*")
_MIN_LETTERS = 12

Strings = Mapping[str, list[str]]


def main(words: list[str]) -> int:
    """Print the accuracy for each source and length. Return the exit status: 2 if a target is missed."""
    locales = Path(words[0] if words else "/usr/share/locale")
    if not any(locales.glob("*/LC_MESSAGES/libc.mo")):
        print(f"{locales} has no translations of glibc: install libc-l10n, or name a folder")
        return 1
    written = {code: [*each.statements, *each.questions] for code, each in samples().items()}
    translated = {code: _translations(locales, code) for code in LANGUAGES}
    texts = {code: translated[code] or written.get(code, []) for code in LANGUAGES}
    missed = _measure("texts", texts, " ", languages.detect)
    _measure("texts, without lingua", texts, " ", detect_short)
    if importlib.util.find_spec("babel"):
        _measure("names (CLDR)", {code: list(_names(code)) for code in LANGUAGES}, ", ", languages.detect)
    return 2 if missed else 0


def _measure(name: str, strings: Strings, separator: str, detect: Callable[[str], str | None]) -> bool:
    missed = False
    for length in LENGTHS:
        wrong: Counter[str] = Counter()
        texts = {code: list(_texts(all_, length, separator, code)) for code, all_ in strings.items()}
        count = sum(map(len, texts.values()))
        started = time.process_time()
        for code, row in texts.items():
            wrong.update(f"{code}>{found}" for text in row if (found := detect(text)) != code)
        took_ms = (time.process_time() - started) / max(count, 1) * 1000
        accuracy = 1 - wrong.total() / max(count, 1)
        missed |= accuracy < TARGETS[length]
        most = ", ".join(f"{pair} {n}" for pair, n in wrong.most_common(8))
        languages = sum(map(bool, texts.values()))
        print(f"{name}: {languages} languages, {length:,} characters: {accuracy:.3f}, {took_ms:.2f} ms ({most})")
    return missed


def _texts(strings: list[str], length: int, separator: str, seed: str) -> Iterator[str]:
    """Yield texts that join strings in random order, cut between words; nothing if there are too few strings."""
    if sum(map(len, strings)) < length:
        return
    shuffled, random_ = sorted(set(strings)), random.Random(seed)
    for _ in range(_TEXTS):
        random_.shuffle(shuffled)
        text = separator.join(shuffled)[: length + 1]
        cut = text[: text.rfind(" ")] if " " in text[length // 2 :] else text
        yield cut[:length]


def _translations(locales: Path, code: str) -> list[str]:
    """Return the translated messages of a language, without markup; for English, the originals."""
    for domain in _DOMAINS:
        path = locales / _FOLDERS.get(code, code) / "LC_MESSAGES" / f"{domain}.mo"
        if path.exists():
            pairs = _catalogue(path.read_bytes())
            shown = (
                _plain(original if code == "en" else new) for original, new in pairs if code == "en" or new != original
            )
            least = _MIN_LETTERS // 3 if code in ("zh", "ja", "ko") else _MIN_LETTERS
            strings = [text for text in shown if sum(map(str.isalpha, text)) >= least]
            if sum(map(len, strings)) > LENGTHS[-1]:
                return strings
    return []


def _catalogue(data: bytes) -> Iterator[tuple[str, str]]:
    """Yield the messages of a `.mo` file (GNU gettext) and their translations, without plurals and contexts."""
    count, originals, translations = struct.unpack_from("<3I", data, 8)
    for number in range(count):
        both = (struct.unpack_from("<2I", data, table + 8 * number) for table in (originals, translations))
        original, new = (
            data[start : start + size].partition(b"\0")[0].decode("utf-8", "replace") for size, start in both
        )
        if original:
            yield original.rpartition("\4")[2], new


def _plain(text: str) -> str:
    return " ".join(_NOT_PROSE.sub(" ", text).split())


def _names(code: str) -> Iterator[str]:
    """Yield the names of countries, languages and currencies in a language."""
    data = importlib.import_module("babel.localedata")
    if data.exists(code):
        english, own = data.load("en"), data.load(code)
        for section in ("territories", "languages", "currency_names"):
            for key, name in own.get(section, {}).items():
                if code == "en" or name != english[section].get(key):
                    yield name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
