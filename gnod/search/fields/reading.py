"""Read a query with fields: its text, the conditions of its fields, and hints for the user.

Fields are written `name:value`, `name:"two words"`, `name:a,b`, `-name:value`. A colon is text unless it has a known
name before it and a value directly after it. So `note: this`, `12:30`, `std::vec`, `http://…`, `C:\\x`, `lex:` and
quoted text stay text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gnod.errors import QuerySyntaxError
from gnod.search.fields import frontmatter, registry
from gnod.search.fields.conditions import NOTHING, FieldValue, either, fault, negated
from gnod.search.keyword.symbols import Symbol, symbol
from gnod.search.query.messages import Speakers
from gnod.search.query.parsing import Clause, Subquery, balanced, clauses_of, parse_subqueries, parse_text, render
from gnod.store.connection import Connection, Read
from gnod.store.tables.filters import Condition, Filters

MAX_VALUES = 64
_HAS = "has"
_NEAR = 0.8
_SHOWN_CHARS = 60
# Skip quotes as a whole. A name has two characters or more, because `C:` is a drive.
_TOKEN = re.compile(
    r'-?"[^"]*"|(?<![^\s])(?P<minus>-)?(?P<name>[^\W\d_][\w.-]{1,63}):(?P<value>(?![:\\]|//)(?:"[^"]*"|[^\s"])+)|[^\s"]+|"'
)
_VALUE = re.compile(r'(?:"[^"]*"|[^,"])+')
_SAVED = re.compile(r"\s*@([a-z0-9][a-z0-9_-]*)(?=\s|\Z)(.*)", re.DOTALL)
_NOTHING_SAVED: Mapping[str, str] = {}

Spellings = Mapping[str, list[str]]


class FieldClause(NamedTuple):
    """`name`: in lower case. `value`: as written, with its quotes and commas."""

    name: str
    value: str
    is_negated: bool = False

    @property
    def shown(self) -> str:
        text = f"{'-' if self.is_negated else ''}{self.name}:{self.value}"
        return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


class Separated(NamedTuple):
    """`text`: the rest; unchanged if there are no fields. `unknown`: tokens that look like fields but have an unknown
    name."""

    text: str
    clauses: list[FieldClause]
    unknown: list[FieldClause]


class FieldedQuery(NamedTuple):
    """`text`: the query without its fields. `terms`: the words of the fields, to mark in passages. `hints`: messages
    about text that looks like a field. `fields`: as written; `own`: those that only documents' metadata defines.
    `symbols`: the definitions to search for. `speakers`: search only their messages."""

    text: str
    conditions: tuple[Condition, ...] = ()
    terms: tuple[Clause, ...] = ()
    hints: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    speakers: Speakers = Speakers()

    @property
    def is_filter_only(self) -> bool:
        """Return whether the query has fields, but no words to rank by."""
        try:
            return bool(self.conditions) and all(clause.is_negated for clause in self.clauses)
        except QuerySyntaxError:
            return False  # the code that searches the text reports the error

    @property
    def clauses(self) -> list[Clause]:
        """Raises QuerySyntaxError."""
        return clauses_of(self.text)

    def hints_for(self, count: int) -> list[str]:
        """Return the hints for this number of results. A search may have no results because it read ordinary text as a
        field."""
        plain = [shown for shown in self.own if '"' not in shown and not count]
        return [
            *self.hints,
            *(
                f'{shown} is read as a field, because documents have it: to search for it as text, write "{shown}"'
                for shown in plain
            ),
        ]

    def within(self, filters: Filters) -> Filters:
        return filters._replace(conditions=filters.conditions + self.conditions)


async def read_in(
    read_from: Read, text: str, saved: Mapping[str, str] = _NOTHING_SAVED, *, is_plain: bool = False
) -> FieldedQuery:
    """Do as `read`, but read the index only if the query may have fields. `saved`: the saved queries by name."""
    whole = expanded(text, saved)
    found = FieldedQuery(whole)
    if names(whole):
        found = await read_from(lambda connection: read(connection, whole, is_plain=is_plain))
    return found._replace(hints=(*found.hints, *_saved_hints(text, saved)))


def expanded(text: str, saved: Mapping[str, str]) -> str:
    """Replace `@name` at the beginning by the saved query. Other words with this sign are text."""
    match = _SAVED.match(text)
    return f"{saved[match[1]]} {match[2]}".strip() if match and match[1] in saved else text


def read(connection: Connection, text: str, *, is_plain: bool = False) -> FieldedQuery:
    """Separate the fields of a query from its text. In a structured query, only `lex:` lines have fields. `is_plain`:
    the query is not structured. Raises QuerySyntaxError.
    """
    if not (named := names(text)):
        return FieldedQuery(text)
    text = balanced(text)
    spellings = {} if named <= registry.BY_NAME.keys() else frontmatter.spellings(connection)
    found = _separate(text, spellings, is_plain=is_plain)
    parsed = [(clause, values(clause.value)) for clause in found.clauses]
    if sum(len(each) for _, each in parsed) > MAX_VALUES:
        raise fault(f"the fields of the query have more than {MAX_VALUES} values: use fewer")
    return FieldedQuery(
        found.text,
        tuple(_condition(connection, clause, wanted, spellings) for clause, wanted in parsed),
        tuple(_terms(found.clauses)),
        tuple(dict.fromkeys(hint for clause in found.unknown if (hint := _hint(clause, spellings)))),
        tuple(clause.shown for clause in found.clauses),
        tuple(clause.shown for clause in found.clauses if clause.name in spellings.keys() - registry.BY_NAME.keys()),
        tuple(_symbols(found.clauses)),
        Speakers(_folded(found.clauses, "role"), _folded(found.clauses, "from")),
    )


def chosen(connection: Connection, fields: Mapping[str, Sequence[str]]) -> dict[str, Condition]:
    """Return for each field the condition that it has one of the values. `fields`: values as facets return them."""
    spellings = frontmatter.spellings(connection)
    return {
        name: either([_chosen(connection, name, FieldValue(text, is_quoted=True), spellings) for text in texts])
        for name, texts in fields.items()
    }


def _chosen(connection: Connection, name: str, value: FieldValue, spellings: Spellings) -> Condition:
    field = registry.BY_NAME.get(name)
    if field and not field.stated:
        return field.condition(connection, value)
    found = [spelling for each in (field.stated if field else (name,)) for spelling in spellings.get(each, [])]
    return frontmatter.condition(found, value) if found else NOTHING


def _separate(text: str, spellings: Spellings, *, is_plain: bool) -> Separated:
    def is_known(name: str) -> bool:
        return name == _HAS or name in registry.BY_NAME or name in spellings or name in registry.STAND_INS

    def stays(name: str) -> bool:
        return name in registry.BY_NAME and registry.BY_NAME[name].is_words

    lines = None if is_plain else parse_subqueries(text)
    if lines is None:
        return separate(text, is_known, stays)
    kept: list[Subquery] = []
    clauses: list[FieldClause] = []
    unknown: list[FieldClause] = []
    for line in lines:
        found = separate(line.text, is_known, stays) if line.kind == "lex" else Separated(line.text, [], [])
        clauses += found.clauses
        unknown += found.unknown
        kept += [line._replace(text=found.text.strip())] if found.text.strip() else []
    return Separated(render(kept) if clauses else text, clauses, unknown)


def _condition(
    connection: Connection, clause: FieldClause, wanted: list[FieldValue], spellings: Spellings
) -> Condition:
    if not wanted:
        raise fault(f"'{clause.name}:' has no value: write one after the colon, or put the words in quotation marks")
    try:
        found = either([_one(connection, clause.name, value, spellings) for value in wanted])
    except QuerySyntaxError as error:
        quoted = f': to search for it as text, write "{clause.shown}"' if '"' not in clause.shown else ""
        raise fault(f"{clause.name}: {error.message}{quoted}") from None
    return negated(found) if clause.is_negated else found


def _one(connection: Connection, name: str, value: FieldValue, spellings: Spellings) -> Condition:
    if name == _HAS:
        return _has(value, spellings)
    built_in = name if name in spellings else registry.STAND_INS.get(name, name)
    if built_in in registry.BY_NAME:
        return registry.BY_NAME[built_in].condition(connection, value)
    return frontmatter.condition(spellings[name], value)


def _has(value: FieldValue, spellings: Spellings) -> Condition:
    name = value.text.lower()
    if name in registry.BY_NAME:
        return registry.has(name)
    if name in spellings:
        return frontmatter.has(spellings[name])
    hint = f"did you mean {near}?" if (near := _nearest(name, spellings)) else "its name may be misspelt"
    raise fault(f"no document has a field {value.text!r}: {hint}")


def _terms(clauses: Iterable[FieldClause]) -> list[Clause]:
    """Return the words of `title:` and `path:`."""
    marked = ("title", "path")
    found = (
        value.text.replace("*", " ")
        for clause in clauses
        if not clause.is_negated and clause.name in marked
        for value in values(clause.value)
    )
    return [clause for text in found for clause in parse_text(text)]


def _folded(clauses: Iterable[FieldClause], name: str) -> tuple[str, ...]:
    """Return the values of a field in lower case."""
    wanted = [clause for clause in clauses if clause.name == name and not clause.is_negated]
    return tuple(value.text.casefold() for clause in wanted for value in values(clause.value))


def _symbols(clauses: Iterable[FieldClause]) -> Iterator[Symbol]:
    for clause in clauses:
        if clause.name == "symbol" and not clause.is_negated:
            yield from filter(None, (symbol(value.text) for value in values(clause.value)))


def _saved_hints(text: str, saved: Mapping[str, str]) -> list[str]:
    match = _SAVED.match(text)
    if not match or not saved or match[1] in saved:
        return []
    close = difflib.get_close_matches(match[1], saved, n=1)
    return [f"no search is saved as @{match[1]}: did you mean @{close[0]}?"] if close else []


def _hint(clause: FieldClause, spellings: Spellings) -> str | None:
    near = _nearest(clause.name, spellings)
    return f"'{clause.shown}' was searched as text: did you mean '{near}:'?" if near else None


def _nearest(name: str, spellings: Spellings) -> str | None:
    close = difflib.get_close_matches(name, [_HAS, *registry.BY_NAME, *spellings], n=1, cutoff=_NEAR)
    return close[0] if close else None


def separate(text: str, is_known: Callable[[str], bool], stays: Callable[[str], bool] = lambda _: False) -> Separated:
    """Separate the fields of a text from the rest. If the name of a field `stays`, its values also remain in the
    text."""
    clauses: list[FieldClause] = []
    unknown: list[FieldClause] = []
    rest, at = [], 0
    for match, clause in _clauses(text):
        if not is_known(clause.name):
            unknown.append(clause)
            continue
        clauses.append(clause)
        keeps = stays(clause.name) and not clause.is_negated and "*" not in clause.value
        rest += [text[at : match.start()], clause.value.replace(",", " ") if keeps else ""]
        at = match.end()
    return Separated("".join((*rest, text[at:])), clauses, unknown)


def names(text: str) -> set[str]:
    """Return the words before a colon, which may be names of fields."""
    return {clause.name for _, clause in _clauses(text)}


def values(text: str) -> list[FieldValue]:
    """Split at commas outside quotes.

    >>> values('a,"b, c"')
    [FieldValue(text='a', is_quoted=False), FieldValue(text='b, c', is_quoted=True)]
    """
    parts = (part.strip() for part in _VALUE.findall(text))
    found = (FieldValue(part.replace('"', "").strip(), part.startswith('"') and part.endswith('"')) for part in parts)
    return [value for value in found if value.text]


def _clauses(text: str) -> Iterator[tuple[re.Match[str], FieldClause]]:
    if ":" not in text:
        return
    for match in _TOKEN.finditer(text):
        if match["name"]:
            yield match, FieldClause(match["name"].lower(), match["value"], match["minus"] is not None)
