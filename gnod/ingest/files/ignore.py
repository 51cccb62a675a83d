"""Decide which paths of a collection are excluded: by its rules, `.gitignore` and `.gnoignore`.

Patterns are those of gitignore, through pathspec; paths are relative to the root, with slashes.
"""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from gnod.globs import Glob

IGNORE_FILES = (".gitignore", ".gnoignore")
_MAX_IGNORE_BYTES = 1024 * 1024


class IgnoreFile(NamedTuple):
    """`base` is its folder with a final slash, "" at the root."""

    base: str
    name: str
    spec: GitIgnoreSpec

    def verdict(self, path: str) -> bool | None:
        """Return True to exclude, False to include again, None without a match."""
        return self.spec.check_file(path[len(self.base) :]).include


class IgnoreFiles:
    """Reads ignore files and keeps them until they change."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], GitIgnoreSpec]] = {}

    def load(self, root: str, base: str, names: set[str]) -> list[IgnoreFile]:
        """Return the ignore files among the `names` in one folder; later ones override earlier ones."""
        found = []
        for name in IGNORE_FILES:
            if name in names and (spec := self._spec(f"{root}/{base}{name}")):
                found.append(IgnoreFile(base, name, spec))
        return found

    def _spec(self, path: str) -> GitIgnoreSpec | None:
        try:
            stat = os.stat(path)  # noqa: PTH116
            key = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
            if path not in self._known or self._known[path][0] != key:
                if stat.st_size > _MAX_IGNORE_BYTES:
                    return None
                self._known[path] = (key, GitIgnoreSpec.from_lines(_lines(Path(path).read_bytes())))
        except (OSError, ValueError):
            return None
        return self._known[path][1]


def _lines(data: bytes) -> list[str]:
    """Return the lines as git reads them. Windows writes byte order marks, and UTF-16, which git would not read."""
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    return [line.removesuffix("\r") for line in data.decode(encoding, "replace").split("\n")]


# A pattern that is a plain name.
_NAME = re.compile(r"\.?\w[\w.-]*", re.ASCII)


class Rules:
    """A collection's own rules, compiled once per walk."""

    def __init__(self, pattern: str, include: tuple[str, ...], exclude: tuple[str, ...]) -> None:
        # Most patterns are plain names, which a set looks up much faster. With "!" the order matters.
        names = {line for line in exclude if _NAME.fullmatch(line)}
        self._names = frozenset() if any(line.startswith("!") for line in exclude) else frozenset(names)
        patterns = [line for line in exclude if line not in self._names]
        self._exclude = GitIgnoreSpec.from_lines(patterns) if patterns else None
        self._include = tuple(extension.lower() for extension in include)
        self._pattern = None if pattern in ("**/*", "**", "") else Glob(pattern)
        self._pattern_text = pattern

    def reason_against_folder(self, path: str, ignores: list[IgnoreFile]) -> str | None:
        """Return why a folder is not entered, or None."""
        return self._excluded(path + "/", ignores)

    def reason_against_file(self, path: str, ignores: list[IgnoreFile]) -> str | None:
        if reason := self._excluded(path, ignores):
            return reason
        if self._include and not path.lower().endswith(self._include):
            return f"its extension is not among the collection's: {', '.join(self._include)}"
        if self._pattern and not self._pattern.matches(path):
            return f"it does not match the collection's pattern {self._pattern_text}"
        return None

    def _excluded(self, path: str, ignores: list[IgnoreFile]) -> str | None:
        if not self._names.isdisjoint(path.split("/")) or (self._exclude and self._exclude.match_file(path)):
            return "the collection excludes it"
        for ignore in reversed(ignores):
            verdict = ignore.verdict(path)
            if verdict is not None:
                return f"{ignore.base}{ignore.name} ignores it" if verdict else None
        return None
