"""Reads one mapping of the config file with types. Every wrong value becomes a fault that names its line.

This module defines the forms of strings and numbers, but not the settings.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args, get_origin

import msgspec

from gnod.config.document import Opaque, Value, YamlNode, describe, is_null, value_of
from gnod.config.faults import FaultReport, did_you_mean
from gnod.config.model import Setting


class Keys(msgspec.Struct, frozen=True, kw_only=True):
    """The allowed keys of one level of the file.

    `aliases` maps GNO's spelling to ours. `foreign`: settings of GNO that gnod does not have. They are not typos, so
    the warning proposes no other key.
    """

    own: tuple[str, ...]
    aliases: dict[str, str] = {}
    foreign: frozenset[str] = frozenset()


class Fields:
    """The entries of one mapping. A getter returns its default if the key is absent, empty or faulty."""

    def __init__(self, report: FaultReport, node: YamlNode, where: str, keys: Keys) -> None:
        self.where = where
        self.line = node.line
        self._report = report
        self._unknown: list[str] = []
        self._written: dict[str, str] = {}
        self._values: dict[str, YamlNode] = {}
        for key, value, inherited in self._entries(node.target):
            self._keep(key, value, inherited, keys)

    def path(self, key: str) -> str:
        """Return the path of `key` in the file, with the spelling of the user."""
        return f"{self.where}.{self._written.get(key, key)}".lstrip(".")

    def fault(self, key: str, message: str) -> None:
        self._report.fault(self._line(key), self.path(key), message)

    def warn(self, key: str, message: str) -> None:
        self._report.warn(self._line(key), self.path(key), message)

    def has(self, key: str) -> bool:
        return key in self._values and not is_null(self._values[key])

    def read(self, setting: Setting) -> Any:
        """Return the value of a setting, read according to its type."""
        key, kind = setting.name, setting.kind
        if not self.has(key):
            return setting.default
        if get_origin(kind) is Literal:
            value: object = self.choice(key, get_args(kind))
        elif get_origin(kind) is tuple:
            value = self.texts(key)
        elif kind is bool:
            value = self._flag(key)
        elif kind in (int, float):
            value = self._number(setting)
        else:
            value = self.text(key)
        return setting.default if value is None else value

    def text(self, key: str, *, blank: bool = False) -> str | None:
        """Return a non-empty string. With `blank`, an empty string is allowed and means None."""
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

    def raw(self, key: str, *, flags: bool = False) -> str | None:
        """Return a string or a number in its written form. `flags`: also accept true and false."""
        if not self.has(key):
            return None
        node, value = self._scalar(key)
        if (
            node.kind == "scalar"
            and (flags or not isinstance(value, bool))
            and not isinstance(value, Opaque)
            and node.text.strip()
        ):
            return node.text
        self.fault(key, f"expected a string, got {describe(node)}")
        return None

    def texts(self, key: str) -> tuple[str, ...] | None:
        if not self.has(key):
            return None
        texts = [self._string(item, f"{self.path(key)}[{i}]") for i, item in enumerate(self._items(key, "strings"))]
        return tuple(text for text in texts if text is not None)

    def mapping(self, key: str, keys: Keys) -> Fields | None:
        if not self.has(key):
            return None
        return mapping(self._report, self._values[key], self.path(key), keys)

    def mappings(self, key: str, keys: Keys) -> Iterator[Fields]:
        """Yield the items of a list of mappings. An item of another kind is a fault and omitted."""
        for index, item in enumerate(self._items(key, "mappings")):
            if fields := mapping(self._report, item, f"{self.path(key)}[{index}]", keys):
                yield fields

    def choice(self, key: str, options: Sequence[str]) -> str | None:
        if not self.has(key):
            return None
        node, value = self._scalar(key)
        if isinstance(value, str) and value in options:
            return value
        expected = ", ".join(options[:-1]) + f" or {options[-1]}"
        self.fault(key, f"expected {expected}, got {describe(node)}{did_you_mean(node.text, options)}")
        return None

    def _flag(self, key: str) -> bool | None:
        node, value = self._scalar(key)
        if isinstance(value, bool):
            return value
        meant = {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(str(value).lower())
        hint = f"; did you mean {meant}?" if meant else ""
        self.fault(key, f"expected true or false, got {describe(node)}{hint}")
        return None

    def _number(self, setting: Setting) -> float | None:
        is_whole = setting.kind is int
        node, value = self._scalar(setting.name)
        expected = f"expected {'a whole number' if is_whole else 'a number of seconds'}, got {describe(node)}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            hint = "; remove the quotes" if isinstance(value, str) and value.isdecimal() else ""
            self.fault(setting.name, f"{expected}{hint}")
        elif math.isnan(value) or not setting.low <= value <= setting.high:
            self.fault(setting.name, f"must be from {setting.low:,} to {setting.high:,}, got {node.text[:40]}")
        elif is_whole and int(value) != value:
            self.fault(setting.name, expected)
        else:
            return int(value) if is_whole else value
        return None

    def _line(self, key: str) -> int:
        return self._values[key].line if key in self._values else self.line

    def _scalar(self, key: str) -> tuple[YamlNode, Value | Opaque]:
        """Return the node of `key`, and its value if it is a scalar."""
        node = self._values[key].target
        return node, value_of(node) if node.kind == "scalar" else None

    def _items(self, key: str, of: str) -> list[YamlNode]:
        if not self.has(key):
            return []
        node = self._values[key].target
        if node.kind != "sequence" or describe(node) != "a list":
            self.fault(key, f"expected a list of {of}, got {describe(node)}")
            return []
        return list(self._counted(node.children))

    def _string(self, node: YamlNode, where: str) -> str | None:
        target = node.target
        value = value_of(target) if target.kind == "scalar" else None
        if not isinstance(value, str):
            hint = "; put it in quotes" if isinstance(value, bool | int | float) else ""
            self._report.fault(node.line, where, f"expected a string, got {describe(node)}{hint}")
        elif not value.strip():
            self._report.fault(node.line, where, "must not be empty")
        # Neither can be part of a path or a message: the system and UTF-8 would later refuse it.
        elif "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
            self._report.fault(node.line, where, "contains a NUL or half a surrogate pair, which is not valid text")
        else:
            return value
        return None

    def _counted(self, nodes: Sequence[YamlNode]) -> Iterator[YamlNode]:
        for node in nodes:
            self._report.count_visit()
            yield node

    def _entries(self, node: YamlNode) -> Iterator[tuple[YamlNode, YamlNode, bool]]:
        """Yield (key, value, inherited): first the mapping's own entries, then those of its `<<`, nearest first."""
        pending, seen, inherited = [node], {id(node)}, False
        while pending:
            merged: list[YamlNode] = []
            for key, value in pending.pop(0).entries:
                self._report.count_visit()
                if key.kind == "scalar" and key.text == "<<" and not key.style:
                    merged += self._merge_sources(value)
                else:
                    yield key, value, inherited
            fresh = [source for source in merged if id(source) not in seen]
            seen.update(id(source) for source in fresh)
            pending[:0] = dict.fromkeys(fresh)
            inherited = True

    def _merge_sources(self, value: YamlNode) -> list[YamlNode]:
        target = value.target
        sources = list(self._counted(target.children)) if target.kind == "sequence" else [target]
        mappings = [source.target for source in sources if source.target.kind == "mapping"]
        if len(mappings) < len(sources):
            self._report.fault(value.line, self.where, f"'<<' expects a mapping to merge, got {describe(value)}")
        return mappings

    def _keep(self, key: YamlNode, value: YamlNode, inherited: bool, keys: Keys) -> None:
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

    def _warn_unknown(self, key: YamlNode, name: str, keys: Keys) -> None:
        message = "unknown key"
        if name in keys.foreign:
            message = "a setting of GNO that gnod does not have; kept and ignored"
        elif self._report.wants_warnings:
            self._unknown.append(name)
            message = f"unknown key, kept and ignored{did_you_mean(name, [*keys.own, *keys.aliases])}"
        self._report.warn(key.line, f"{self.where}.{name[:60]}".lstrip("."), message)


def mapping(report: FaultReport, node: YamlNode, where: str, keys: Keys) -> Fields | None:
    """Return the fields of `node`; None, with a fault, if it is not a mapping."""
    if node.target.kind != "mapping" or describe(node) != "a mapping":
        report.fault(node.line, where, f"expected a mapping, got {describe(node)}")
        return None
    return Fields(report, node, where, keys)
