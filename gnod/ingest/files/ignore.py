"""Decide which paths of a collection are excluded: hidden files, and matches of its rules, `.gitignore` and
`.gnoignore`.

Patterns have the syntax of gitignore, through pathspec. Paths are relative to the root, with slashes. Both are compared
in Unicode NFC.
"""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

from pathspec import GitIgnoreSpec, RegexPattern

from gnod.config.model import CollectionConfig
from gnod.globs import Glob
from gnod.ingest import packages
from gnod.ingest.files.unreadable import is_dataless, stands_for

IGNORE_FILES = (".gitignore", ".gnoignore")
_MAX_IGNORE_BYTES = 1024 * 1024
_BELOW = "ps_d"  # pathspec's name of the group
_ANY_FOLDER = {"(?P<ps_d>/)": re.compile(r"(?P<ps_d>/)\Z")}
# pathspec does not translate these classes of characters.
_CLASS = re.compile(r"\[:(\w{1,9}):\]")
_CLASSES = {
    "alpha": "A-Za-z",
    "digit": "0-9",
    "alnum": "A-Za-z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "xdigit": "0-9A-Fa-f",
    "space": " \t",
    "blank": " \t",
    "punct": "!-/:-@\\[-`{-~",
}
_STARS = re.compile(r"(?<![^/\n])\*{3,}(?=/|\r?$)", re.MULTILINE)
_FOLDERS_BELOW = re.compile(r"/\*\*/(?=\r?$)", re.MULTILINE)


class _Pattern(NamedTuple):
    """`regex` also matches paths below a matching folder; its group _BELOW then ends before the end of the path."""

    regex: re.Pattern[str]
    include: bool
    has_below: bool


class IgnoreFile(NamedTuple):
    """`base`: the folder of the ignore file with a final slash, "" at the root. `reason`: a message that says why it
    excludes a path."""

    base: str
    reason: str
    patterns: list[_Pattern]

    def verdict(self, path: str) -> bool | None:
        """Return True to exclude, False to include again, None without a match. The path of a folder ends in a slash.

        The caller has already checked the folders above the path, so a pattern for one of them does not count."""
        relative = normalize("NFC", path[len(self.base) :])
        for pattern in reversed(self.patterns):
            found = pattern.regex.search(relative)
            if found and (not pattern.has_below or found.end(_BELOW) in (-1, len(relative))):
                return pattern.include
        return None


def package_rules(root: str, base: str) -> list[IgnoreFile]:
    """Return rules that exclude the parts of a macOS package; none for a plain folder. `base`: as in IgnoreFile."""
    if not base or not (lines := packages.patterns(f"{root}/{base[:-1]}")):
        return []
    patterns = [pattern for line in lines for pattern in _compiled(line)]
    return [IgnoreFile(base, f"{base[:-1]} is a macOS package, and this part of it has no text to index", patterns)]


class IgnoreFiles:
    """Reads ignore files and keeps them until they change."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], list[_Pattern]]] = {}

    def load(self, root: str, base: str, names: set[str]) -> list[IgnoreFile]:
        """Return the ignore files among the `names` in one folder; later ones override earlier ones."""
        found = []
        for name in IGNORE_FILES:
            if name in names and (patterns := self._patterns(f"{root}/{base}{name}")):
                found.append(IgnoreFile(base, f"{base}{name} ignores it", patterns))
        return found

    def _patterns(self, path: str) -> list[_Pattern] | None:
        try:
            stat = os.stat(path)  # noqa: PTH116
            if is_dataless(stat) and path in self._known:  # reading it would download it
                return self._known[path][1]
            key = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
            if path not in self._known or self._known[path][0] != key:
                if stat.st_size > _MAX_IGNORE_BYTES:
                    return None
                self._known[path] = (key, _read(Path(path).read_bytes()))
        except (OSError, ValueError):
            return None
        return self._known[path][1]


def _read(data: bytes) -> list[_Pattern]:
    """Return the patterns as git reads them, but also accept what Windows writes: byte order marks and UTF-16."""
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    text = _CLASS.sub(
        lambda found: _CLASSES.get(found[1], found[0]), normalize("NFC", data.decode(encoding, "replace"))
    )
    text = _FOLDERS_BELOW.sub("/*/", _STARS.sub("**", text))
    return [pattern for line in text.split("\n") for pattern in _compiled(line.removesuffix("\r"))]


def _compiled(line: str) -> list[_Pattern]:
    """Return the pattern of a line, if it is valid. An invalid line must not void the others."""
    try:
        patterns = GitIgnoreSpec.from_lines([line]).patterns if line != "!" else []
    except ValueError:
        return []
    return [
        _Pattern(_ANY_FOLDER.get(each.regex.pattern, each.regex), each.include, _BELOW in each.regex.groupindex)
        for each in patterns
        if isinstance(each, RegexPattern) and each.regex and each.include is not None
    ]


HIDDEN = "it is hidden, and its collection excludes hidden files (`hidden: true` in index.yml includes them)"

APPLE_DOUBLE = "macOS stores attributes of another file in it, because this file system cannot store them"


def is_hidden(path: str) -> bool:
    """Return whether a file, or a folder above it, is hidden. An iCloud placeholder represents a file that is not."""
    return (path.startswith(".") or "/." in path) and any(map(_is_hidden_name, path.split("/")))


def _is_hidden_name(name: str) -> bool:
    return name.startswith(".") and (stands_for(name) or name).startswith(".")


# This matches a pattern that is a plain name.
_NAME = re.compile(r"\.?\w[\w.-]*", re.ASCII)


class Rules:
    """A collection's own rules, compiled once per walk."""

    def __init__(self, collection: CollectionConfig) -> None:
        pattern = normalize("NFC", collection.pattern)
        exclude = [normalize("NFC", line) for line in collection.exclude]
        self._leaves_hidden_out = not collection.hidden
        # Most patterns are plain names, which are looked up much faster in a set. With "!" the order matters.
        names = {line for line in exclude if _NAME.fullmatch(line)}
        self._names = frozenset() if any(line.startswith("!") for line in exclude) else frozenset(names)
        patterns = [line for line in exclude if line not in self._names]
        self._exclude = GitIgnoreSpec.from_lines(patterns) if patterns else None
        self._include = tuple(normalize("NFC", extension.lower()) for extension in collection.include)
        self._pattern = None if pattern in ("**/*", "**", "") else Glob(pattern)
        self._pattern_text = pattern

    def reason_against_folder(self, path: str, ignores: list[IgnoreFile]) -> str | None:
        """Return why the walk does not enter a folder, or None."""
        return self._excluded(path + "/", ignores)

    def reason_against_file(self, path: str, ignores: list[IgnoreFile]) -> str | None:
        if reason := self._excluded(path, ignores):
            return reason
        composed = normalize("NFC", path)
        if self._include and not composed.lower().endswith(self._include):
            return f"the collection includes only files with these extensions: {', '.join(self._include)}"
        if self._pattern and not self._pattern.matches(composed):
            return f"it does not match the collection's pattern {self._pattern_text}"
        return None

    def _excluded(self, path: str, ignores: list[IgnoreFile]) -> str | None:
        if is_hidden(path):
            if self._leaves_hidden_out:
                return HIDDEN
            if path.rpartition("/")[2].startswith("._"):
                return APPLE_DOUBLE
        composed = normalize("NFC", path)
        if not self._names.isdisjoint(composed.split("/")) or (self._exclude and self._exclude.match_file(composed)):
            return "the collection excludes it"
        for ignore in reversed(ignores):
            verdict = ignore.verdict(path)
            if verdict is not None:
                return ignore.reason if verdict else None
        return None
