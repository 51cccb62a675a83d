"""Compute the terms of a document for the lexical index. Must not import converters, because the daemon also uses this
module."""

from __future__ import annotations

import re
from functools import cache

from gnod.analysis.markup import is_code, readings, without_marks
from gnod.analysis.stemming import stemming_language
from gnod.analysis.terms import Analyzer
from gnod.store.tables.records import Terms

_DATA_URI = re.compile(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]{64,}")

# The syntax of Obsidian's bases: keys, some values, fields of files, functions, and the owners of properties.
_BASE_SYNTAX = re.compile(
    r"^[ \t]*(?:-[ \t]+)?(?:filters|and|or|not|formulas|properties|displayName|views|type|name|order|sort|property"
    r"|direction|groupBy|summaries|limit|columnSize|column|image|imageFit|cardSize|rowHeight)[ \t]*:"
    r"(?:[ \t]+(?:ASC|DESC|cards|list|map|table)[ \t]*$)?"
    r"|\bfile\.\w+|\b(?:formula|note|this)\.|\.\w+(?=\()|\b(?:date|duration|if|link|list|now|number|today)\(",
    re.MULTILINE,
)

_WITH_MARKS = frozenset(
    [
        *("text/markdown", "text/html", "application/epub+zip"),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ]
)


def terms_of(language: str | None, relative_path: str, title: str, markdown: str, mime: str) -> Terms:
    """Return the terms of a document for the lexical index. `mime` decides whether words may contain marks, and whether
    names are identifiers."""
    analyzer = _analyzer(stemming_language(language))
    body = _DATA_URI.sub(" ", markdown) if ";base64," in markdown else markdown
    if relative_path.endswith(".base"):
        body = _BASE_SYNTAX.sub(" ", body)
    if mime in _WITH_MARKS:
        body = f"{without_marks(body)}\n{readings(body)}"
    of_text = analyzer.for_code if is_code(mime) else analyzer
    return Terms(analyzer.for_code.stream(relative_path), of_text.stream(title), of_text.stream(body))


@cache
def _analyzer(language: str) -> Analyzer:
    return Analyzer(language)
