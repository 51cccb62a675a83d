"""The fields of the documents' own metadata, such as `status` and `due` in the frontmatter.

Values are equal if they are written alike, so `1.1` is not `1.10`. But all spellings of `true` and `false` match, and a
year or a month includes all its dates. Ranges compare numbers and dates. In a list, one matching element is enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

import msgspec

from gnod.search.fields.conditions import (
    Bounds,
    FieldValue,
    bounds,
    either,
    ends_before_it_begins,
    fault,
    folded,
    is_pattern,
    is_text,
    moments,
)
from gnod.store.connection import Connection, until_changed
from gnod.store.tables.filters import Condition

# The maximum number of spellings of one name, which differ in case.
_MAX_SPELLINGS = 4
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,9})?", re.ASCII)
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d(?:[T ][\d:]+)?)?)?", re.ASCII)
_RELATIVE_DATE = re.compile(r"today|yesterday|\d{1,5}[hdwmy]", re.IGNORECASE | re.ASCII)
_TRUTH = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}
_SAME = {truth: str(tuple(word for word, each in _TRUTH.items() if each == truth)) for truth in ("true", "false")}
_DATE_VALUE = "replace(j.value, ' ', 'T')"
_IS_DATE = "j.type = 'text' AND j.value GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]*'"
_VALUE = "CASE WHEN j.type IN ('true', 'false') THEN j.type WHEN j.type NOT IN ('array', 'object') THEN j.value END"
# The tables of all fields (`f.key`) to join, and the SQL expression of a value.
ALL_FIELDS = (
    "JOIN json_each(d.metadata) f ON instr(f.key, '\"') = 0 JOIN json_each(d.metadata, '$.\"' || f.key || '\"') j",
    _VALUE,
)
# A text with a number also counts as a number: `year: "2024"`.
_AS_NUMBER = (
    "CASE WHEN j.type IN ('integer', 'real') THEN j.value"
    " WHEN j.type = 'text' AND j.value GLOB '[0-9]*' AND j.value NOT GLOB '*[^0-9.]*' THEN CAST(j.value AS REAL) END"
)


def condition(names: list[str], value: FieldValue) -> Condition:
    """Return the condition that a field, in one of its spellings, has this value. A link has the value of its name."""
    if value.text.startswith("[[") and value.text.endswith("]]"):
        value = value._replace(text=value.text[2:-2])
    test = _comparison(limits) if (limits := bounds(value)) else _equality(value)
    return either([any_element(name, test) for name in names])


def has(names: list[str]) -> Condition:
    return either([any_element(name, Condition("j.value <> ''")) for name in names])


def first_value(names: list[str]) -> tuple[str, tuple[object, ...]]:
    """Return the SQL expression of a field's value, or of the first one in a list; and its parameters."""
    tables, value, bound = all_values(names)
    return f"(SELECT {value} FROM {tables.removeprefix('JOIN ')} LIMIT 1)", bound


def all_values(names: list[str]) -> tuple[str, str, tuple[object, ...]]:
    """Return the tables of a field's values to join, the SQL expression of a value, and the parameters."""
    tables = "JOIN json_each(?) spelling JOIN json_each(d.metadata, spelling.value) j"
    return tables, _VALUE, (msgspec.json.encode([path_of(name) for name in names]).decode(),)


def is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def path_of(name: str) -> str:
    """Return the SQLite path of a field in the metadata."""
    return f'$."{name}"'


def any_element(name: str, test: Condition) -> Condition:
    where = f"EXISTS (SELECT 1 FROM json_each(d.metadata, ?) j WHERE {test.where})"
    return Condition(where, (path_of(name), *test.values))


def _equality(value: FieldValue) -> Condition:
    text = value.text
    same = is_text("j.value", value)
    tests = [Condition(f"j.type = 'text' AND {same.where}", same.values)]
    if is_pattern(value):
        return tests[0]
    if _is_written_as_number(text):
        tests.append(Condition("j.type IN ('integer', 'real') AND j.value = ?", (float(text),)))
    if _DATE.fullmatch(text):
        tests.append(Condition(f"{_IS_DATE} AND substr({_DATE_VALUE}, 1, ?) = ?", (len(text), text.replace(" ", "T"))))
    if truth := _TRUTH.get(text.lower()):
        tests.append(Condition(f"(j.type = ? OR j.type = 'text' AND lower(j.value) IN {_SAME[truth]})", (truth,)))
    return either(tests)


def _is_written_as_number(text: str) -> bool:
    """Return whether a number in the metadata can have this spelling. Numbers in other spellings are stored as
    texts."""
    return _NUMBER.fullmatch(text) is not None and text in (str(int(float(text))), str(float(text)))


def _comparison(limits: Bounds) -> Condition:
    if limits.low is None and limits.high is None:
        raise fault("a range has no limits: write a range such as 1..9, 1.. or ..9")
    given = [each for each in (limits.low, limits.high) if each is not None]
    ways = []
    if all(_NUMBER.fullmatch(each) for each in given):
        ways.append(_within(limits, lambda text: (_AS_NUMBER, float(text))))
    if all(_DATE.fullmatch(each) or _RELATIVE_DATE.fullmatch(each) for each in given):
        within = _within(limits, _date_and_bound)
        ways.append(Condition(f"({_IS_DATE} AND {within.where})", within.values))
    if not ways:
        within = _within(limits, lambda text: folded("j.value", text))
        ways.append(Condition(f"(j.type = 'text' AND {within.where})", within.values))
    return either(ways)


def _within(limits: Bounds, compared: Callable[[str], tuple[str, object]]) -> Condition:
    """`compared`: returns for a limit the SQL expression and the value to compare it with."""
    parts: list[str] = []
    values: list[object] = []
    low, high = (">=" if limits.includes_low else ">"), ("<=" if limits.includes_high else "<")
    for limit, operator in ((limits.low, low), (limits.high, high)):
        if limit is not None:
            expression, bound = compared(limit)
            parts.append(f"{expression} {operator} ?")
            values.append(bound)
    if len(values) == 2 and _is_before(values[1], values[0]):
        raise ends_before_it_begins(limits)
    return Condition(f"({' AND '.join(parts)})", tuple(values))


def _is_before(high: object, low: object) -> bool:
    if isinstance(high, str) and isinstance(low, str):
        return high < low[: len(high)]  # such as 2024, which ends after 2024-06
    return isinstance(high, float) and isinstance(low, float) and high < low


def _date_and_bound(text: str) -> tuple[str, object]:
    """Compare as many characters as the limit has, so that `<=2024` includes all days of the year."""
    if _RELATIVE_DATE.fullmatch(text):
        text = datetime.fromtimestamp(moments(text)[0]).date().isoformat()
    return f"substr({_DATE_VALUE}, 1, {len(text)})", text.replace(" ", "T").upper()


@until_changed
def spellings(connection: Connection) -> dict[str, list[str]]:
    """Return the names of all fields in lower case, each as documents write it."""
    rows = connection.execute(
        "SELECT DISTINCT j.key FROM documents d, json_each(d.metadata) j"
        " WHERE d.active AND d.metadata <> '{}' ORDER BY 1"
    )
    found: dict[str, list[str]] = {}
    for (name,) in rows:
        if '"' not in name and len(known := found.setdefault(name.lower(), [])) < _MAX_SPELLINGS:
            known.append(name)
    return found
