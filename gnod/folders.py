"""The paths of gnod's folders and of the socket of an index, as strings. Imports nothing slow, for `gnoctl search`.
The rules come from platformdirs. On Linux a few lines repeat them, because platformdirs takes 10 ms to import; a test
compares both.
"""

# pathlib takes 3 ms to import.
# ruff: noqa: PTH109, PTH111, PTH112, PTH116, PTH117, PTH118

from __future__ import annotations

import os
import sys

_APP = "gno"
DEFAULT_INDEX = "default"
_USER_RUNTIME_FOLDERS = "/run/user"

# Do not compare sys.platform where these are used, or mypy would skip the other platform's branch.
_IS_LINUX: bool = sys.platform == "linux"
_IS_MACOS: bool = sys.platform == "darwin"
# sun_path is 108 bytes on Linux and 104 on macOS, with the final NUL.
SOCKET_PATH_LIMIT = 103 if _IS_MACOS else 107
# The values of `stat`, which would be one more module to import.
_GROUP_WRITES, _OTHERS_WRITE = 0o020, 0o002
_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}


class NoHomeFolder(OSError):
    """The home folder is unknown. The message says what to do."""


def folder(kind: str) -> str:
    """Return the folder for `config`, `data` or `cache`: from GNO_CONFIG_DIR, … or by the rules of the platform."""
    if value := os.environ.get(f"GNO_{kind.upper()}_DIR"):
        return _absolute(value)
    if _IS_LINUX:
        xdg, fallback = _XDG[kind]
        base = os.environ.get(xdg, "").strip()
        return os.path.join(base if os.path.isabs(base) else _in_home(fallback), _APP)
    from platformdirs import PlatformDirs

    folders = PlatformDirs(_APP, appauthor=False)
    path = {"config": folders.user_config_dir, "data": folders.user_data_dir, "cache": folders.user_cache_dir}[kind]
    # On macOS config and data share a folder.
    return os.path.join(path, kind) if _IS_MACOS and kind != "cache" else path


def socket(index: str) -> str:
    """Return the path of the socket of an index, whose name must be valid."""
    if value := os.environ.get("GNO_SOCKET"):
        return _absolute(value)
    return usual_sockets(index)[0]


def usual_sockets(index: str) -> list[str]:
    """Return the paths for the socket if GNO_SOCKET does not name one, best first. All are short enough.

    The user's runtime folder precedes XDG_RUNTIME_DIR, which cron, ssh and `su` do not set, so that they find the same
    daemon. There is at least one path.
    """
    bases = [f"{_USER_RUNTIME_FOLDERS}/{os.getuid()}", os.environ.get("XDG_RUNTIME_DIR", "")]
    parents = [os.path.join(base, _APP) for base in bases if os.path.isabs(base) and is_private(base)]
    paths = [os.path.join(parent, f"{index}.sock") for parent in [*parents, folder("cache")]]
    return [path for path in paths if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT] or [_short_socket(paths[-1])]


def is_private(path: str) -> bool:
    """Return whether the folder exists and is ours, and other users cannot replace files in it."""
    try:
        folder, link = os.stat(path), os.lstat(path)
    except OSError:
        return False
    # The owner of a symbolic link can change where it leads.
    is_ours = folder.st_uid == os.getuid() and link.st_uid in (0, os.getuid())
    return os.path.isdir(path) and is_ours and not others_write(folder)


def others_write(status: os.stat_result) -> bool:
    """Return whether the mode of a file or folder lets other users write to it."""
    if status.st_mode & _OTHERS_WRITE:
        return True
    return bool(status.st_mode & _GROUP_WRITES) and not _is_own_group(status.st_gid)


def _is_own_group(gid: int) -> bool:
    """Return whether the user is the only member of a group. Debian and Fedora make such a group for each user, and on
    Ubuntu, programs create files that this group can write (umask 002)."""
    import grp
    import pwd

    try:
        group, name = grp.getgrgid(gid), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return False
    return group.gr_name == name and set(group.gr_mem) <= {name}


def _short_socket(path: str) -> str:
    """Return a short path that replaces one that is too long. The daemon checks that its folder is private."""
    import hashlib

    return f"/tmp/{_APP}-{os.getuid()}/{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}.sock"


def _in_home(path: str) -> str:
    """Return a path in the home folder. Raises NoHomeFolder: in containers, users may have no entry in /etc/passwd."""
    absolute = os.path.expanduser(f"~/{path}")
    if os.path.isabs(absolute):
        return absolute
    raise NoHomeFolder(
        f"there is no home folder: HOME is not an absolute path, and user {os.getuid()} has no entry in /etc/passwd."
        " Set HOME, or GNO_CONFIG_DIR, GNO_DATA_DIR and GNO_CACHE_DIR"
    )


def _absolute(path: str) -> str:
    return os.path.join(os.getcwd(), os.path.expanduser(path))
