"""Show a base of Obsidian as tables of the notes that its views select, if the filters are simple enough.

Filters are expressions similar to JavaScript. Python's parser builds a tree of them; only known nodes are evaluated,
and nothing is executed. Any other node makes the filter not plain.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import quote

from gnoctl.web.rendering.properties import plain_text
from gnod.protocol.documents import DocumentEntry

EXTENSION = ".base"
MOST_LISTED = 5_000
"""The maximum number of documents that are compared."""

_MAX_CHARACTERS = 20_000
_MAX_EXPRESSION = 1_000
_MOST_ROWS = 200
_MAX_DEPTH = 20  # of nested lists and filters
_QUOTED = re.compile(r""""[^"\n]*"|'[^'\n]*'""")
_OPERATORS = ((r"&&", " and "), (r"\|\|", " or "), (r"!(?!=)", " not "))
_CONSTANTS: dict[str, object] = {"true": True, "false": False, "null": None}
_EMPTY: tuple[object, ...] = (None, "", [])
_Filter = Callable[["_Row"], bool]


class _NotPlain(Exception):
    """The base contains something that is not supported here."""


class _Row(NamedTuple):
    """A document. `this`: the path of the document that shows the base."""

    document: DocumentEntry
    this: str

    def named(self, name: str) -> object:
        """Return the property of a note, ignoring case."""
        metadata = self.document.metadata or {}
        return metadata.get(name, next((v for k, v in metadata.items() if k.lower() == name.lower()), None))

    def of_file(self, name: str) -> object:
        path = self.document.path
        found: dict[str, Callable[[], object]] = {
            "name": lambda: posixpath.basename(path).removesuffix(".md"),
            "basename": lambda: posixpath.splitext(posixpath.basename(path))[0],
            "path": lambda: path,
            "folder": lambda: posixpath.dirname(path),
            "ext": lambda: posixpath.splitext(path)[1].lstrip("."),
            "size": lambda: self.document.size,
            "mtime": lambda: self.document.modified,
            "tags": lambda: self.document.tags or [],
        }
        if name not in found:
            raise _NotPlain(name)
        return found[name]()


def tables(text: str, listed: Sequence[DocumentEntry], *, this: str = "", view: str = "") -> str | None:
    """Return the views of a base, or the named one, as safe HTML; None if no view is plain, or if no documents are
    known."""
    base = _loaded(text) if listed else {}
    views = base.get("views")
    if not isinstance(views, list) or not all(isinstance(each, dict) for each in views):
        return None
    chosen = [each for each in views if str(each.get("name", "")).lower() == view.lower()] if view else views
    rows = [_Row(document, this) for document in listed]
    is_cut = len(listed) >= MOST_LISTED
    shown = [_view(base, each, rows, is_open=at == 0, is_cut=is_cut) for at, each in enumerate(chosen or views[:1])]
    return "".join(each for each in shown if each) if any(shown) else None


def _loaded(text: str) -> Mapping[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    # An alias could expand a small text to millions of values, and many open brackets take seconds.
    nesting = accumulate(1 if bracket in "[{" else -1 for bracket in re.findall(r"[\[\]{}]", text))
    if len(text) > _MAX_CHARACTERS or max(nesting, default=0) > _MAX_DEPTH or re.search(r"(?:^|[\s\[,])[&*]\w", text):
        return {}
    try:
        found = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError, TypeError, AttributeError):
        return {}
    return found if isinstance(found, dict) else {}


def _view(
    base: Mapping[str, Any], view: Mapping[str, Any], rows: Sequence[_Row], *, is_open: bool, is_cut: bool
) -> str | None:
    """Return one view, always as a table; None if its filters are not plain."""
    try:
        passes = [_filter(each) for each in (base.get("filters"), view.get("filters")) if each]
        found = [row for row in rows if all(each(row) for each in passes)]
        for rule in reversed(_mappings(view.get("sort"))):
            _sort(found, rule)
        limit = view.get("limit")
        found = found[:limit] if isinstance(limit, int) and limit > 0 else found
        columns = [str(each) for each in view.get("order") or ["file.name"] if not str(each).startswith("formula.")]
        head = "".join(f"<th>{escape(_heading(base, each))}</th>" for each in columns)
        body = "".join(f"<tr>{''.join(_cell(row, each) for each in columns)}</tr>" for row in found[:_MOST_ROWS])
    except (_NotPlain, TypeError, RecursionError):
        return None
    count = f"{len(found):,}" + (f", the first {_MOST_ROWS} of them here" if len(found) > _MOST_ROWS else "")
    among = f" among the first {MOST_LISTED:,} documents" if is_cut else ""
    name = escape(str(view.get("name", "Table")))
    opening = '<details class="base" open>' if is_open else '<details class="base">'
    return (
        f"{opening}<summary>{name} <span>{count}{among}</span></summary>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></details>"
    )


def _mappings(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _sort(rows: list[_Row], rule: Mapping[str, Any]) -> None:
    """Sort by a property. Notes without it come last."""
    get = _value(str(rule.get("property", "file.name")))
    valued = [(get(row), row) for row in rows]
    filled = [each for each in valued if each[0] not in _EMPTY]
    filled.sort(key=lambda each: _comparable(each[0]), reverse=str(rule.get("direction")).upper() == "DESC")
    rows[:] = [row for _, row in (*filled, *(each for each in valued if each[0] in _EMPTY))]


def _comparable(value: object) -> tuple[int, float, str]:
    if isinstance(value, int | float):
        return 0, float(value), ""
    return 1, 0.0, plain_text(value).lower()


def _heading(base: Mapping[str, Any], column: str) -> str:
    known = base.get("properties")
    of_column = (known.get(column) or known.get(f"note.{column}")) if isinstance(known, dict) else None
    shown = of_column.get("displayName") if isinstance(of_column, dict) else None
    return str(shown or column.removeprefix("note.").removeprefix("file."))


def _cell(row: _Row, column: str) -> str:
    text = escape(plain_text(_value(column)(row)))
    if column in ("file.name", "file.file"):
        return f'<td><a href="/doc/{row.document.collection}/{quote(row.document.path)}">{text}</a></td>'
    return f"<td>{text}</td>"


# Filters


def _filter(written: object, depth: int = 0) -> _Filter:
    """Return the condition of a filter: an expression, or `and`, `or` or `not` with a list of filters."""
    if isinstance(written, str):
        get = _value(written)
        return lambda row: bool(get(row))
    if not isinstance(written, dict) or len(written) != 1 or depth > _MAX_DEPTH:
        raise _NotPlain
    ((kind, inner),) = written.items()
    conditions = [_filter(each, depth + 1) for each in (inner if isinstance(inner, list) else [inner])]
    if kind not in ("and", "or", "not"):
        raise _NotPlain(kind)
    if kind == "and":
        return lambda row: all(each(row) for each in conditions)
    return lambda row: any(each(row) for each in conditions) == (kind == "or")


def _value(text: str) -> Callable[[_Row], object]:
    """Return a function that computes an expression. Raises _NotPlain."""
    if len(text) > _MAX_EXPRESSION:
        raise _NotPlain
    try:
        tree = ast.parse(_as_python(text).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        if re.fullmatch(r"[\w -]+", text):  # the name of a property
            return lambda row: row.named(text)
        raise _NotPlain(text) from None
    return lambda row: _evaluated(tree, row)


def _as_python(text: str) -> str:
    out, at = [], 0
    for match in (*_QUOTED.finditer(text), None):
        code = text[at : match.start() if match else len(text)]
        for pattern, operator in _OPERATORS:
            code = re.sub(pattern, operator, code)
        out += [code, match[0] if match else ""]
        at = match.end() if match else at
    return "".join(out)


def _evaluated(node: ast.expr, row: _Row) -> object:
    match node:
        case ast.Constant(value=str() | int() | float() as constant):
            return constant
        case ast.List(elts=items):
            return [_evaluated(item, row) for item in items]
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.Name(id="this") | ast.Attribute(value=ast.Name(id="this"), attr="file"):
            return posixpath.basename(row.this).removesuffix(".md")
        case ast.Name(id=name):
            return row.named(name)
        case ast.Attribute(value=ast.Name(id="file"), attr=name):
            return row.of_file(name)
        case ast.Attribute(value=ast.Name(id="note"), attr=name):
            return row.named(name)
        case ast.Subscript(value=ast.Name(id="note"), slice=ast.Constant(value=str(name))):
            return row.named(name)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _evaluated(operand, row)
        case ast.BoolOp(op=operation, values=values):
            found = (bool(_evaluated(each, row)) for each in values)
            return all(found) if isinstance(operation, ast.And) else any(found)
        case ast.Compare(left=left, ops=[operation], comparators=[right]):
            return _compared(operation, _evaluated(left, row), _evaluated(right, row))
        case ast.Call(func=ast.Name(id="link" | "list" | "date" as name), args=[argument], keywords=[]):
            value = _evaluated(argument, row)
            if name == "list":
                return value if isinstance(value, list) else [value]
            return plain_text(value).rpartition("/")[2] if name == "link" else value
        case ast.Call(func=ast.Attribute(value=ast.Name(id="file"), attr=name), args=arguments, keywords=[]):
            return _of_file(name, row, [plain_text(_evaluated(each, row)) for each in arguments])
        case ast.Call(func=ast.Attribute(value=subject, attr=name), args=arguments, keywords=[]):
            return _called(name, _evaluated(subject, row), [_evaluated(each, row) for each in arguments])
    raise _NotPlain(ast.dump(node)[:80])


def _compared(operation: ast.cmpop, left: object, right: object) -> bool:
    first, second = _comparable(left), _comparable(right)
    match operation:
        case ast.Eq():
            return first == second
        case ast.NotEq():
            return first != second
    if left in (None, "") or first[0] != second[0]:
        return False
    match operation:
        case ast.Lt():
            return first < second
        case ast.LtE():
            return first <= second
        case ast.Gt():
            return first > second
        case ast.GtE():
            return first >= second
    raise _NotPlain(operation)


def _of_file(name: str, row: _Row, arguments: list[str]) -> bool:
    tags = [tag.lower() for tag in row.document.tags or []]
    match name, arguments:
        case "hasTag", [*wanted]:
            return any(t == w or t.startswith(f"{w}/") for w in (w.lstrip("#").lower() for w in wanted) for t in tags)
        case "inFolder", [folder]:
            return row.document.path.startswith(f"{folder.strip('/')}/")
        case "hasProperty", [wanted]:
            return any(name.lower() == wanted.lower() for name in row.document.metadata or {})
    raise _NotPlain(name)


def _called(name: str, subject: object, arguments: list[object]) -> object:
    values = [plain_text(each).lower() for each in subject] if isinstance(subject, list) else None
    text = plain_text(subject).lower()
    wanted = [plain_text(each).lower() for each in arguments]
    has = [(each in values) if values is not None else (each in text) for each in wanted]
    match name, wanted:
        case "contains", [_]:
            return has[0]
        case "containsAny", _:
            return any(has)
        case "containsAll", _:
            return all(has)
        case "startsWith", [beginning]:
            return text.startswith(beginning)
        case "endsWith", [end]:
            return text.endswith(end)
        case "isEmpty", []:
            return subject in _EMPTY
        case "lower" | "toString", []:
            return text if name == "lower" else plain_text(subject)
    raise _NotPlain(name)
