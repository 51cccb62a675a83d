"""Extract values without links, tags and texts from the metadata of a document, independent of its syntax. Pure.

A link in a value counts as the name of its target: `[[People/Ada|she]]` is `Ada`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gnod.store.tables import tags as stored_tags

Metadata = dict[str, object]

# Tables escape the bar as `\|`.
_LINK = re.compile(r"!?\[\[([^\[\]|\n]{1,1000}?)(?:\\?\|[^\[\]\n]{0,1000})?\]\]")
_BETWEEN = " \t,;"
_TAGS = ("tags", "tag")
_QUOTES = "\"'"
_LONGEST_TAG = 200


def without_links(value: object) -> object:
    """Return a value with links replaced by the names of their targets. A text with only links becomes a list of names.

    >>> without_links("[[Books|my books]]"), without_links("[[a/B]], [[C#d]]"), without_links("by [[Ada]]")
    ('Books', ['B', 'C'], 'by Ada')
    """
    if isinstance(value, dict):
        return {name: without_links(each) for name, each in value.items()}
    if isinstance(value, list):
        target = bare_link(value)
        return [without_links(each) for each in value] if target is None else _name(target)
    if not isinstance(value, str) or "[[" not in value:
        return value
    names = [_name(link[1]) for link in _LINK.finditer(value)]
    if names and not _LINK.sub("", value).strip(_BETWEEN):
        return names if len(names) > 1 else names[0]
    return _LINK.sub(lambda link: _name(link[1]), value)


def tags(metadata: Mapping[str, object]) -> list[str]:
    """Return the distinct tags without `#`, in order. A string is split at commas and spaces. If the metadata has no
    tags, keywords become the tags.

    >>> tags({"tags": "#Auth, postgres"}), tags({"Tags": ["Auth", "auth", 7]})
    (['Auth', 'postgres'], ['Auth', '7'])
    """
    known = {name.lower(): value for name, value in metadata.items()}
    given = [known[name] for name in _TAGS if name in known] or [known.get("keywords")]
    return each_once(item for value in given for item in _items(without_links(value)))


def each_once(items: Iterable[str]) -> list[str]:
    """Return the distinct tags of the texts. Each tag has the spelling of its first occurrence."""
    found: dict[str, str] = {}
    for item in items:
        if tag := stored_tags.written(item.strip().strip(_QUOTES)[:_LONGEST_TAG]):
            found.setdefault(stored_tags.key(tag), tag)
    return list(found.values())


def text(metadata: Mapping[str, object], *names: str) -> str | None:
    """Return the first of these values as one line of text; None if all are missing, empty or not scalars. The names
    must be in lower case."""
    known = {name.lower(): value for name, value in metadata.items()}
    for name in names:
        value = known.get(name)
        if (
            isinstance(value, str | int | float)
            and not isinstance(value, bool)
            and (line := " ".join(str(value).split()))
        ):
            return line
    return None


def bare_link(value: object) -> str | None:
    """Return the target of an unquoted `[[Note]]`, which YAML reads as a list in a list."""
    inner = value[0] if isinstance(value, list) and len(value) == 1 else None
    is_link = isinstance(inner, list) and len(inner) == 1 and isinstance(inner[0], str | int | float)
    return str(inner[0]) if is_link and inner else None


def _name(target: str) -> str:
    """Return the name of the note in a target, without its folder, its heading and the displayed text."""
    path, _, place = target.partition("|")[0].strip().partition("#")
    return path.rstrip("\\/").rpartition("/")[2].removesuffix(".md").strip() or place


def _items(value: object) -> list[str]:
    if isinstance(value, str):
        value = value.strip("[]")  # the brackets of an invalid YAML list
        return value.split(",") if "," in value else value.split()
    return [str(item) for item in value if isinstance(item, str | int | float)] if isinstance(value, list) else []
