"""The files of a service: the shipped templates, and which files gnoctl may replace. Must not depend on service
managers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gnod.atomic_file import replacing
from gnod.errors import Refused
from gnod.paths import IndexPaths

MARK = "Written by `gnoctl service install`; `gnoctl service uninstall` removes it."

_HERE = Path(__file__).parent
_SETTINGS = ("GNO_CONFIG_DIR", "GNO_DATA_DIR", "GNO_CACHE_DIR", "GNO_SOCKET")
_BASES = {"GNO_CONFIG_DIR": "XDG_CONFIG_HOME", "GNO_DATA_DIR": "XDG_DATA_HOME", "GNO_CACHE_DIR": "XDG_CACHE_HOME"}


def pattern(name: str) -> str:
    """Return the text of a shipped file such as `systemd/gnod.service`, from the wheel or from the repository."""
    shipped = _HERE / "patterns" / name
    return (shipped if shipped.exists() else _HERE.parents[1] / name).read_text(encoding="utf-8")


def command(places: IndexPaths) -> list[str]:
    """Return the command line of the daemon, with this Python: the service may have another PATH."""
    return [sys.executable, "-P", "-m", "gnod", "--index", places.index]


def environment(places: IndexPaths) -> dict[str, str]:
    """Return the variables of this shell that the service needs: for the same folders as its clients, and PATH for the
    update commands of collections."""
    values = {
        "GNO_CONFIG_DIR": places.config_dir,
        "GNO_DATA_DIR": places.data_dir,
        "GNO_CACHE_DIR": places.cache_dir,
        "GNO_SOCKET": places.socket,
    }
    is_set = [name for name in _SETTINGS if os.environ.get(name) or os.environ.get(_BASES.get(name, ""))]
    path = {"PATH": os.environ["PATH"]} if os.environ.get("PATH") else {}
    return path | {name: str(values[name]) for name in is_set}


def refuse_foreign(path: Path) -> None:
    """Raise Refused if the file exists and gnoctl did not write it."""
    if os.path.lexists(path) and MARK.encode() not in _content(path):
        raise Refused(f"{path} was not written by gnoctl: move it away and try again", {"path": str(path)})


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, mode=0o644) as file:
        file.write(text.encode())


def _content(path: Path) -> bytes:
    # A symbolic link (`systemctl mask` creates one) is never written by gnoctl.
    return b"" if path.is_symlink() or not path.is_file() else path.read_bytes()
