"""Build the paths of files in other files: `mail/archive.zip!/inner/report.pdf`, as in the URLs of Java archives.

Names in an archive are untrusted: they may lead out of it, be equal, or contain control characters. gnod uses them only
as keys of the index, never as paths on disk.
"""

from __future__ import annotations

import re
import unicodedata

SEPARATOR = "!/"
_MAX_NAME = 1000
_CONTAINERS = (
    *(".zip", ".pdf", ".eml", ".msg", ".mbox", ".mbx", ".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst"),
    *(".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst"),
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def may_have_members(path: str) -> bool:
    return path.lower().endswith(_CONTAINERS)


def path_of_part(path: str, number: int) -> str:
    """Return the path of a part of a log. The first part has the path of the file.

    >>> path_of_part("log.jsonl", 1), path_of_part("log.jsonl", 2)
    ('log.jsonl', 'log.jsonl!/part 2')
    """
    return path if number == 1 else f"{path}{SEPARATOR}part {number}"


class Names:
    """Gives the members of one file unique names."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}  # the last number of each name: thousands of mails may share a subject

    def name(self, written: str) -> str:
        """Return the name of the next member.

        >>> names = Names()
        >>> [names.name(each) for each in ("../../etc/passwd", "/etc/passwd", "C:\\\\a\\nb", "x!/y", "")]
        ['etc/passwd', 'etc/passwd (2)', 'C:/a\\\\x0ab', 'x!_/y', 'unnamed']
        """
        parts = [_part(each) for each in unicodedata.normalize("NFC", written).replace("\\", "/").split("/")]
        *folders, last = [part for part in parts if part not in ("", ".", "..")] or ["unnamed"]
        # A folder whose name ends like a container is still a folder.
        name = "/".join([*(f"{folder}_" if folder.endswith("!") else folder for folder in folders), last])[-_MAX_NAME:]
        unique, number = name, self._numbers.get(name, 1)
        while unique in self._taken:
            number += 1
            stem, dot, extension = name.rpartition(".")
            unique = f"{stem} ({number}).{extension}" if dot and "/" not in extension else f"{name} ({number})"
        self._taken.add(unique)
        self._numbers[name] = number
        return unique


def _part(name: str) -> str:
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", name).strip()
