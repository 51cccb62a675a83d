"""The folders and files of an index on this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from gnod import folders
from gnod.errors import InvalidName, Refused, SocketPathTooLong
from gnod.folders import SOCKET_PATH_LIMIT

_INDEX_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}\Z")


class IndexPaths(msgspec.Struct, frozen=True, kw_only=True):
    """The resolved folders and files of one index."""

    index: str
    config_dir: Path
    data_dir: Path
    cache_dir: Path
    socket: Path

    @property
    def config_file(self) -> Path:
        return self.config_dir / "index.yml"

    @property
    def database(self) -> Path:
        return self.data_dir / f"index-{self.index}.sqlite"

    @property
    def memory_database(self) -> Path:
        return self.data_dir / f"memory-{self.index}.sqlite"

    @property
    def egress_journal(self) -> Path:
        return self.data_dir / f"egress-{self.index}.sqlite"

    @property
    def move_journal(self) -> Path:
        return self.data_dir / f"move-{self.index}.json"

    @property
    def lock_file(self) -> Path:
        return self.data_dir / f"index-{self.index}.lock"

    @property
    def log_file(self) -> Path:
        return self.data_dir / "logs" / f"gnod-{self.index}.log"

    @property
    def scratch_dir(self) -> Path:
        return self.cache_dir / f"converting-{self.index}"

    @property
    def ocr_scratch_dir(self) -> Path:
        return self.cache_dir / f"recognising-{self.index}"

    @property
    def models_dir(self) -> Path:
        return self.cache_dir / "models"


def resolve(index: str | None = None) -> IndexPaths:
    """Return the paths of `index` (default: `GNO_INDEX`, else "default").

    `GNO_CONFIG_DIR`, `GNO_DATA_DIR`, `GNO_CACHE_DIR` and `GNO_SOCKET` override the folders of the platform.
    Raises InvalidName for an index name that cannot be part of a file name, and Refused if there is no home folder.
    """
    index = index or os.environ.get("GNO_INDEX") or folders.DEFAULT_INDEX
    if not _INDEX_NAME.match(index):
        raise InvalidName(
            f"index name {index!r} is not valid: letters, digits, '-' and '_', at most 64, "
            "starting with a letter or digit"
        )
    try:
        return IndexPaths(
            index=index,
            config_dir=Path(folders.folder("config")),
            data_dir=Path(folders.folder("data")),
            cache_dir=Path(folders.folder("cache")),
            socket=Path(folders.socket(index)),
        )
    except folders.NoHomeFolder as error:
        raise Refused(str(error)) from error


def check_socket_path(path: Path) -> None:
    """Raise SocketPathTooLong if the operating system cannot bind or connect to `path`."""
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_LIMIT:
        raise SocketPathTooLong(
            f"the socket path is {length} bytes long and the system allows {SOCKET_PATH_LIMIT}: {path}. "
            "Set GNO_SOCKET to a shorter path",
            {"path": str(path), "length": length, "limit": SOCKET_PATH_LIMIT},
        )


def check_owner(places: IndexPaths) -> None:
    """Raise Refused if root would create files among another user's files. That user could not change them."""
    if os.getuid() != 0 or os.environ.get("GNO_DATA_DIR"):
        return
    folder = next(path for path in (places.data_dir, *places.data_dir.parents) if path.exists())
    if owner := folder.stat().st_uid:
        raise Refused(
            f"{folder} belongs to user {owner}, and you are root: run gnod as that user, set HOME to your own home"
            f" folder (`sudo -H`), or set GNO_DATA_DIR",
            {"path": str(folder), "uid": owner},
        )
