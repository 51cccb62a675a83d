"""Words by which a memory is looked up: those of a query, and those of a topic. Pure.

A topic is found whole (`error handling`) and by each of its words; a query is cut into the words that it is about.
Nothing is stemmed: a topic is a name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from gnod.analysis.stopwords import LANGUAGES, function_words
from gnod.analysis.terms import Analyzer, Unit, visible

MAX_TOPIC_CHARACTERS = 64

# What joins the parts of an identifier, as in `gnod.analysis.terms`.
_JOINERS = re.compile(r"[-._:/\\@'’&]+")


def keywords(query: str) -> list[str]:
    """Return what the query is about: its words without function words, folded, each once, in their order.

    >>> keywords("How do we deploy Node.js with blue-green?")
    ['deploy', 'node.js', 'with', 'blue-green']
    """
    words = [word for unit in Analyzer().units(query) for word in _words(unit)]
    dropped = function_words(words, LANGUAGES)
    return list(dict.fromkeys(word for word in words if word not in dropped))


def topic_words(topic: str) -> list[str]:
    """Return the keywords by which a topic is found: the whole, and each of its words, whatever joins them.

    >>> topic_words("Error handling"), topic_words("auth"), topic_words("real-time")
    (['error handling', 'error', 'handling'], ['auth'], ['real-time', 'real', 'time'])
    """
    words = [word for unit in Analyzer().units(topic) for word in _words(unit)]
    parts = [part for word in words for part in _JOINERS.split(word) if part]
    return list(dict.fromkeys([folded(topic), *words, *parts]))


def lookup_words(words: Sequence[str]) -> list[str]:
    """Return under what topics are looked up for the keywords of a query: each, and the parts of joined ones, since the
    topic `blue green` is asked for as blue-green, too.

    >>> lookup_words(["deploy", "blue-green"])
    ['deploy', 'blue-green', 'blue', 'green']
    """
    return list(dict.fromkeys(part for word in words for part in (word, *_JOINERS.split(word)) if part))


def _words(unit: Unit) -> list[str]:
    """Return the word as it is written; of a script without spaces, its pairs of characters."""
    return [folded(word) for word in (unit.parts if unit.unspaced else (unit.surface,))]


def folded(text: str) -> str:
    """Return a text as it is compared: NFKC, without case, without invisible characters, single spaces.

    >>> folded("  Ｇrüße   AUS  KÖLN ")
    'grüsse aus köln'
    """
    return " ".join(unicodedata.normalize("NFKC", visible(text)).casefold().split())
