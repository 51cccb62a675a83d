"""Where the folders of gnod are, and the socket of an index, as strings. Imports nothing slow: `gnoctl search` uses it.

The rules are those of platformdirs. On Linux a few lines repeat them, because platformdirs takes 10 ms to import; a
test compares both.
"""

# pathlib takes 3 ms to import.
# ruff: noqa: PTH109, PTH111, PTH112, PTH117, PTH118

from __future__ import annotations

import os
import sys

_APP = "gno"
DEFAULT_INDEX = "default"

# Not compared where they are used, or mypy would skip the other platform's branch.
_IS_LINUX: bool = sys.platform == "linux"
_IS_MACOS: bool = sys.platform == "darwin"
_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


def folder(kind: str) -> str:
    """Return the folder for `config`, `data` or `cache`: the platform's, or that of GNO_CONFIG_DIR, …"""
    if value := os.environ.get(f"GNO_{kind.upper()}_DIR"):
        return _absolute(value)
    if _IS_LINUX:
        xdg, fallback = _XDG[kind]
        base = os.environ.get(xdg, "").strip()
        return os.path.join(base if os.path.isabs(base) else os.path.expanduser(f"~/{fallback}"), _APP)
    from platformdirs import PlatformDirs

    folders = PlatformDirs(_APP, appauthor=False)
    found = {"config": folders.user_config_dir, "data": folders.user_data_dir, "cache": folders.user_cache_dir}[kind]
    # On macOS config and data share a folder.
    return os.path.join(found, kind) if _IS_MACOS and kind != "cache" else found


def socket(index: str) -> str:
    """Return the path of the socket of an index, whose name must be valid."""
    if value := os.environ.get("GNO_SOCKET"):
        return _absolute(value)
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    base = os.path.join(runtime, _APP) if runtime and os.path.isdir(runtime) else folder("cache")
    return os.path.join(base, f"{index}.sock")


def _absolute(path: str) -> str:
    return os.path.join(os.getcwd(), os.path.expanduser(path))
