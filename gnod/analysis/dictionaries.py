"""Which words a language has, whatever an index has of them: the word lists of pyspellchecker.

A word in a dictionary is not a slip, even if no document has it. Must not depend on the index.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

from gnod.analysis.word_set import WordSet

# A list is a JSON object: its keys are the words.
_ENTRY = re.compile(rb'"([^"\\]+)":')


def has_word(word: str, languages: Iterable[str]) -> bool:
    """Tell whether a word is in the dictionary of one of the languages (ISO 639-1). Languages without a dictionary have
    no words. The first time takes up to 0.1 s for each language. Dictionaries stay in memory: 0.2 to 3.3 MB each, all
    of them 16 MB."""
    asked = word.lower().encode("utf-8", "replace")
    return any(_dictionary(language).known([asked]) for language in languages)


@cache
def _dictionary(language: str) -> WordSet[bytes]:
    file = resources.files("spellchecker") / "resources" / f"{language}.json.gz"
    data = gzip.decompress(file.read_bytes()) if file.is_file() else b""
    return WordSet(_ENTRY.findall(data))
