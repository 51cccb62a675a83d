"""Suggest topics for a memory from its text: hashtags, identifiers, names and rare words. Pure.

A suggestion may be wrong, so it weighs less than a topic that somebody gave. Capital letters mark names, so a text in a
script without them yields only hashtags, identifiers and rare words in Latin script.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from gnod.analysis.stopwords import LANGUAGES, function_words
from gnod.analysis.terms import compounds, is_unspaced, visible
from gnod.memory.recalling.keywords import MAX_TOPIC_CHARACTERS, folded

MAX_SUGGESTED = 8
# Only the beginning of a long text, such as a turn of a conversation, is read, because it names the subject.
_READ_CHARACTERS = 4_000
_RARE_WORDS = 3
_RARE_WORD_CHARACTERS = 6

_HASHTAG = re.compile(r"(?<![\w#&])#([^\W\d_][\w-]*)")
# Identifiers are joined words, letters before digits, camelCase or capitals.
_IDENTIFIER = re.compile(
    r"[^\W_]+(?:[_.:/\\@-]+[^\W_]+)*[_.:/\\@][^\W_]+|[^\W\d_]+-?\d+\Z|[A-Za-z][a-z]+[A-Z]\w*|[A-Z]{2,}\w*"
)
_SENTENCE_END = re.compile(r"[.!?:;…¿¡\n\"“„«(\[]\s*\Z")
_NUMBER = re.compile(r"[\d.,:/_-]+\Z")


def suggest(text: str, is_rare: Callable[[str], bool]) -> list[str]:
    """Return up to MAX_SUGGESTED topics, the most reliable kind first. `is_rare`: returns whether few memories have the
    folded word.

    >>> suggest("We moved Heron to PostgreSQL 16, see deploy_all.sh #infra", lambda word: True)
    ['infra', 'PostgreSQL', 'deploy_all.sh', 'Heron']
    """
    shown = visible(text[:_READ_CHARACTERS])
    found: dict[str, str] = {}
    for kind in (_hashtags(shown), _identifiers(shown), _names(shown)):
        for topic in kind:
            if len(topic) <= MAX_TOPIC_CHARACTERS:
                found.setdefault(folded(topic), topic)
    rare = [word for word in _long_words(shown) if folded(word) not in found]
    kept = [topic for name, topic in found.items() if is_rare(name)]
    kept += [word for word in rare if is_rare(folded(word))][:_RARE_WORDS]
    return kept[:MAX_SUGGESTED]


def _hashtags(text: str) -> Iterator[str]:
    yield from _HASHTAG.findall(text)


def _identifiers(text: str) -> Iterator[str]:
    for word in compounds(text):
        if _IDENTIFIER.match(word) and not _NUMBER.match(word) and "://" not in word:
            yield word


def _names(text: str) -> Iterator[str]:
    """Yield words with a capital letter that does not begin a sentence."""
    end = 0
    for word in compounds(text):
        start = text.find(word, end)
        between, is_first, end = text[end:start], end == 0, start + len(word)
        if word[0].isupper() and word[1:].islower() and not is_first and not _SENTENCE_END.search(between):
            yield from _content([word])


def _long_words(text: str) -> Iterator[str]:
    yield from _content(
        [word for word in compounds(text) if len(word) >= _RARE_WORD_CHARACTERS and word.isalpha() and word.islower()]
    )


def _content(words: list[str]) -> list[str]:
    by_folded = {folded(word): word for word in words if not is_unspaced(word)}
    dropped = function_words(list(by_folded), LANGUAGES)
    return [word for name, word in by_folded.items() if name not in dropped]
