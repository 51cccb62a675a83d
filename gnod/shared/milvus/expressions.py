"""Expressions of Milvus: filters and lists of keys, with every text quoted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnod.shared.engine import Restriction

# The length of a VARCHAR in bytes, which Milvus limits to 65,535. Longer values are cut, and compared by the rest.
PATH, TITLE, WORD, TEXT = 16_384, 4_096, 512, 65_535
# A date without a zone is a local one, and the publisher may be in any zone.
_ZONES_S = 26 * 3600
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def condition_of(within: Restriction) -> str:
    """Return the expression of Milvus for a restriction. It may let more documents pass, never fewer."""
    conditions = [f"array_contains(tags, {quoted(cut(tag, WORD))})" for tag in within.tags_all]
    if within.tags_any:
        conditions.append(f"array_contains_any(tags, {_list(cut(tag, WORD) for tag in within.tags_any)})")
    if within.languages:
        conditions.append(any_of("language", [cut(language, WORD) for language in within.languages]))
    if within.types:
        conditions.append(f"({' or '.join(_has_part('doc_type', each) for each in within.types)})")
    if within.path_prefix:
        conditions += begins_with("path", within.path_prefix)
    if within.author:
        conditions.append(_has_part("author", within.author))
    if within.since is not None:
        conditions.append(f"dated >= {within.since - _ZONES_S!r}")
    if within.until is not None:
        conditions.append(f"dated <= {within.until + _ZONES_S!r}")
    return " and ".join(conditions)


def _has_part(name: str, part: str) -> str:
    # `_` matches any character: whether `\%` is a percent sign depends on the server.
    pattern = "".join("_" if c in '%_\\"' or ord(c) < 32 else c for c in cut(part, WORD))
    return f"{name} like {quoted(f'%{pattern}%')}"


def cut(text: str, most: int) -> str:
    """Return as much of a text as fits into this many bytes."""
    data = text.encode(errors="replace")
    return text if len(data) <= most else data[:most].decode(errors="ignore")


def quoted(text: str) -> str:
    r"""Return a string literal of an expression.

    >>> print(quoted('a "b" \\'))
    "a \"b\" \\"
    """
    return f'"{text.encode(errors="replace").decode().translate(_ESCAPES)}"'


def _list(texts: Iterable[str]) -> str:
    return f"[{', '.join(map(quoted, texts))}]"


def any_of(name: str, values: Sequence[str | int]) -> str:
    listed = ", ".join(quoted(value) if isinstance(value, str) else str(value) for value in values)
    return f"{name} in [{listed}]"


def begins_with(name: str, prefix: str) -> list[str]:
    """Return the conditions of a range: how a `like` takes special characters depends on the server."""
    first = cut(prefix, PATH)
    stem = first.rstrip("\U0010ffff")
    if not stem:
        return [f"{name} >= {quoted(first)}"]
    following = ord(stem[-1]) + 1
    after = "\ue000" if 0xD800 <= following <= 0xDFFF else chr(following)
    return [f"{name} >= {quoted(first)}", f"{name} < {quoted(stem[:-1] + after)}"]
