"""Plan a move: which files get another path, and which bytes of which files change.

It reads the index and the files on the disk, and changes neither. The index must equal the folder.
"""

from __future__ import annotations

import codecs
import difflib
import hashlib
import os
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gnod.config.model import CollectionConfig
from gnod.disks.spellings import Spellings, folded
from gnod.errors import DocumentNotFound, MoveConflict, PathOutsideRoot, Refused, RootUnavailable
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.walk import folder_problem, why_not_listed
from gnod.ingest.links.targets import LinkTarget
from gnod.ingest.member_names import SEPARATOR
from gnod.ingest.moving.naming import MovedPaths
from gnod.ingest.moving.rewriting import Edit, LeftLink, NotRewritable, apply, rewrite
from gnod.store import link_names
from gnod.store.connection import Connection
from gnod.store.documents import collections
from gnod.store.links import links
from gnod.store.tables.records import Link


class PlannedFile(NamedTuple):
    """A file whose links change. `path`: the path before the move."""

    path: str
    before: bytes
    after: bytes
    edits: list[Edit]


class MovePlan(NamedTuple):
    """A move of `old` to `new`, both relative to the folder `root`."""

    root: str
    old: str
    new: str
    files: list[PlannedFile]
    left: list[LeftLink]

    def diff(self) -> Iterator[str]:
        """Yield the lines of a unified diff, with the names of the files before and after the move."""
        for file in self.files:
            before, after = _lines(file.before), _lines(file.after)
            path = moved(file.path, self.old, self.new)
            yield from difflib.unified_diff(before, after, file.path, path, n=1, lineterm="")

    @property
    def digest(self) -> str:
        parts = (self.root, self.old, self.new, *(f"{each.path}\0{_hash(each.after)}" for each in self.files))
        return _hash("\0".join(parts).encode())


def moved(path: str, old: str, new: str) -> str:
    """Return a path after `old`, with everything in it, has moved to `new`.

    >>> moved("a/b.md", "a", "c"), moved("a.md", "a", "c")
    ('c/b.md', 'a.md')
    """
    is_inside = path == old or path.startswith((f"{old}/", f"{old}{SEPARATOR}"))
    return new + path[len(old) :] if is_inside else path


def plan(
    connection: Connection, collection: CollectionConfig, old: str, new: str, ignore_files: IgnoreFiles
) -> MovePlan:
    """Raises DocumentNotFound, MoveConflict, PathOutsideRoot, Refused."""
    planning = _Planning(connection, collection, *_checked(collection, old, new))
    for path in planning.moved_documents():
        if SEPARATOR not in path and (reason := why_not_listed(collection, path, ignore_files)):
            raise Refused(f"{path} would not be indexed ({reason}): choose another name")
    return planning.plan()


def _checked(collection: CollectionConfig, old: str, new: str) -> tuple[str, str]:
    """Return the paths without `.` and double slashes. If `new` is a folder, the new path is inside it."""
    if "\0" in old + new:
        raise Refused("a path cannot contain a null character: remove it")
    if reason := folder_problem(collection.path):
        raise RootUnavailable(reason)
    root = Path(collection.path)
    old, new = (posixpath.normpath(path).lstrip("/") for path in (old, new))
    if old == ".":
        raise Refused(f"{root} is the folder of a collection: move it yourself, then change its path in index.yml")
    spellings = Spellings(collection.path)
    old = spellings.of(old)
    if not os.path.lexists(root / old):
        raise DocumentNotFound(f"there is no file or folder {root / old}")
    if (root / spellings.of(new)).is_dir() and not is_same(root / old, root / new):
        new = posixpath.join(new, posixpath.basename(old))
    new = posixpath.join(spellings.of(posixpath.dirname(new)), posixpath.basename(new))
    for path in (old, new):
        if ".." in path.split("/") or not (root / path).parent.resolve().is_relative_to(root.resolve()):
            raise PathOutsideRoot(f"{root / path} is not inside the collection {collection.name}")
    if (root / old).is_symlink():
        raise Refused(f"{root / old} is a symbolic link, and gnod does not move links")
    if f"{new}/".startswith(f"{old}/"):
        raise Refused(f"{new} is {old} itself, or inside it: choose another name")
    if os.path.lexists(root / new) and not is_same(root / old, root / new):
        raise MoveConflict(f"{root / new} exists already: choose another name")
    if _is_read_only((root / old).parent):
        raise Refused(f"{(root / old).parent} is read-only")
    return old, new


def _is_read_only(path: Path) -> bool:
    """Return whether this user cannot write there; for root, whether no user can."""
    return not os.access(path, os.W_OK) or not path.stat().st_mode & 0o222


def is_same(first: Path, second: Path) -> bool:
    """Return whether two paths name the same file, as on file systems that ignore case."""
    return second.exists() and first.samefile(second) and folded(str(first)) == folded(str(second))


class _LinkingDocument(NamedTuple):
    id: int
    path: str
    source_hash: str
    mime: str


class _Planning:
    """The numbered files of a collection: documents sorted by id, then other files, because links may also name
    them."""

    def __init__(self, connection: Connection, collection: CollectionConfig, old: str, new: str) -> None:
        self._connection, self._root, self._from, self._to = connection, collection.path, old, new
        self._id = collections.id_of(connection, collection.name)
        rows = connection.execute(
            "SELECT id, path, source_hash, mime FROM documents WHERE collection_id = ? AND active ORDER BY id",
            (self._id,),
        )
        self._documents = [_LinkingDocument(*row) for row in rows]
        known = dict.fromkeys(document.path for document in self._documents)
        self._old = [*known, *(path for path in _on_disk(self._root) if path not in known)]
        self._new = [moved(path, old, new) for path in self._old]
        self._paths = MovedPaths(self._old, self._new, self._names())

    def moved_documents(self) -> list[str]:
        """Return the new paths of the moved documents."""
        return [self._new[number] for number in self._moved()]

    def plan(self) -> MovePlan:
        files: list[PlannedFile] = []
        left: list[LeftLink] = []
        for number in self._affected():
            try:
                file, unchanged = self._rewritten(number)
            except NotRewritable as error:
                left += self._unwritable(number, str(error))
                continue
            left += unchanged
            if file.edits:
                files.append(file)
        return MovePlan(self._root, self._from, self._to, files, left)

    def _names(self) -> list[tuple[list[str], list[str]]]:
        """Return the aliases and the labels of each document."""
        rows = self._connection.execute(
            "SELECT document_id, name, rank FROM names WHERE collection_id = ? AND"
            " (rank = ? OR rank = ? AND (name GLOB 'ref:*' OR name GLOB 'id:*'))",
            (self._id, link_names.ALIAS, link_names.PATH),
        )
        found: dict[int, tuple[list[str], list[str]]] = {document.id: ([], []) for document in self._documents}
        for document_id, name, rank in rows:
            if document_id in found:
                found[document_id][rank != link_names.ALIAS].append(name)
        return list(found.values())

    def _moved(self) -> list[int]:
        return [number for number in range(len(self._documents)) if self._old[number] != self._new[number]]

    def _affected(self) -> list[int]:
        """Return the moved documents, and documents with a link whose target would change."""
        pairs = [pair for pair in zip(self._old, self._new, strict=True) if pair[0] != pair[1]]
        keys = {name.name for pair in pairs for path in pair for name in link_names.names_of(path, [], [])}
        keys |= {link_names.key(f"{folder}/") for folder in (self._from, self._to)}
        numbers = {document.id: number for number, document in enumerate(self._documents)}
        found = set(self._moved())
        for stored in links.looking_for(self._connection, self._id, keys):
            number = numbers.get(stored.document_id)
            if number is not None and number not in found and self._leads_elsewhere(stored.link, self._old[number]):
                found.add(number)
        return sorted(found)

    def _leads_elsewhere(self, link: Link, path: str) -> bool:
        """Return whether the target of a link in a document that stays at `path` would change or become ambiguous."""
        target = LinkTarget(link.key, link.reach, link.fragment)
        before, after = (names.meant(target, link.target, path) for names in (self._paths.before, self._paths.after))
        return before != after or self._paths.is_name_lost(target)

    def _rewritten(self, number: int) -> tuple[PlannedFile, list[LeftLink]]:
        document = self._documents[number]
        path = Path(self._root, document.path)
        if SEPARATOR in document.path:
            raise NotRewritable("the file is in an archive")
        try:
            data = path.read_bytes()
        except OSError as error:
            raise MoveConflict(f"cannot read {path}: {error.strerror}; nothing was changed") from error
        if _hash(data) != document.source_hash:
            raise MoveConflict(f"{path} has changed just now; nothing was moved: try again")
        edits, left = rewrite(data, document.mime, number, self._paths)
        if edits and path.is_symlink():
            raise NotRewritable("the file is a symbolic link")
        if edits and _is_read_only(path):
            raise Refused(f"{path} has links that must change, but is read-only; nothing was changed")
        return PlannedFile(document.path, data, apply(data, edits), edits), left

    def _unwritable(self, number: int, why: str) -> Iterator[LeftLink]:
        """Yield the links whose target will change, in a file that cannot be rewritten."""
        old, new = self._old[number], self._new[number]
        for stored in links.outgoing(self._connection, self._documents[number].id):
            link = stored.link
            target = LinkTarget(link.key, link.reach, link.fragment)
            before = self._paths.before.meant(target, link.target, old)
            is_relative = link.reach == link_names.PATH and posixpath.dirname(old) != posixpath.dirname(new)
            if before and (is_relative or before != self._paths.after.meant(target, link.target, new)):
                yield LeftLink(old, link.line, link.target, why)


def _on_disk(root: str) -> Iterator[str]:
    """Yield the paths of all folders and files below a folder, relative to it, without hidden ones."""
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if not name.startswith(".")]
        base = os.path.relpath(folder, root)
        for name in (*names, *files):
            yield name if base == "." else f"{base}/{name}"


def _lines(data: bytes) -> list[str]:
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if is_wide else "utf-8-sig", "replace").splitlines()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
