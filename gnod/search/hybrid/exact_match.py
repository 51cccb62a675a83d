"""Whether the words of a query occur in a text as written. Pure: no stems, no index.

A cross-encoder judges the meaning of a text, and may rank down the one that has the very name that was searched for:
`E4711` is any code to it. An exact match is a fact.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from gnod.analysis.stopwords import function_words
from gnod.analysis.terms import Analyzer, is_unspaced, simplified
from gnod.search.query.parsing import Clause

# C must not match C++ or C#.
_SUFFIX = re.compile(r"\+\+|#(?!\w)")


def exact_terms(clauses: Sequence[Clause], analyzers: Sequence[Analyzer]) -> list[str]:
    """Return what of a query may occur in a text as written: its phrases and its words without function words, folded,
    each once, without exclusions.

    >>> exact_terms([Clause("blue green", is_phrase=True), Clause("Node.js")], [Analyzer("en")])
    ['blue green', 'node.js']
    """
    clauses = [clause for clause in clauses if not clause.is_negated]
    units = [unit for clause in clauses if not clause.is_phrase for unit in analyzers[0].units(clause.text)]
    words = [word for unit in units for word in (unit.parts if unit.unspaced else (unit.surface,))]
    dropped = function_words(words, [analyzer.language for analyzer in analyzers])
    phrases = [clause.text for clause in clauses if clause.is_phrase]
    kept = [word for word in words if word.lower() not in dropped]
    return list(dict.fromkeys(_folded(text) for text in (*phrases, *kept)))


def matched_fraction(text: str, terms: Sequence[str]) -> float:
    """Return the share of the terms that occur in the text, in [0, 1]: as whole words ("how" is not in "show"), in
    unspaced scripts anywhere. 0 without terms."""
    if not terms:
        return 0.0
    folded = _folded(text)
    return sum(_occurs(term, folded) for term in terms) / len(terms)


def _occurs(term: str, folded: str) -> bool:
    place = folded.find(term)
    while place >= 0:
        end = place + len(term)
        starts = place == 0 or not _continues(folded[place - 1], term[0])
        ends = end == len(folded) or not (_continues(folded[end], term[-1]) or _SUFFIX.match(folded, end))
        if starts and ends:
            return True
        place = folded.find(term, place + 1)
    return False


def _continues(neighbour: str, edge: str) -> bool:
    """Tell whether a letter beside the edge of a term makes it part of a longer word. A mark is part of one too: the
    vowels of Hindi are."""
    return _is_of_a_word(neighbour) and _is_of_a_word(edge) and not is_unspaced(edge)


def _is_of_a_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().translate(simplified()).split())
