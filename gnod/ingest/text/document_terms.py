"""The terms of a document, as the lexical index stores them. It must not import converters, because the daemon also
uses it."""

from __future__ import annotations

import re
from functools import cache

from gnod.analysis.markup import is_code, readings, without_marks
from gnod.analysis.stemming import stemming_language
from gnod.analysis.terms import Analyzer
from gnod.store.tables.records import Terms

_DATA_URI = re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]{64,}")

_WITH_MARKS = frozenset(
    [
        *("text/markdown", "text/html", "application/epub+zip"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ]
)


def terms_of(language: str | None, relative_path: str, title: str, markdown: str, mime: str) -> Terms:
    """Return what the lexical index stores of a document. `mime` tells whether there may be marks inside words,
    and whether names are identifiers."""
    analyzer = _analyzer(stemming_language(language))
    body = _DATA_URI.sub(" ", markdown) if ";base64," in markdown else markdown
    if mime in _WITH_MARKS:
        body = f"{without_marks(body)}\n{readings(body)}"
    of_text = analyzer.for_code if is_code(mime) else analyzer
    return Terms(analyzer.for_code.stream(relative_path), of_text.stream(title), of_text.stream(body))


@cache
def _analyzer(language: str) -> Analyzer:
    return Analyzer(language)
