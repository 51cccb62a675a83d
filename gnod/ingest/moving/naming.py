"""Resolve the targets of links for given paths of files, and write a new path in the same style as the old one. Pure;
uses the rules of the index.

`[[Note]]` stays a name, and becomes a path only if several files have the name. `../a%20b.md` stays relative and
encoded.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat
from typing import NamedTuple
from urllib.parse import quote, unquote

from gnod.disks.spellings import folded
from gnod.ingest.links.targets import LinkTarget, WrittenLink
from gnod.store.link_names import ALIAS, END, OF_FOLDER, names_of
from gnod.store.links.links import LinkedDocument, chosen

_PATH_OF_URL = re.compile(r"(?:\\.|[^#?\\]|\\\Z)*")
_BACKSLASH = re.compile(r"\\([!-/:-@\[-`{-~])")
_ENCODED_LETTER = re.compile("%[89A-Fa-f][0-9A-Fa-f]")
_KEPT = "/!$*+,;=@~-._"
_KEPT_IN_ANGLES = _KEPT + " ()'{}^"
_ADDED = ".adoc"  # the extraction of links adds this extension


_Names = tuple[list[str], list[str]]
"""The aliases and the labels of a document."""


class PathNames:
    """Finds the numbers of files by the names that links use. The first files are documents and have the given `names`;
    as in the index, documents take precedence over other files."""

    def __init__(self, paths: Sequence[str], names: Sequence[_Names]) -> None:
        count = len(names)
        self._tables = [_by_name(0, paths[:count], names), _by_name(count, paths[count:], repeat(([], [])))]

    def meant(self, target: LinkTarget, written: str, path: str) -> list[int]:
        """Return the files that a link in the file `path` can mean: none, one, or several if it is ambiguous."""
        if target.key is None:
            return []
        for table in self._tables:
            rows = [row for row in table.get(target.key, ()) if row[0] <= target.reach]
            if rows:
                return [found.id for found in chosen(rows, target.reach, written, lambda: path)]
        return []

    def is_unique(self, key: str | None) -> bool:
        """Return whether exactly one document has a path, or an end of a path, with this key. If no document has one,
        the same applies to other files."""
        for table in self._tables:
            if ids := {file.id for rank, _, file in table.get(key or "", ()) if rank <= END}:
                return len(ids) == 1
        return False


def _by_name(
    first: int, paths: Iterable[str], names: Iterable[_Names]
) -> dict[str, list[tuple[int, int, LinkedDocument]]]:
    """Return the rank, the depth and the file of each name, in the form for `chosen`. `first`: the number of the first
    file."""
    table = defaultdict[str, list[tuple[int, int, LinkedDocument]]](list)
    for number, (path, (aliases, labels)) in enumerate(zip(paths, names, strict=False), first):
        for name in names_of(path, aliases, labels):
            table[name.name].append((name.rank, name.depth, LinkedDocument(number, path)))
    for rows in table.values():
        rows.sort(key=lambda row: (row[0], row[1], row[2].path))
    return table


class MovedPaths:
    """The paths of files, by number, and the targets of links before and after a move. `names`: as in `PathNames`."""

    def __init__(self, old: Sequence[str], new: Sequence[str], names: Sequence[_Names]) -> None:
        self.old, self.new = old, new
        self.before, self.after = PathNames(old, names), PathNames(new, names)

    def is_name_lost(self, target: LinkTarget) -> bool:
        """Return whether the target is a name, as in Obsidian, that one file has before the move and several after."""
        is_name = target.reach == ALIAS
        return is_name and self.before.is_unique(target.key) and not self.after.is_unique(target.key)


class Spelling(NamedTuple):
    """A way to write a path. `is_name`: it is valid only if the path of no other file ends with it."""

    text: str
    is_name: bool = False


def written_path(found: WrittenLink, text: str) -> str | None:
    """Return the part of the target that names the file, as written in `text`; None if `text` does not contain it."""
    if found.place < 0:
        return None
    if found.addressing == "url":
        match = _PATH_OF_URL.match(found.target)
        path = match[0] if match else ""
    else:
        path = found.target.partition("#")[0].rstrip()
    for each in (path, path.removesuffix(_ADDED)):
        if each and text.startswith(each, found.place):
            return each
    return None


def spellings(
    found: WrittenLink, written: str, *, source: str, before: str, after: str, text: str
) -> Iterator[Spelling]:
    """Yield ways to write the path `after` in place of `written`, the best first. `source`: the new path of the file
    with the link; `before`: the old path of its target."""
    if found.addressing != "url":
        yield from _paths(found, written, source, before, after)
        return
    in_angles = text[found.place - 1 : found.place] == "<"
    plain = unquote(html.unescape(_BACKSLASH.sub(r"\1", written)))
    for path, is_name in _paths(found, plain, source, before, after):
        yield Spelling(_encoded(path, written, in_angles=in_angles), is_name)


def _paths(found: WrittenLink, written: str, source: str, before: str, after: str) -> Iterator[Spelling]:
    for path in _with_same_extension(written, before, after):
        if found.addressing == "name" and not written.startswith(("./", "../", "/")):
            yield from _ends(written, before, path)
        elif written.startswith("/"):
            yield from _rooted(written, before, path)
        else:
            yield Spelling(_relative(written, source, path))


def _with_same_extension(written: str, before: str, after: str) -> Iterator[str]:
    """Yield the path in the form of the old one: without the extension, or as a folder with an index."""
    stem, extension = posixpath.splitext(posixpath.basename(before))
    slash = "/" if written.endswith("/") else ""
    name = folded(posixpath.basename(written.rstrip("/")))
    if folded(stem) in OF_FOLDER and name not in (folded(stem), folded(stem + extension)):
        yield posixpath.dirname(after) + slash
        slash = ""
    elif extension and not name.endswith(folded(extension)):
        yield posixpath.splitext(after)[0]
    yield after + slash


def _ends(written: str, before: str, path: str) -> Iterator[Spelling]:
    """Yield the end of the path with as many folders as in the old link, then the whole path."""
    parts, count = path.split("/"), written.strip("/").count("/") + 1
    if count == 1 or count != before.count("/") + 1:
        yield Spelling("/".join(parts[-count:]), is_name=True)
    yield Spelling(path)


def _rooted(written: str, before: str, path: str) -> Iterator[Spelling]:
    """Yield the path from the same root as the old link, which may be a folder of the collection, and then from the
    root of the collection."""
    root = before.count("/") - written.strip("/").count("/")
    parts = before.split("/")[: max(root, 0)]
    if path.split("/")[: len(parts)] == parts:
        yield Spelling("/" + "/".join(path.split("/")[len(parts) :]))
    yield Spelling("/" + path)


def _relative(written: str, source: str, path: str) -> str:
    found = posixpath.relpath(path, posixpath.dirname(source) or ".")
    found += "/" if path.endswith("/") else ""
    return f"./{found}" if written.startswith("./") and not found.startswith("../") else found


def _encoded(path: str, written: str, *, in_angles: bool) -> str:
    encode = partial(quote, safe=_KEPT_IN_ANGLES if in_angles and "%20" not in written else _KEPT)
    if path.isascii() or _ENCODED_LETTER.search(written):
        return encode(path)
    return "".join(char if not char.isascii() and char.isprintable() else encode(char) for char in path)
