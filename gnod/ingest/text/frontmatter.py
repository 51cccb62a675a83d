"""Read the metadata at the head of a Markdown document: YAML between `---`, TOML between `+++`, or a JSON object.

A bad line does not affect other lines. Values stay as written: `1.10`, `007` and `2026-02-30` are texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from gnod.analysis.markup import head
from gnod.ingest.text.metadata import Metadata

_MAX_DEPTH = 4
_MAX_VALUES = 1000
_MAX_BRACKETS = 50
_MAX_REPORTED = 20
_BRACKET = re.compile(r"[\[\]{}]")
_KEY = re.compile(r"""["']?(?P<key>[^\s#:\-\[\]{}&*!|>%@`"',?][^:\n]{0,199}?)["']? *:(?: +(?P<value>.*))?""")
_ALIAS = re.compile(r"(?:^|[\s\[,])[&*]\w")
# YAML would read an unquoted tag as a comment.
_TAG = re.compile(r"^((?:tags?|keywords) *: +|\s*- +)(#\w.*)$", re.M | re.I)
_TOML_BEGIN = re.compile(r"\s*(?:[\w.-]+\s*=|\[)")
_TOML_PAIR = re.compile(r"\s*([\w.-]+)\s*=\s*(\S.*?)\s*")
_JSON_PAIR = re.compile(r"""\s*["']?(?P<key>[^"':]{1,200})["']?\s*:\s*(?P<value>.*?),?\s*""")
_QUOTES = "\"'"


class Frontmatter(NamedTuple):
    """`metadata`: plain data (strings, numbers, lists, mappings). `body_start`: the start of the body. `unread`: a
    description of the lines that are missing from the metadata."""

    metadata: Metadata
    body_start: int
    unread: str | None = None


NONE = Frontmatter({}, 0)


class _Invalid(Exception):
    """The text is not valid, or may be built to exhaust its parser."""


class _HeadLine(NamedTuple):
    number: int
    text: str

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())


_Read = tuple[Metadata | None, list[_HeadLine]]


def parse(markdown: str) -> Frontmatter:
    """Return the frontmatter of a canonical text. Without one, the metadata is empty and the body is the whole text."""
    found = head(markdown)
    if not found:
        return NONE
    loaded, unread = _SYNTAXES[found["mark"]](found)
    if loaded is None:
        return NONE
    plain = _plain(loaded, 0, [_MAX_VALUES])
    return Frontmatter(plain if isinstance(plain, dict) else {}, found.end(), _in_words(unread))


def _yaml(block: re.Match[str]) -> _Read:
    """Return the data of a YAML block, and the lines that the data omits; None if it is not a mapping."""
    text = _TAG.sub(lambda found: found[1] + json.dumps(found[2].rstrip()), block["lines"].replace("\t", "  "))
    reader = _LineReader()
    loaded = reader.value([_HeadLine(number, line) for number, line in enumerate(text.split("\n"), 2)])
    if not text.strip():
        return {}, []
    if not isinstance(loaded, dict) or len(loaded) < len(reader.unread):
        return None, []
    return loaded, reader.unread


class _LineReader:
    """Reads a block of YAML. If the block is invalid, it reads the entries separately, and the value of an invalid
    entry is its text."""

    def __init__(self) -> None:
        self.unread: list[_HeadLine] = []
        self._left = _MAX_VALUES

    def value(self, lines: list[_HeadLine], depth: int = 0) -> object:
        try:
            return self._loaded(lines)
        except _Invalid:
            return self._items(lines) if _are_items(lines) else self._mapping(lines, depth)

    def _loaded(self, lines: list[_HeadLine]) -> object:
        self._left -= 1
        if self._left < 0:
            raise _Invalid
        return _load("\n".join(line.text for line in lines))

    def _mapping(self, lines: list[_HeadLine], depth: int) -> object:
        found: Metadata = {}
        for entry in _entries(lines):
            try:
                loaded = self._loaded(entry)
            except _Invalid:
                loaded = self._pair(entry, depth)
            if isinstance(loaded, dict):
                found |= loaded
            elif loaded is not None:
                self.unread += entry
        return found

    def _pair(self, entry: list[_HeadLine], depth: int) -> object:
        """Return a key with the text of its value, or with the readable data of the lines below it."""
        pair = _KEY.fullmatch(entry[0].text.strip())
        if not pair:
            return entry
        if pair["value"] or depth >= _MAX_DEPTH or not any(line.text.strip() for line in entry[1:]):
            below = (line.text.strip() for line in entry[1:])
            return {pair["key"]: _bare(" ".join(filter(None, (pair["value"], *below))))}
        return {pair["key"]: self.value(entry[1:], depth + 1)}

    def _items(self, lines: list[_HeadLine]) -> object:
        found: list[object] = []
        for entry in _entries(lines):
            try:
                loaded = self._loaded(entry)
            except _Invalid:
                loaded = [" ".join(line.text.strip() for line in entry).removeprefix("- ").strip()]
            found += loaded if isinstance(loaded, list) else []
        return found


def _first(lines: list[_HeadLine]) -> _HeadLine:
    return next((line for line in lines if line.text.strip()), _HeadLine(0, ""))


def _are_items(lines: list[_HeadLine]) -> bool:
    return _first(lines).text.lstrip().startswith("- ")


def _entries(lines: list[_HeadLine]) -> Iterator[list[_HeadLine]]:
    """Yield each pair or item with the lines below it. The items of a pair may have the indentation of the pair."""
    margin, are_items = _first(lines).indent, _are_items(lines)
    entry: list[_HeadLine] = []
    for line in lines:
        is_item = line.text.lstrip().startswith("- ")
        if line.text.strip() and line.indent <= margin and (are_items or not is_item):
            if entry:
                yield entry
            entry = []
        if entry or line.text.strip():
            entry.append(line)
    if entry:
        yield entry


def _load(block: str) -> object:
    """Return the data of a YAML text. Raises _Invalid."""
    # The safe loader builds plain data only, but aliases ("&") could expand a small block to millions of items, and it
    # takes a second for each thousand open brackets.
    if _ALIAS.search(block) or _open_brackets(block) > _MAX_BRACKETS:
        raise _Invalid
    # Import this here: it takes a tenth of a converter worker's start, and many folders have no frontmatter.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _constructor()
    try:
        return yaml.load(block)
    except (YAMLError, ValueError, RecursionError, OverflowError, TypeError, AttributeError) as error:
        raise _Invalid from error


@cache
def _constructor() -> type:
    """Return a constructor that leaves numbers and dates as they are written."""
    from ruamel.yaml.constructor import SafeConstructor

    class AsWritten(SafeConstructor):
        pass

    kinds: dict[str, Callable[[str], object]] = {"int": _number(int), "float": _number(float), "timestamp": str}
    for kind, read in kinds.items():
        AsWritten.add_constructor(
            f"tag:yaml.org,2002:{kind}", lambda self, node, read=read: read(str(self.construct_scalar(node)))
        )
    return AsWritten


def _number(kind: Callable[[str], float]) -> Callable[[str], object]:
    """Return a function that converts a text to a number, but keeps the text if the number would be written
    differently."""

    def read(written: str) -> object:
        try:
            number = kind(written)
        except ValueError:
            return written
        return number if str(number) == written else written

    return read


def _toml(block: re.Match[str]) -> _Read:
    """Return the data of a TOML block, and the lines that the data omits. An invalid value becomes its text."""
    text = block["lines"]
    try:
        return _loaded_toml(text), []
    except _Invalid:
        pass
    found: Metadata = {}
    unread: list[_HeadLine] = []
    table = ""
    for entry in _pairs([_HeadLine(number, line) for number, line in enumerate(text.split("\n"), 2)]):
        table = entry[0].text if entry[0].text.lstrip().startswith("[") else table
        unread += _read_pair(found, table, entry)
    return found or None, unread


def _pairs(lines: list[_HeadLine]) -> Iterator[list[_HeadLine]]:
    entry: list[_HeadLine] = []
    for line in lines:
        if entry and _TOML_BEGIN.match(line.text):
            yield entry
            entry = []
        if line.text.strip():
            entry.append(line)
    if entry:
        yield entry


def _read_pair(found: Metadata, table: str, entry: list[_HeadLine]) -> list[_HeadLine]:
    """Add a pair, which may have several lines. Returns the lines that are not a part of it."""
    for count in dict.fromkeys((len(entry), 1)):
        try:
            _merge(found, _toml_entry(table, entry[:count]))
        except _Invalid:
            continue
        return entry[count:]
    return entry


def _toml_entry(table: str, entry: list[_HeadLine]) -> Metadata:
    """Return the data of one pair, nested in its table. Raises _Invalid."""
    text = "\n".join(line.text for line in entry)
    head = "" if text.startswith(table) else f"{table}\n"
    try:
        return _loaded_toml(head + text)
    except _Invalid:
        pair = _TOML_PAIR.fullmatch(text)
        if not pair:
            raise
        return _loaded_toml(f"{head}{pair[1]} = {json.dumps(_bare(pair[2]))}")


def _merge(found: Metadata, more: Metadata) -> None:
    for key, value in more.items():
        known = found.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            _merge(known, value)
        else:
            found[key] = value


def _loaded_toml(text: str) -> Metadata:
    import tomllib  # few folders have TOML, and searches import this module too

    try:
        return tomllib.loads(text, parse_float=_number(float))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise _Invalid from error


def _json(block: re.Match[str]) -> _Read:
    """Return the data of a JSON object. If it is invalid, return the data of its readable lines."""
    try:
        loaded = json.loads(block[0], parse_float=_number(float))
        return (loaded if isinstance(loaded, dict) else None), []
    except (ValueError, RecursionError):
        pass
    found: Metadata = {}
    unread: list[_HeadLine] = []
    for number, line in enumerate(block[0].strip().split("\n")[1:-1], 2):
        if pair := _JSON_PAIR.fullmatch(line):
            found[pair["key"]] = _json_value(pair["value"])
        elif line.strip():
            unread.append(_HeadLine(number, line))
    return found or None, unread


def _json_value(text: str) -> object:
    try:
        return json.loads(text, parse_float=_number(float))
    except (ValueError, RecursionError):
        return _bare(text)


_SYNTAXES: dict[str, Callable[[re.Match[str]], _Read]] = {"---": _yaml, "+++": _toml, "{": _json}


def _bare(text: str) -> str:
    """Return the text of an invalid value without the quotation marks around it.

    >>> _bare('"unclosed'), _bare("'it's'"), _bare('"one" and two')
    ('unclosed', "it's", '"one" and two')
    """
    quote = text[:1]
    if quote not in _QUOTES or not quote:
        return text
    if len(text) > 1 and text.endswith(quote):
        return text[1:-1]
    return text[1:] if text.count(quote) == 1 else text


def _in_words(unread: list[_HeadLine]) -> str | None:
    lines = [line for line in unread if line.text.strip() and not line.text.lstrip().startswith("#")]
    if not lines:
        return None
    shown = "; ".join(f"line {line.number}, `{line.text.strip()[:80]}`" for line in lines[:_MAX_REPORTED])
    more = f"; {len(lines) - _MAX_REPORTED:,} more" if len(lines) > _MAX_REPORTED else ""
    return f"what its frontmatter says in {shown}{more}"


def _open_brackets(block: str) -> int:
    """Return the maximum number of brackets that are open at the same time."""
    return max(accumulate(1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(block)), default=0)


def _plain(value: object, depth: int, budget: list[int]) -> object:
    budget[0] -= 1
    if budget[0] < 0 or depth > _MAX_DEPTH:
        return None
    if isinstance(value, dict):
        return {_joined(str(k))[:200]: _plain(v, depth + 1, budget) for k, v in list(value.items())[:_MAX_VALUES]}
    if isinstance(value, list | tuple | set):
        return [_plain(item, depth + 1, budget) for item in list(value)[:_MAX_VALUES]]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)[:200]
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    return _joined(str(value))


def _joined(text: str) -> str:
    """Join the halves of surrogate pairs, as in JSON escapes (`"\\ud83d\\ude42"`). A lone half cannot be stored or
    sent."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
