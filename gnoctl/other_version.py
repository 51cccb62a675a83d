"""Notify the user once per start of the daemon if its version differs from this gnoctl.

The daemon writes its version to its lock file. A plain search uses this module, so it imports nothing slow.
"""

# pathlib takes 3 ms to import.
# ruff: noqa: PTH103, PTH123

from __future__ import annotations

import os

from gnod import __version__, folders


def note_once(index: str | None = None) -> None:
    """Call this when a daemon runs for `index` (default: `GNO_INDEX`, else "default"). A file in the cache folder
    records the last note."""
    index = index or os.environ.get("GNO_INDEX") or folders.DEFAULT_INDEX
    try:
        with open(f"{folders.folder('data')}/index-{index}.lock", encoding="utf-8") as file:
            content = file.read()
        if f'"version":"{__version__}"' in content:
            return
        version = _other(content, index)
    except (OSError, ValueError, KeyError, TypeError):
        return  # the file is being written, or an old gnod wrote it without its version
    if version is None:
        return
    from gnoctl.printing.output import note

    note(difference(version))


def _other(content: str, index: str) -> str | None:
    """Return the version in the lock file; None if the user was already notified."""
    import json

    holder = json.loads(content)
    noted = f"{holder['pid']} {holder['started_at']} {__version__}"
    cache = folders.folder("cache")
    os.makedirs(cache, 0o700, exist_ok=True)
    with open(f"{cache}/noted-{index}", "a+", encoding="utf-8") as file:
        file.seek(0)
        if file.read() == noted:
            return None
        file.truncate(0)
        file.write(noted)
    return str(holder["version"])


def difference(version: str) -> str:
    """Return the message about a daemon of another `version`."""
    return (
        f"gnod is version {version}, gnoctl is {__version__}: after an upgrade gnod replaces itself when it is idle,"
        " and `gnoctl daemon restart --when-idle` waits for that. If it stays, it is installed elsewhere: run"
        " `gnoctl daemon restart`"
    )
