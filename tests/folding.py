"""A file system that folds names like those of macOS: it finds a file by any composition and case of its name, and
lists the name with which the file was created.

Names below a folder named DISK fold, in this process inside `folding_disk`, and in converter workers of
`tests/ingest/folding_worker.py`. Only calls of the operating system are replaced; the files are real. Their modes
inject faults: NO_ACCESS imitates a folder that the system protects, ELSEWHERE imitates a file in a cloud that cannot be
fetched now, and DATALESS sets `st_flags`.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

DISK = "folding-disk"
NO_ACCESS, ELSEWHERE, DATALESS, USUAL = 0o000, 0o001, 0o1755, 0o755
_SF_DATALESS = 0x40000000
FAULTS = {NO_ACCESS: errno.EPERM, ELSEWHERE: errno.EDEADLK}
_scandir, _listdir, _lstat, _stat = os.scandir, os.listdir, os.lstat, os.stat


def fold(name: str) -> str:
    """Return the form for comparing names: canonical caseless matching (Unicode, D145)."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


class _Found:
    """A result of `stat`, or an entry of a folder, with the additional fields of macOS."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)

    def __fspath__(self) -> str:
        return str(self._found.path)

    @property
    def st_flags(self) -> int:
        return _SF_DATALESS if self._found.st_mode & 0o1000 else 0

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        return _Found(self._found.stat(follow_symlinks=follow_symlinks))


def _spelled(path: Any) -> Any:
    """Return a path with the spelling on the disk, as far as it exists."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
    if not isinstance(text, str) or f"/{DISK}/" not in text:
        return path
    here, _, below = text.partition(f"/{DISK}/")
    here += f"/{DISK}"
    for name in filter(None, below.split("/")):
        try:
            names = _listdir(here)
        except OSError:
            names = []
        here += "/" + next((each for each in names if fold(each) == fold(name)), name)
    return here


def _folding(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda path, *args, **options: call(_spelled(path), *args, **options)


def _refusing(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a wrapper of a call that fails for unreadable files."""

    def opened(path: Any, *args: Any, **options: Any) -> Any:
        real = _spelled(path)
        if isinstance(real, str) and f"/{DISK}/" in real and os.path.lexists(real):
            mode = _lstat(real).st_mode & 0o7777
            if mode in FAULTS:
                raise OSError(FAULTS[mode], os.strerror(FAULTS[mode]), real)
        return call(real, *args, **options)

    return opened


def _statting(call: Callable[..., Any]) -> Callable[..., Any]:
    def found(path: Any, *args: Any, **options: Any) -> Any:
        real = _spelled(path)
        if options.get("follow_symlinks", call is _stat) and os.path.islink(real):  # noqa: PTH114
            real = _spelled(os.path.realpath(real))
        result = call(real, *args, **options)
        return _Found(result) if isinstance(real, str) and f"/{DISK}/" in real else result

    return found


class _Scan:
    def __init__(self, path: Any = ".") -> None:
        self._folds = f"/{DISK}" in str(path)
        self._scan = _refusing(_scandir)(path)

    def __iter__(self) -> _Scan:
        return self

    def __next__(self) -> Any:
        return _Found(next(self._scan)) if self._folds else next(self._scan)

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, *_: object) -> None:
        self._scan.close()


def _renaming(call: Callable[..., Any]) -> Callable[..., Any]:
    def renamed(old: Any, new: Any, **options: Any) -> Any:
        source, target = _spelled(old), _spelled(new)
        if source == target:  # only the spelling changes
            target = f"{target.rpartition('/')[0]}/{os.fspath(new).rpartition('/')[2]}"
        return call(source, target, **options)

    return renamed


@contextmanager
def folding_disk() -> Iterator[None]:
    with (
        patch.multiple(
            os,
            stat=_statting(os.stat),
            lstat=_statting(os.lstat),
            scandir=_Scan,
            listdir=_refusing(os.listdir),
            open=_refusing(os.open),
            readlink=_folding(os.readlink),
            chmod=_folding(os.chmod),
            mkdir=_folding(os.mkdir),
            unlink=_folding(os.unlink),
            rmdir=_folding(os.rmdir),
            rename=_renaming(os.rename),
        ),
        patch.object(io, "open", _refusing(io.open)),
        patch.object(builtins, "open", _refusing(builtins.open)),
    ):
        yield
