"""List the files of a collection without opening any: names and stats only.

Symbolic links to folders are not entered, links to files only where they stay inside the root; pipes, sockets and
devices are left out.
"""

from __future__ import annotations

import os
import stat as stat_module
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gnod.config.model import CollectionConfig
from gnod.errors import RootUnavailable
from gnod.ingest.ignore import IgnoreFile, IgnoreFiles, Rules
from gnod.ingest.jobs import FileStat


class Listing(NamedTuple):
    """`files`: path relative to the root, to stat. `excluded` counts files left out. `unreadable`: folders that
    could not be listed ("" is the root), and `undecodable` names that are no text, with a form that can be shown:
    about what is in them nothing is known, so nothing may be concluded."""

    files: dict[str, FileStat]
    excluded: int
    unreadable: dict[str, str]
    undecodable: dict[str, str]


def walk(collection: CollectionConfig, ignore_files: IgnoreFiles) -> Listing:
    """Return what ought to be indexed. Raises RootUnavailable when the root itself cannot be listed."""
    root = collection.path
    reason = root_problem(root)
    if reason:
        raise RootUnavailable(reason, {"collection": collection.name})
    walker = _Walker(collection, ignore_files)
    walker.run()
    return Listing(walker.files, walker.excluded, walker.unreadable, walker.undecodable)


def root_problem(root: str) -> str | None:
    """Return why a folder cannot be walked, in words, or None."""
    try:
        with os.scandir(root):
            return None
    except FileNotFoundError:
        return f"the folder {root} does not exist (is its drive mounted?)"
    except NotADirectoryError:
        return f"{root} is not a folder"
    except PermissionError:
        return f"the folder {root} cannot be read: permission denied"
    except OSError as error:
        return f"the folder {root} cannot be read: {error.strerror}"


def why_not_listed(collection: CollectionConfig, path: str, ignore_files: IgnoreFiles) -> str | None:
    """Return why an existing path of the collection is left out, in words; None when it ought to be indexed."""
    rules = _rules(collection)
    root = collection.path
    parts = path.split("/")
    ignores: list[IgnoreFile] = []
    for depth in range(len(parts)):
        base = "".join(f"{part}/" for part in parts[:depth])
        current = base + parts[depth]
        full = Path(root, current)
        if collection.gitignore:
            ignores += ignore_files.load(root, base, {".gitignore", ".gnoignore"})
        if depth < len(parts) - 1:
            if full.is_symlink():
                return f"{current} is a symbolic link to a folder, which is not followed"
            reason = rules.reason_against_folder(current, ignores)
            if reason:
                return f"the folder {current} is left out: {reason}"
        elif full.is_dir():
            return "it is a folder"
        elif full.is_symlink() and not _stays_inside(os.path.realpath(root), str(full)):
            return "it is a symbolic link out of the collection's folder"
        elif full.exists() and not full.is_file():
            return "it is not a regular file"
        else:
            return rules.reason_against_file(current, ignores)
    return None


class _Walker:
    def __init__(self, collection: CollectionConfig, ignore_files: IgnoreFiles) -> None:
        self._root = collection.path.rstrip("/") or "/"
        self._real_root = os.path.realpath(self._root)
        self._rules = _rules(collection)
        self._ignore_files = ignore_files if collection.gitignore else None
        self.files: dict[str, FileStat] = {}
        self.excluded = 0
        self.unreadable: dict[str, str] = {}
        self.undecodable: dict[str, str] = {}

    def run(self) -> None:
        # A list instead of recursion: trees may be deeper than Python's stack.
        todo: list[tuple[str, list[IgnoreFile]]] = [("", [])]
        while todo:
            base, ignores = todo.pop()
            todo.extend(reversed(list(self._folder(base, ignores))))

    def _folder(self, base: str, ignores: list[IgnoreFile]) -> Iterator[tuple[str, list[IgnoreFile]]]:
        try:
            with os.scandir(f"{self._root}/{base}") as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            self.unreadable[base.rstrip("/")] = error.strerror or "cannot be listed"
            return
        if self._ignore_files:
            names = {entry.name for entry in entries if entry.name.startswith(".g")}
            ignores = ignores + self._ignore_files.load(self._root, base, names) if names else ignores
        for entry in entries:
            path = base + entry.name
            if not _is_text(path):
                self.undecodable[path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")] = path
            elif entry.is_dir(follow_symlinks=False):
                if self._rules.reason_against_folder(path, ignores) is None:
                    yield path + "/", ignores
            else:
                self._file(entry, path, ignores)

    def _file(self, entry: os.DirEntry[str], path: str, ignores: list[IgnoreFile]) -> None:
        try:
            stat = self._stat(entry)
        except OSError:
            return  # gone between listing and looking
        if stat is None or self._rules.reason_against_file(path, ignores) is not None:
            self.excluded += 1
        else:
            self.files[path] = FileStat(stat.st_size, stat.st_mtime_ns, stat.st_ino)

    def _stat(self, entry: os.DirEntry[str]) -> os.stat_result | None:
        """Return the stat of a regular file, or None for what is not taken in."""
        if entry.is_symlink():
            if not _stays_inside(self._real_root, entry.path):
                return None
            stat = entry.stat()
        else:
            stat = entry.stat(follow_symlinks=False)
        return stat if stat_module.S_ISREG(stat.st_mode) else None


def _rules(collection: CollectionConfig) -> Rules:
    return Rules(collection.pattern, collection.include, collection.exclude)


def _stays_inside(real_root: str, path: str) -> bool:
    target = os.path.realpath(path)
    return target.startswith(real_root.rstrip("/") + "/")


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
