"""List function words, which queries omit.

Short lists of closed word classes: articles, pronouns, prepositions, conjunctions, auxiliaries, question words. Lists
of other packages contain content words such as "test", "system" and "auth". Function words stay in the index and
in phrases, and in queries without other words. The English list has no prepositions and negations: in code and in
commands they carry meaning ("read from stdin", "not in").

Each line of stopwords.txt begins with the code of its language.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

# importlib.resources takes ten times as long to import as this module, so it is not used.
_lines = Path(__file__).with_name("stopwords.txt").read_text(encoding="utf-8").splitlines()
_BY_LANGUAGE = {language: frozenset(words) for language, *words in map(str.split, _lines)}

LANGUAGES = tuple(_BY_LANGUAGE)
ENGLISH_FUNCTION_WORDS = _BY_LANGUAGE["en"]


def of(language: str) -> frozenset[str]:
    """Return the function words of a language; empty if it has no list."""
    return _BY_LANGUAGE.get(language, frozenset())


def function_words(words: Iterable[str], languages: Sequence[str]) -> frozenset[str]:
    """Return the function words, in lower case, of the one of `languages` that has the most of them: `die` is a
    function word in a German question, but not in `die hard`."""
    present = {word.lower() for word in words}
    candidates = [present & of(language) for language in languages]
    best: frozenset[str] = frozenset(max(candidates, key=len, default=()))
    # In a query of two words, both may be relevant.
    return best if len(present) > 2 and len(best) < len(present) else frozenset()
