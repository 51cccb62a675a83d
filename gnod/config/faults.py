"""Collects the faults of a config file, so that the user reads all of them at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from gnod.errors import ConfigInvalid

# A list of aliases can repeat one fault a million times. Further faults are only counted.
MAX_LISTED = 200
# Validation examines at most this many values. With aliases, a short file can expand to a huge one; no real file comes
# near.
MAX_VISITS = 100_000

_MAX_QUOTED = 60


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """`line` counts from 1; None for the file as a whole. `where` has the form `collections[1].name`, or is empty."""

    line: int | None
    where: str
    message: str


class FaultReport:
    """Collects the faults and warnings of one file, and counts the values that validation examines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._faults: list[Fault] = []
        self._warnings: list[Fault] = []
        self._unlisted = {"faults": 0, "warnings": 0}
        self._visits_left = MAX_VISITS

    def count_visit(self) -> None:
        """Raise ConfigInvalid if validation has examined too many values."""
        self._visits_left -= 1
        if self._visits_left < 0:
            raise self.rejection(None, f"its aliases and merges expand to more than {MAX_VISITS:,} values")

    def fault(self, line: int | None, where: str, message: str) -> None:
        self._add(self._faults, "faults", Fault(line=line, where=where, message=message))

    def warn(self, line: int | None, where: str, message: str) -> None:
        self._add(self._warnings, "warnings", Fault(line=line, where=where, message=message))

    @property
    def wants_warnings(self) -> bool:
        """Return whether another warning would be listed. If not, its text need not be computed."""
        return len(self._warnings) < MAX_LISTED

    def raise_faults(self) -> None:
        """If there are faults, raise ConfigInvalid that names each on one line, in the order of the file."""
        if self._faults:
            raise self._invalid()

    def rejection(self, line: int | None, message: str) -> ConfigInvalid:
        """Return the error for a file that cannot be read further."""
        self.fault(line, "", message)
        return self._invalid()

    def _invalid(self) -> ConfigInvalid:
        faults = sorted(self._faults, key=_line)
        listed = [msgspec.structs.asdict(fault) for fault in faults]
        return ConfigInvalid("\n".join(self._lines(faults, "faults")), {"faults": listed, "file": str(self.path)})

    def warnings(self) -> tuple[str, ...]:
        return tuple(self._lines(sorted(self._warnings, key=_line), "warnings"))

    def _add(self, listed: list[Fault], kind: str, fault: Fault) -> None:
        if len(listed) < MAX_LISTED:
            listed.append(fault)
        else:
            self._unlisted[kind] += 1

    def _lines(self, faults: list[Fault], kind: str) -> list[str]:
        lines = [self._format(fault) for fault in faults]
        if count := self._unlisted[kind]:
            lines.append(f"{self.path.name}: and {count} more {kind}")
        return lines

    def _format(self, fault: Fault) -> str:
        place = self.path.name if fault.line is None else f"{self.path.name}:{fault.line}"
        return ": ".join(part for part in (place, fault.where, fault.message) if part)


def _line(fault: Fault) -> int:
    return fault.line or 0


def quoted(text: str) -> str:
    """Return `text` in quotes, printable and shortened for a message."""
    return repr(text if len(text) <= _MAX_QUOTED else text[: _MAX_QUOTED - 1] + "…")


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the option that `word` resembles, otherwise ""."""
    known = {option.lower(): option for option in options}
    close = difflib.get_close_matches(word.lower()[:_MAX_QUOTED], known, n=1, cutoff=0.7)
    return f"; did you mean {known[close[0]]!r}?" if close else ""
