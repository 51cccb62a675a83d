"""Typed reading of one mapping of the config file: every wrong value becomes a fault that names its line.

Knows what a string or a number looks like, and not which settings there are.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence

import msgspec

from gnod.config.faults import Report, did_you_mean
from gnod.config.nodes import Node, Opaque, describe, is_null, value_of

# What validation may look at in total. Aliases let a short file mean a huge one; no real file comes near.
MAX_VISITS = 100_000


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys that one level of the file may have.

    `aliases` maps GNO's spelling to ours. `foreign` are GNO's settings that gnod does not have: they
    are no typos, so they get no proposal.
    """

    own: tuple[str, ...]
    aliases: dict[str, str] = {}
    foreign: frozenset[str] = frozenset()


class TooManyVisitsError(Exception):
    """The file's aliases mean more than MAX_VISITS values."""


class Visits:
    """Counts what validation looks at, over the whole file."""

    def __init__(self) -> None:
        self._left = MAX_VISITS

    def spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooManyVisitsError


class Fields:
    """The entries of one mapping. A getter returns its default where the key is absent, empty or faulty."""

    def __init__(self, report: Report, visits: Visits, node: Node, where: str, keys: Keys) -> None:
        self.where = where
        self.line = node.line
        self._report = report
        self._visits = visits
        self._unknown: list[str] = []
        self._written: dict[str, str] = {}
        self._values: dict[str, Node] = {}
        for key, value, inherited in self._entries(node.target):
            self._keep(key, value, inherited, keys)

    def path(self, key: str) -> str:
        """Return where `key` is, under the name that the user gave it."""
        name = self._written.get(key, key)
        return f"{self.where}.{name}" if self.where else name

    def fault(self, key: str, message: str) -> None:
        node = self._values.get(key)
        self._report.fault(node.line if node else self.line, self.path(key), message)

    def warn(self, key: str, message: str) -> None:
        node = self._values.get(key)
        self._report.warn(node.line if node else self.line, self.path(key), message)

    def has(self, key: str) -> bool:
        return key in self._values and not is_null(self._values[key])

    def text(self, key: str, *, blank: bool = False) -> str | None:
        """Return a non-empty string. With `blank`, an empty one is no fault and means None."""
        if not self.has(key):
            return None
        node = self._values[key].target
        if blank and node.kind == "scalar" and not node.text.strip():
            return None
        return self._string(self._values[key], self.path(key))

    def required(self, key: str) -> str | None:
        if not self.has(key):
            meant = difflib.get_close_matches(key, self._unknown, n=1, cutoff=0.7)
            self.fault(key, f"is missing; is {meant[0]!r} a misspelling of it?" if meant else "is missing")
        return self.text(key)

    def raw(self, key: str) -> str | None:
        """Return a string or a number as it is written."""
        if not self.has(key):
            return None
        node = self._values[key].target
        if node.kind == "scalar" and not isinstance(value_of(node), bool | Opaque) and node.text.strip():
            return node.text
        self.fault(key, f"expected a string, got {describe(node)}")
        return None

    def texts(self, key: str) -> tuple[str, ...] | None:
        if not self.has(key):
            return None
        found = [self._string(item, f"{self.path(key)}[{i}]") for i, item in enumerate(self._items(key, "strings"))]
        return tuple(text for text in found if text is not None)

    def mapping(self, key: str, keys: Keys) -> Fields | None:
        if not self.has(key):
            return None
        return mapping(self._report, self._visits, self._values[key], self.path(key), keys)

    def mappings(self, key: str, keys: Keys) -> Iterator[Fields]:
        """Yield the items of a list of mappings; one that is no mapping is a fault and left out."""
        for index, item in enumerate(self._items(key, "mappings")):
            if fields := mapping(self._report, self._visits, item, f"{self.path(key)}[{index}]", keys):
                yield fields

    def flag(self, key: str, *, default: bool) -> bool:
        if not self.has(key):
            return default
        node = self._values[key].target
        value = value_of(node) if node.kind == "scalar" else None
        if isinstance(value, bool):
            return value
        spelt = {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(str(value).lower())
        hint = f"; did you mean {spelt}?" if spelt else ""
        self.fault(key, f"expected true or false, got {describe(node)}{hint}")
        return default

    def integer(self, key: str, *, default: int, low: int, high: int) -> int:
        value = self._number(key, "a whole number", low, high)
        if isinstance(value, float) and not value.is_integer():
            self.fault(key, f"expected a whole number, got {describe(self._values[key])}")
            return default
        return default if value is None else int(value)

    def seconds(self, key: str, *, default: float, low: float, high: float) -> float:
        value = self._number(key, "a number of seconds", low, high)
        return default if value is None else value

    def choice(self, key: str, options: Sequence[str]) -> str | None:
        if not self.has(key):
            return None
        node = self._values[key].target
        value = value_of(node) if node.kind == "scalar" else None
        if isinstance(value, str) and value in options:
            return value
        expected = ", ".join(options[:-1]) + f" or {options[-1]}"
        hint = did_you_mean(node.text, options)
        self.fault(key, f"expected {expected}, got {describe(node)}{hint}")
        return None

    def _items(self, key: str, of: str) -> list[Node]:
        if not self.has(key):
            return []
        node = self._values[key].target
        if node.kind != "sequence" or describe(node) != "a list":
            self.fault(key, f"expected a list of {of}, got {describe(node)}")
            return []
        return list(self._counted(node.children))

    def _number(self, key: str, expected: str, low: float, high: float) -> float | None:
        if not self.has(key):
            return None
        node = self._values[key].target
        value = value_of(node) if node.kind == "scalar" else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            hint = "; leave out the quotes" if isinstance(value, str) and value.isdecimal() else ""
            self.fault(key, f"expected {expected}, got {describe(node)}{hint}")
            return None
        if math.isnan(value) or not low <= value <= high:
            self.fault(key, f"must be from {low:,} to {high:,}, got {node.text[:40]}")
            return None
        return value

    def _string(self, node: Node, where: str) -> str | None:
        target = node.target
        value = value_of(target) if target.kind == "scalar" else None
        if not isinstance(value, str):
            hint = "; put it in quotes" if isinstance(value, bool | int | float) else ""
            self._report.fault(node.line, where, f"expected a string, got {describe(node)}{hint}")
        elif not value.strip():
            self._report.fault(node.line, where, "must not be empty")
        # Neither can be part of a path or a message: the system and UTF-8 refuse them, much later.
        elif "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
            self._report.fault(node.line, where, "contains a NUL or half a surrogate pair, which is not valid text")
        else:
            return value
        return None

    def _counted(self, nodes: Sequence[Node]) -> Iterator[Node]:
        for node in nodes:
            self._visits.spend()
            yield node

    def _entries(self, node: Node) -> Iterator[tuple[Node, Node, bool]]:
        """Yield (key, value, inherited): the mapping's own entries, then those of its `<<`, nearest first."""
        pending, seen, inherited = [node], {id(node)}, False
        while pending:
            entries = pending.pop(0).entries
            merged: list[Node] = []
            for key, value in entries:
                self._visits.spend()
                if key.kind == "scalar" and key.text == "<<" and not key.style:
                    merged += self._merge_sources(value)
                else:
                    yield key, value, inherited
            fresh = [source for source in merged if id(source) not in seen]
            seen.update(id(source) for source in fresh)
            pending[:0] = dict.fromkeys(fresh)
            inherited = True

    def _merge_sources(self, value: Node) -> list[Node]:
        target = value.target
        sources = list(self._counted(target.children)) if target.kind == "sequence" else [target]
        found = [source.target for source in sources if source.target.kind == "mapping"]
        if len(found) < len(sources):
            self._report.fault(value.line, self.where, f"'<<' expects a mapping to merge, got {describe(value)}")
        return found

    def _keep(self, key: Node, value: Node, inherited: bool, keys: Keys) -> None:
        if key.target.kind != "scalar":
            self._report.fault(key.line, self.where, f"a key must be a plain word, got {describe(key)}")
            return
        name = key.target.text
        own = keys.aliases.get(name, name)
        if own not in keys.own:
            self._warn_unknown(key, name, keys)
        elif own not in self._values:
            self._written[own] = name
            self._values[own] = value
        elif not inherited and self._written[own] != name:
            message = f"'{name}' and '{self._written[own]}' are the same setting; keep one of them"
            self._report.fault(key.line, f"{self.where}.{name}".lstrip("."), message)

    def _warn_unknown(self, key: Node, name: str, keys: Keys) -> None:
        where = f"{self.where}.{name[:60]}".lstrip(".")
        if name in keys.foreign:
            self._report.warn(key.line, where, "a setting of GNO that gnod does not have; kept and ignored")
        elif self._report.wants_warnings:
            self._unknown.append(name)
            hint = did_you_mean(name, [*keys.own, *keys.aliases])
            self._report.warn(key.line, where, f"unknown key, kept and ignored{hint}")
        else:
            self._report.warn(key.line, where, "unknown key")


def mapping(report: Report, visits: Visits, node: Node, where: str, keys: Keys) -> Fields | None:
    """Return the fields of `node`; None, and a fault, when it is no mapping."""
    if node.target.kind != "mapping" or describe(node) != "a mapping":
        report.fault(node.line, where, f"expected a mapping, got {describe(node)}")
        return None
    return Fields(report, visits, node, where, keys)
