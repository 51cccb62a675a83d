"""Parse a query: terms, `"quoted phrases"`, `-negation`, or the structured form with one search per line.

    lex: keywords, "phrases" and -exclusions        keyword search
    vec: a question or a sentence                   vector search
    hyde: a passage that would answer the query     vector search (HyDE: Gao et al. 2022)

People, programs and the expansion model write the structured form. For any other string, a QuerySyntaxError names the
mistake. Must not depend on the index: the stage that searches for a term decides what it matches.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple, cast

from gnod.analysis.terms import is_searchable, is_unspaced
from gnod.errors import QuerySyntaxError

Kind = Literal["lex", "vec", "hyde"]
KINDS: tuple[Kind, ...] = ("lex", "vec", "hyde")

# A query with this many words outside quotation marks is prose.
PROSE_WORDS = 8
# Too many words match fewer letters.
MIN_WILDCARD = 3
MAX_LINES = 10
MAX_CHARACTERS = 4096
# Weights in the fusion: of the user's query, of a variant, and of a HyDE passage.
ORIGINAL, VARIANT, HYDE = 2.0, 1.0, 1.4

_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "＂": '"'})
_GERSHAYIM = re.compile('(?<=[א-ת])"(?=[א-ת])')
_QUOTED = re.compile(r'"[^"]*"')
# Only a single minus at the start of a word negates: `--amend` is the name of an option.
_TOKEN = re.compile(r'(?P<minus>-(?=["\w]))?(?:"(?P<phrase>[^"]*)"|(?P<word>[^\s"]+))|(?P<stray>")')
# `2*3`, `**kwargs` and `*.md` are text, not wildcards.
_WILDCARD = re.compile(r"\*?[^\W_]+\*?")
_NEWLINE = re.compile(r"\r\n|\r|\n")
# `lex::parser` and URLs are words of an ordinary query, not prefixes.
_PREFIX = re.compile(r"\s*(lex|vec|hyde)\s*:(?![:/\\])(.*)", re.IGNORECASE | re.DOTALL)
_ANY_PREFIX = re.compile(r"\s*([^\W\d_][\w-]{0,31})\s*:(?=\s|\Z)")
_WILDCARDS = f"write part* or *part*, with at least {MIN_WILDCARD} letters"
_FORMS = "expected lines that begin with lex:, vec: or hyde:"
_SYNONYMS: dict[str, Kind] = {
    **dict.fromkeys(("lexical", "keyword", "keywords", "bm25", "fts", "search", "words", "text", "exact"), "lex"),
    **dict.fromkeys(("vector", "semantic", "embed", "embedding", "meaning", "question", "vsearch", "sem"), "vec"),
    **dict.fromkeys(("passage", "answer", "hypothetical", "document", "example"), "hyde"),
}


class Clause(NamedTuple):
    """One part of a query. `text`: as written; the words of a phrase must occur together. `alternatives`: FTS5 phrases
    for the words that a wildcard matches (gnod.search.correction.correction_service)."""

    text: str
    is_phrase: bool = False
    is_negated: bool = False
    alternatives: tuple[str, ...] = ()

    @property
    def is_wildcard(self) -> bool:
        """Return whether it matches words that begin with a part (`part*`), end with it or contain it."""
        part = self.text.strip("*")
        is_part = part != self.text and _WILDCARD.fullmatch(self.text) is not None
        return is_part and not self.is_phrase and not is_unspaced(part)

    @property
    def without_wildcard(self) -> str:
        return self.text.strip("*") if self.is_wildcard else self.text


class Subquery(NamedTuple):
    """`text` is one line, stripped and not empty."""

    kind: Kind
    text: str


class QueryLine(NamedTuple):
    """One search. `clauses`: only of a `lex` line. `is_original`: the user wrote it, not a model."""

    subquery: Subquery
    weight: float
    is_original: bool
    clauses: tuple[Clause, ...] = ()

    @property
    def is_lexical(self) -> bool:
        return self.subquery.kind == "lex"


class ParsedQuery(NamedTuple):
    """A parsed query, for all stages. `question`: the reranker's question about each document. `terms`: the words and
    phrases to mark in passages. `exact`: the words and phrases that count if they occur as written."""

    text: str
    lines: tuple[QueryLine, ...]
    is_structured: bool
    question: str
    terms: tuple[Clause, ...]
    question_terms: tuple[Clause, ...]
    exact: tuple[Clause, ...]


def parse_query(text: str) -> ParsedQuery:
    """Raises QuerySyntaxError."""
    structured = parse_subqueries(text)
    lines = _ordinary(text) if structured is None else tuple(_original(each) for each in structured)
    asked = _question(lines)
    lexical = next((line for line in lines if line.is_lexical), None)
    meant = [line for line in lines if line.subquery.kind == "vec"] if structured else []
    terms = [*(clause for line in lines for clause in line.clauses), *(c for line in meant for c in _terms(line))]
    return ParsedQuery(
        text=text,
        lines=lines,
        is_structured=structured is not None,
        question=_sentence(asked) if asked.is_lexical else asked.subquery.text,
        terms=tuple(dict.fromkeys(terms)),
        question_terms=_terms(asked),
        exact=lexical.clauses if lexical else tuple(parse_text(asked.subquery.text)),
    )


def parse_question(text: str) -> ParsedQuery:
    """Do as `parse_query`, but read an unmatched quotation mark as text. Raises QuerySyntaxError."""
    return parse_query(text.replace('"', " ") if text.count('"') % 2 else text)


def variant_lines(variants: Iterable[Subquery]) -> list[QueryLine]:
    """Return the searches that a model added. Leaves out `lex` variants that are not valid queries."""
    lines = []
    for variant in variants:
        try:
            clauses = tuple(parse_clauses(variant.text)) if variant.kind == "lex" else ()
        except QuerySyntaxError:
            continue
        lines.append(QueryLine(variant, HYDE if variant.kind == "hyde" else VARIANT, False, clauses))
    return lines


def parse_clauses(query: str) -> list[Clause]:
    """Return the clauses in order. Raises QuerySyntaxError for an empty query, an unmatched quote, or only negations.

    In prose, quotation marks are punctuation: they do not make phrases and need not match. (nDCG@10 of cacm, where 7 of
    52 topics quote: .464 as operators, .511 as punctuation.)
    """
    clauses = clauses_of(query)
    if not clauses:
        hint = _WILDCARDS if "*" in query else "add some"
        raise _fault("empty_query", f"the query has no words: {hint}")
    if all(clause.is_wildcard and len(clause.without_wildcard) < MIN_WILDCARD for clause in clauses):
        raise _fault("wildcard_too_short", f"{clauses[0].text} matches too many words: {_WILDCARDS}")
    if all(clause.is_negated for clause in clauses):
        raise _fault("only_negations", "the query only excludes words: add a word to search for")
    return clauses


def clauses_of(query: str) -> list[Clause]:
    """Do as `parse_clauses`, but allow an empty query or only negations. Raises QuerySyntaxError for an unmatched
    quote."""
    text = balanced(query.replace("\x00", " "))
    if _is_prose(text):
        text = text.replace('"', " ")
    elif text.count('"') % 2:
        raise _fault("unmatched_quote", "a quotation mark is not closed: put one on both sides of the phrase")
    return [clause for match in _TOKEN.finditer(text) if (clause := _clause(match))]


def parse_text(text: str) -> list[Clause]:
    """Return the words of a text; quotation marks are ignored. Empty if it has no words."""
    try:
        return parse_clauses(text.replace('"', " "))
    except QuerySyntaxError:
        return []


def text_lines(text: str) -> tuple[QueryLine, ...]:
    """Return the searches for a text without query syntax. Raises QuerySyntaxError if it has no word."""
    if not (clauses := parse_text(text)):
        raise _fault("empty_query", "the text has no words: add some")
    words = QueryLine(Subquery("lex", text), ORIGINAL, True, tuple(clauses))
    return (words, QueryLine(Subquery("vec", text), ORIGINAL, True))


def parse_subqueries(text: str) -> list[Subquery] | None:
    """Return the lines in order; None: the text is an ordinary query.

    A text is structured if its first line begins with lex:, vec: or hyde:, or if it has several lines that all begin
    with a word and a colon. One line such as `note: this` or `http://…` is an ordinary query.

    Raises QuerySyntaxError with the reason: unknown_prefix, missing_prefix, empty_line, too_many_lines, too_long.
    """
    lines = [line for line in _NEWLINE.split(text) if line.strip()]
    if not _is_structured(lines):
        return None
    if len(lines) > MAX_LINES:
        raise _fault("too_many_lines", f"the query has {len(lines)} lines: use at most {MAX_LINES}")
    if len(text) > MAX_CHARACTERS:
        raise _fault("too_long", f"the query is longer than {MAX_CHARACTERS:,} characters: shorten it")
    return [_subquery(line) for line in lines]


def with_clauses(query: ParsedQuery, change: Callable[[Clause], Clause]) -> ParsedQuery:
    """Return the query with each clause changed."""

    def changed(clauses: Sequence[Clause]) -> tuple[Clause, ...]:
        return tuple(map(change, clauses))

    return query._replace(
        lines=tuple(line._replace(clauses=changed(line.clauses)) for line in query.lines),
        terms=changed(query.terms),
        question_terms=changed(query.question_terms),
        exact=changed(query.exact),
    )


def render(subqueries: Iterable[Subquery]) -> str:
    """Return the text of these searches. `parse_subqueries` is the inverse."""
    return "\n".join(f"{each.kind}: {each.text}" for each in subqueries)


def _ordinary(text: str) -> tuple[QueryLine, ...]:
    words = QueryLine(Subquery("lex", text), ORIGINAL, True, tuple(parse_clauses(text)))
    sentence = _sentence(words)
    return (words, QueryLine(Subquery("vec", sentence), ORIGINAL, True)) if sentence else (words,)


def _original(subquery: Subquery) -> QueryLine:
    clauses = tuple(parse_clauses(subquery.text)) if subquery.kind == "lex" else ()
    return QueryLine(subquery, HYDE if subquery.kind == "hyde" else ORIGINAL, True, clauses)


def _question(lines: Sequence[QueryLine]) -> QueryLine:
    """Return the line that is the best question for the reranker."""
    by_kind = {line.subquery.kind: line for line in reversed(lines)}
    return next(by_kind[kind] for kind in ("vec", "lex", "hyde") if kind in by_kind)


def _sentence(line: QueryLine) -> str:
    """Return a keyword query as a sentence: without quotation marks and exclusions."""
    if not any(clause.is_phrase or clause.is_negated or clause.is_wildcard for clause in line.clauses):
        return line.subquery.text.strip()
    return " ".join(clause.without_wildcard for clause in line.clauses if not clause.is_negated)


def _terms(line: QueryLine) -> tuple[Clause, ...]:
    if not line.is_lexical:
        return tuple(parse_text(line.subquery.text))
    return tuple(
        Clause(word)
        for clause in line.clauses
        if not clause.is_negated
        for word in (clause.text.split() if clause.is_phrase else [clause.text])
        if is_searchable(word)
    )


def _is_prose(text: str) -> bool:
    """Return whether enough words are outside quotation marks. The last of an odd number of marks does not open a
    phrase."""
    outside = _QUOTED.sub(" ", text)
    return sum(any(map(str.isalnum, word)) for word in outside.split()) >= PROSE_WORDS


def balanced(text: str) -> str:
    """Treat typographic quotes as quotes, unless one is unmatched (a German „, or an apostrophe). In Hebrew
    abbreviations (צה"ל), a quotation mark is a letter."""
    text = _GERSHAYIM.sub("״", text)
    if '"' in text:
        return text
    plain = text.translate(_QUOTES)
    return text if plain.count('"') % 2 else plain


def _clause(match: re.Match[str]) -> Clause | None:
    is_phrase = match["phrase"] is not None
    text = match["phrase"] if is_phrase else match["word"]
    if not is_searchable(text):
        return None
    return Clause(text, is_phrase, match["minus"] is not None)


def _is_structured(lines: list[str]) -> bool:
    if lines and _PREFIX.match(lines[0]):
        return True
    return len(lines) > 1 and all(_ANY_PREFIX.match(line) or _PREFIX.match(line) for line in lines)


def _subquery(line: str) -> Subquery:
    match = _PREFIX.match(line)
    if match is None:
        raise _unknown(line)
    kind, text = cast(Kind, match[1].lower()), match[2].strip()
    if not text:
        raise _fault("empty_line", f"'{kind}:' has no text: write what to search for, or remove the line")
    return Subquery(kind, text)


def _unknown(line: str) -> QuerySyntaxError:
    match = _ANY_PREFIX.match(line)
    if match is None:
        shown = line.strip()
        shown = shown if len(shown) <= 60 else shown[:59] + "…"
        return _fault("missing_prefix", f"the line {shown!r} does not say how to search: {_FORMS}")
    word = match[1].lower()
    close = difflib.get_close_matches(word, [*KINDS, *_SYNONYMS], n=1, cutoff=0.6)
    hint = f"; did you mean '{_SYNONYMS.get(close[0], close[0])}:'?" if close else f"; {_FORMS}"
    return _fault("unknown_prefix", f"a line cannot begin with '{match[1]}:'{hint}")


def _fault(reason: str, message: str) -> QuerySyntaxError:
    return QuerySyntaxError(message, {"reason": reason})
