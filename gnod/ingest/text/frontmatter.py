"""Read the YAML block at the head of a Markdown document. An invalid block is ordinary text."""

from __future__ import annotations

import re
from datetime import date, datetime
from itertools import accumulate
from typing import NamedTuple

_BLOCK = re.compile(r"---[ \t]*\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_MAX_CHARACTERS = 64 * 1024
_MAX_DEPTH = 4
_MAX_VALUES = 1000
_MAX_BRACKETS = 50
_BRACKET = re.compile(r"[\[\]{}]")

Metadata = dict[str, object]


class Frontmatter(NamedTuple):
    """`metadata` is plain data (strings, numbers, lists, mappings); the body starts at `body_start`."""

    metadata: Metadata
    body_start: int


def parse(markdown: str) -> Frontmatter:
    """Return the frontmatter of a canonical text; without a valid one, no metadata and the whole text as body."""
    match = _BLOCK.match(markdown, 0, _MAX_CHARACTERS)
    if not match:
        return Frontmatter({}, 0)
    if not match[1].strip():
        return Frontmatter({}, match.end())
    # The safe loader builds plain data only, but aliases ("&") could expand a small block to millions of items.
    if re.search(r"(?:^|[\s\[,])[&*]\w", match[1]):
        return Frontmatter({}, 0)
    if _depth(match[1]) > _MAX_BRACKETS:
        return Frontmatter({}, 0)  # the loader takes a second for each thousand open brackets
    loaded = _load(match[1])
    if not isinstance(loaded, dict):
        return Frontmatter({}, 0)
    budget = [_MAX_VALUES]
    plain = _plain(loaded, 0, budget)
    return Frontmatter(plain if isinstance(plain, dict) else {}, match.end())


def _load(block: str) -> object:
    """Return the data of a YAML block; None for an invalid one."""
    # Import it here: it takes a tenth of a converter worker's start, and many folders have no frontmatter.
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(block)
    except (YAMLError, ValueError, RecursionError, OverflowError, TypeError, AttributeError):
        return None


def block_end(markdown: str) -> int:
    """Return where a block that looks like frontmatter ends, without reading it; 0 if there is none."""
    match = _BLOCK.match(markdown, 0, _MAX_CHARACTERS)
    return match.end() if match else 0


def tags(metadata: Metadata) -> list[str]:
    """Return the tags, lower-case, without `#`, each once, in order. A string is split at commas and spaces.

    >>> tags({"tags": "#Auth, postgres"}), tags({"tags": ["Auth", "auth", 7]})
    (['auth', 'postgres'], ['auth', '7'])
    """
    value = metadata.get("tags", metadata.get("tag", metadata.get("keywords")))
    if isinstance(value, str):
        items: list[object] = list(value.split(",") if "," in value else value.split())
    elif isinstance(value, list):
        items = [item for item in value if isinstance(item, str | int | float)]
    else:
        items = []
    found = (str(item).strip().lstrip("#").lower()[:200] for item in items)
    return list(dict.fromkeys(tag for tag in found if tag))


def text(metadata: Metadata, key: str) -> str | None:
    """Return a value as one line of text, or None when it is missing, empty or not a scalar."""
    value = metadata.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return " ".join(str(value).split()) or None


def _depth(block: str) -> int:
    """Return the largest number of open brackets."""
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
    """Join the halves of surrogate pairs, as in escapes of JSON (`"\\ud83d\\ude42"`). A lone half can be neither stored
    nor sent."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
