"""List the files of a collection, or of a part of it: names and stats, without opening a file.

The walk does not follow symbolic links to folders, and follows links to files only inside the root. Pipes, sockets and
devices are excluded.
"""

from __future__ import annotations

import os
import stat as stat_module
import sys
from collections.abc import Collection, Iterator, Set
from pathlib import Path
from typing import NamedTuple, Protocol

from gnod.config.model import CollectionConfig
from gnod.disks.looks import answers
from gnod.disks.spellings import Spellings, folded, real_path
from gnod.errors import RootUnavailable
from gnod.ingest.files.ignore import HIDDEN, IGNORE_FILES, IgnoreFile, IgnoreFiles, Rules, package_rules
from gnod.ingest.files.scope import WHOLE, Scope, is_text, of_paths
from gnod.ingest.files.unreadable import NOT_HERE, is_dataless, why_refused
from gnod.store.tables.records import Between, FileStat

# Watch at most this many symbolic or hard links to files individually. The next full walk finds changes of the others.
_MAX_LINKS = 500
_IS_MAC = sys.platform == "darwin"
# A million files in one part would take 300 MB.
_PART_FILES = 5000


class Enter(Protocol):
    """The walk calls this with every folder, relative to the root ("" is the root), before it lists the folder, and
    with links to files, so that the watch reports later changes."""

    def __call__(self, path: str, *, is_file: bool = False) -> None: ...


def enter_nothing(path: str, *, is_file: bool = False) -> None:
    del path, is_file


# A folder, relative to the root with a final slash, and the ignore files above it.
_Folder = tuple[str, list[IgnoreFile]]


class WalkedPart(NamedTuple):
    """Some files of a walk, as stats by path relative to the root. They are all files in `under`: paths with everything
    below them, or a range of paths."""

    files: dict[str, FileStat]
    under: Collection[str] | Between


def walk(
    collection: CollectionConfig, ignore_files: IgnoreFiles, scope: Scope = WHOLE, enter: Enter = enter_nothing
) -> Walk:
    """Return a complete walk, with its `files`. Raises RootUnavailable when the root cannot be listed."""
    found = Walk(collection, ignore_files, scope, enter)
    found.files = {path: stat for part in found.parts() for path, stat in part.files.items()}
    return found


def root_problem(root: str) -> str | None:
    try:
        with os.scandir(root):
            return None
    except FileNotFoundError:
        if os.path.lexists(other := real_path(root)):
            return f"the folder {root} does not exist, but the same name in another Unicode form does: write {other}"
        return f"the folder {root} does not exist (is its drive mounted?)"
    except NotADirectoryError:
        return f"{root} is not a folder"
    except OSError as error:
        return f"the folder {root} cannot be read: {why_refused(error)}"


def folder_problem(root: str) -> str | None:
    """Like `root_problem`, for a thread that must not wait for a network drive."""
    return root_problem(root) if answers(root) else f"{root} does not answer (is its server reachable?)"


def why_not_listed(collection: CollectionConfig, path: str, ignore_files: IgnoreFiles) -> str | None:
    """Return why an existing path of the collection is excluded; None when it should be indexed."""
    rules = Rules(collection)
    root = collection.path
    parts = path.split("/")
    ignores: list[IgnoreFile] = []
    for depth in range(len(parts)):
        base = "".join(f"{part}/" for part in parts[:depth])
        current = base + parts[depth]
        full = Path(root, current)
        if collection.gitignore:
            ignores += ignore_files.load(root, base, {".gitignore", ".gnoignore"})
        ignores += package_rules(root, base)
        if depth < len(parts) - 1:
            if full.is_symlink():
                return f"{current} is a symbolic link to a folder, and gnod does not follow such links"
            reason = rules.reason_against_folder(current, ignores)
            if reason:
                return f"the folder {current} is excluded: {reason}"
        elif full.is_dir():
            return "it is a folder"
        elif full.is_symlink() and not _stays_inside(os.path.realpath(root), str(full)):
            return "it is a symbolic link out of the collection's folder"
        elif full.exists() and not full.is_file():
            return "it is not a regular file"
        else:
            return rules.reason_against_file(current, ignores)
    return None


class Walk:
    """One walk. `excluded` counts excluded files; `hidden` counts the hidden files and folders among them.
    `unreadable`: folders that could not be listed ("" is the root), with the reason; `undecodable`: names that are not
    valid text, in a printable form; the content of such folders is unknown. `folders`: all entered folders. `files`:
    the result of `walk`. `links`: files that may change under another name, through symbolic or hard links, and
    symbolic links whose target does not exist yet. `written`: the files that were written, spelled as their folders
    list them."""

    def __init__(
        self,
        collection: CollectionConfig,
        ignore_files: IgnoreFiles,
        scope: Scope = WHOLE,
        enter: Enter = enter_nothing,
    ) -> None:
        self._name = collection.name
        self._path = collection.path
        self._root = collection.path.rstrip("/") or "/"
        self._real_root = ""  # the walk sets it, in the thread that may wait for a drive
        self._rules = Rules(collection)
        self._ignore_files = ignore_files if collection.gitignore else None
        self._scope = scope
        self._enter = enter
        self._spellings = Spellings(self._root)
        self._files: dict[str, FileStat] = {}
        self._most = _PART_FILES
        self.files: dict[str, FileStat] = {}
        self.excluded = 0
        self.hidden = 0
        self.unreadable: dict[str, str] = {}
        self.undecodable: dict[str, str] = {}
        self.folders: set[str] = set()
        self.links: set[str] = set()
        self.written: Set[str] = frozenset()

    def parts(self, most: int = _PART_FILES) -> Iterator[WalkedPart]:
        """Walk, and yield the files to index. A whole folder comes in parts of `most` files, sorted by the code points
        of their paths, so that no caller must hold all files. Raises RootUnavailable when the root cannot be listed;
        discard the parts in this case, because missing files may be on a drive that was just unmounted."""
        reason = root_problem(self._path)
        if reason:
            raise RootUnavailable(reason, {"collection": self._name})
        before = identity(self._path)
        self._real_root = os.path.realpath(self._root)
        self._most = most
        self.written = set(map(self._spellings.of, self._scope.written))
        yield from self._whole() if self._scope.paths is None else self._of_scope(self._scope.paths)
        if before is None or identity(self._path) != before:
            reason = f"the folder {self._path} was moved or unmounted during the walk"
            raise RootUnavailable(reason, {"collection": self._name})

    def _whole(self) -> Iterator[WalkedPart]:
        last: str | None = None
        for _ in self._below(("", [])):
            files, self._files = self._files, {}
            before, last = last, next(reversed(files))
            yield WalkedPart(files, Between(before, last))
        yield WalkedPart(self._files, Between(last, None))

    def _of_scope(self, paths: Set[str]) -> Iterator[WalkedPart]:
        listed = of_paths(map(self._spellings.of, paths)).paths
        if listed is None:
            yield from self._whole()
            return
        parents = _Parents(self._root, self._rules, self._ignore_files, self.unreadable)
        for path in sorted(listed):
            for folder in self._begin(path, parents):
                for _ in self._below(folder):
                    pass
        yield WalkedPart(self._files, paths | listed)

    def _below(self, folder: _Folder) -> Iterator[None]:
        """Add the files in a folder and below it. Yields whenever a part is full."""
        # Use a list instead of recursion, because trees may be deeper than Python's stack.
        opened = [self._folder(*folder)]
        while opened:
            try:
                below = next(opened[-1])
            except StopIteration:
                opened.pop()
                continue
            if below:
                opened.append(self._folder(*below))
            else:
                yield

    def _begin(self, path: str, parents: _Parents) -> Iterator[_Folder]:
        """Add a file, or yield a folder to walk. Missing paths, and paths in excluded folders, are ignored."""
        parent = path.rpartition("/")[0]
        ignores = parents.ignores_in(parent)
        if ignores is None:
            return
        full = f"{self._root}/{path}"
        try:
            mode = os.lstat(full).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self.unreadable[parent] = why_refused(error)
            return
        if not stat_module.S_ISDIR(mode):
            self._file(full, path, ignores, is_link=stat_module.S_ISLNK(mode))
        elif self._rules.reason_against_folder(path, ignores) is None:
            yield path + "/", ignores

    def _folder(self, base: str, ignores: list[IgnoreFile]) -> Iterator[_Folder | None]:
        """Add the files in a folder. Yields its subfolders in sorted order, and None when a part is full."""
        self._enter(base.rstrip("/"))
        try:
            if _IS_MAC and is_dataless(os.lstat(f"{self._root}/{base}")):
                self.unreadable[base.rstrip("/")] = f"its files are {NOT_HERE}"
                return
            with os.scandir(f"{self._root}/{base}") as scan:
                entries = list(scan)
        except (FileNotFoundError, NotADirectoryError):
            return  # the folder was removed in the meantime
        except OSError as error:
            self.unreadable[base.rstrip("/")] = why_refused(error)
            return
        self.folders.add(base.rstrip("/"))
        if self._ignore_files:
            names = {entry.name for entry in entries if entry.name.startswith(".g")}
            ignores = ignores + self._ignore_files.load(self._root, base, names) if names else ignores
        ignores = ignores + package_rules(self._root, base)
        for entry in sorted(entries, key=_place):
            path = base + entry.name
            if not is_text(path):
                self.undecodable[path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")] = path
            elif entry.is_dir(follow_symlinks=False):
                reason = self._rules.reason_against_folder(path, ignores)
                self.hidden += reason == HIDDEN
                if reason is None:
                    yield path + "/", ignores
            else:
                self._file(entry, path, ignores, is_link=entry.is_symlink())
                if len(self._files) >= self._most:
                    yield None

    def _file(self, file: os.DirEntry[str] | str, path: str, ignores: list[IgnoreFile], *, is_link: bool) -> None:
        try:
            stat = self._stat(file, is_link=is_link)
            if stat and (is_link or stat.st_nlink > 1) and len(self.links) < _MAX_LINKS:
                self._enter(path, is_file=True)
                self.links.add(path)
                stat = self._stat(os.fspath(file), is_link=is_link)
        except OSError:  # the file was removed in the meantime, or is a link whose target does not exist yet
            if is_link and len(self.links) < _MAX_LINKS:
                self.links.add(path)
            return
        reason = self._rules.reason_against_file(path, ignores)
        if stat is None or reason is not None:
            self.excluded += 1
            self.hidden += reason == HIDDEN
            return
        self._files[path] = FileStat.of(stat)

    def _stat(self, file: os.DirEntry[str] | str, *, is_link: bool) -> os.stat_result | None:
        """Return the stat of a regular file; None for other files."""
        if is_link and not _stays_inside(self._real_root, os.fspath(file)):
            return None
        if isinstance(file, str):
            stat = os.stat(file, follow_symlinks=is_link)  # noqa: PTH116
        else:
            stat = file.stat(follow_symlinks=is_link)
        return stat if stat_module.S_ISREG(stat.st_mode) else None


def _place(entry: os.DirEntry[str]) -> str:
    """Return the sort key of an entry among its neighbours and the paths below them: `a-b` comes before `a/b`."""
    return f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name


class _Parents:
    """The folders between the root and the paths of a scope: whether they are excluded, and their ignore files."""

    def __init__(self, root: str, rules: Rules, ignore_files: IgnoreFiles | None, unreadable: dict[str, str]) -> None:
        self._root = root
        self._rules = rules
        self._ignore_files = ignore_files
        self._unreadable = unreadable
        self._known: dict[str, list[IgnoreFile] | None] = {"": self._own_ignores("", [])}

    def ignores_in(self, folder: str) -> list[IgnoreFile] | None:
        """Return the ignore files that apply in a folder; None if the folder is excluded."""
        way = []  # use a list instead of recursion, as in the walk
        while folder not in self._known:
            way.append(folder)
            folder = folder.rpartition("/")[0]
        ignores = self._known[folder]
        for below in reversed(way):
            if ignores is not None:
                ignores = self._own_ignores(f"{below}/", ignores) if self._is_entered(below, ignores) else None
            self._known[below] = ignores
        return ignores

    def _own_ignores(self, base: str, above: list[IgnoreFile]) -> list[IgnoreFile]:
        own = self._ignore_files.load(self._root, base, set(IGNORE_FILES)) if self._ignore_files else []
        return [*above, *own, *package_rules(self._root, base)]

    def _is_entered(self, folder: str, ignores: list[IgnoreFile]) -> bool:
        try:
            mode = os.lstat(f"{self._root}/{folder}").st_mode
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            self._unreadable[folder.rpartition("/")[0]] = why_refused(error)
            return False
        return stat_module.S_ISDIR(mode) and self._rules.reason_against_folder(folder, ignores) is None


def identity(root: str) -> tuple[int, int] | None:
    try:
        found = os.stat(root)  # noqa: PTH116
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _stays_inside(real_root: str, path: str) -> bool:
    target = os.path.realpath(path)
    inside = real_root.rstrip("/") + "/"
    if target.startswith(inside) or not folded(target).startswith(folded(inside)):
        return target.startswith(inside)
    return real_path(target).startswith(real_path(inside) + "/")
