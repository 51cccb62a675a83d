"""Find the spelling of a path as its folders list it. File systems that fold names, such as those of macOS, also accept
other compositions and cases of a name, and events may use any of them.

The type of the file system is irrelevant: a folder folds a name if another spelling of it leads to the same file.
"""

from __future__ import annotations

import os
from unicodedata import normalize


def folded(text: str) -> str:
    """Return the form in which names are compared: canonical caseless matching (Unicode, D145).

    >>> folded("Cafe\\u0301 STRASSE") == folded("Caf\\xe9 straße")
    True
    """
    if text.isascii():
        return text.lower()
    return normalize("NFC", normalize("NFD", text).casefold())


def real_path(path: str) -> str:
    """Return an absolute path as its folders list it, including symbolic links."""
    return "/" + Spellings("").of(path.strip("/"))


class Spellings:
    """Finds spellings below a folder. It caches the lists of folders, so use an object for one walk only."""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self._known: dict[tuple[str, str], str] = {}
        self._names: dict[str, list[str]] = {}

    def of(self, path: str) -> str:
        """Return a relative path as its folders list it, if it exists. On all systems, a path with another composition
        is found too."""
        folder = ""
        for name in path.split("/"):
            if (folder, name) not in self._known:
                self._known[folder, name] = self._listed(f"{self._root}/{folder}", name)
            folder = f"{folder}/{self._known[folder, name]}".lstrip("/")
        return folder

    def _listed(self, folder: str, name: str) -> str:
        compositions = dict.fromkeys((name, normalize("NFC", name), normalize("NFD", name)))
        found = next((each for each in compositions if os.path.lexists(f"{folder}/{each}")), None)
        if found is None:
            return name
        if not any(_is_same(folder, found, other) for other in (found.swapcase(), *compositions) if other != found):
            return found
        names = self._names_in(folder)
        if found in names:
            return found
        # Try names that are equal under Unicode's rules first. The rules of the file system may differ.
        names = sorted(names, key=lambda each: folded(each) != folded(found))
        return next((each for each in names if _is_same(folder, each, found)), found)

    def _names_in(self, folder: str) -> list[str]:
        if folder not in self._names:
            try:
                self._names[folder] = os.listdir(folder)  # noqa: PTH208
            except OSError:  # the walk reports folders that cannot be listed
                self._names[folder] = []
        return self._names[folder]


def _is_same(folder: str, one: str, other: str) -> bool:
    try:
        return os.path.samestat(os.lstat(f"{folder}/{one}"), os.lstat(f"{folder}/{other}"))
    except OSError:
        return False
