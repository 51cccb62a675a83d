"""The keywords of queries and topics. Pure.

A topic is found as a whole (`error handling`) and by each of its words. Function words of a query are dropped. Words
are not stemmed, because a topic is a name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from gnod.analysis.stopwords import LANGUAGES, function_words
from gnod.analysis.terms import Analyzer, QueryUnit, visible

MAX_TOPIC_CHARACTERS = 64

# Characters that join the parts of an identifier, as in `gnod.analysis.terms`.
_JOINERS = re.compile(r"[-._:/\\@'’&]+")


def keywords(query: str) -> list[str]:
    """Return the words of the query in order, folded, without function words and repetitions.

    >>> keywords("How do we deploy Node.js with blue-green?")
    ['deploy', 'node.js', 'with', 'blue-green']
    """
    words = [word for unit in Analyzer().units(query) for word in _words(unit)]
    dropped = function_words(words, LANGUAGES)
    return list(dict.fromkeys(word for word in words if word not in dropped))


def topic_words(topic: str) -> list[str]:
    """Return the keywords that find a topic: the whole topic, and each of its words.

    >>> topic_words("Error handling"), topic_words("auth"), topic_words("real-time")
    (['error handling', 'error', 'handling'], ['auth'], ['real-time', 'real', 'time'])
    """
    words = [word for unit in Analyzer().units(topic) for word in _words(unit)]
    parts = [part for word in words for part in _JOINERS.split(word) if part]
    return list(dict.fromkeys([folded(topic), *words, *parts]))


def lookup_words(words: Sequence[str]) -> list[str]:
    """Return the keywords of topics for the keywords of a query: the keywords, and the parts of joined ones, because
    blue-green also means the topic `blue green`.

    >>> lookup_words(["deploy", "blue-green"])
    ['deploy', 'blue-green', 'blue', 'green']
    """
    return list(dict.fromkeys(part for word in words for part in (word, *_JOINERS.split(word)) if part))


def _words(unit: QueryUnit) -> list[str]:
    """Return the word as written; in a script without spaces, return its pairs of characters."""
    return [folded(word) for word in (unit.parts if unit.unspaced else (unit.surface,))]


def folded(text: str) -> str:
    """Return a text for comparison: in NFKC, without case and invisible characters, with single spaces.

    >>> folded("  Ｇrüße   AUS  KÖLN ")
    'grüsse aus köln'
    """
    return " ".join(unicodedata.normalize("NFKC", visible(text)).casefold().split())
