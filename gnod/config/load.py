"""Reads the config file at a path: returns a `Config` and its warnings, or raises every fault at once."""

from __future__ import annotations

import stat
from pathlib import Path

import msgspec

from gnod.config.document import YamlDocument, parse
from gnod.config.faults import FaultReport
from gnod.config.model import Config
from gnod.config.schema import read_config

MAX_BYTES = 4 * 1024 * 1024


class LoadedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A valid config. `warnings` are for people: ignored settings, and contexts of unknown collections."""

    config: Config
    warnings: tuple[str, ...] = ()


def load(path: Path) -> LoadedConfig:
    """Read the config file. A missing file means the defaults. Raises ConfigInvalid, which names every fault."""
    text = read_text(path)
    return LoadedConfig(config=Config()) if text is None else parse_text(text, path)[1]


def read_text(path: Path) -> str | None:
    """Return the file's text; None if there is no file. Raises ConfigInvalid if it is not UTF-8."""
    report = FaultReport(path)
    data = _read(path, report)
    if data is not None:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            report.fault(line, "", f"is not UTF-8: the byte 0x{data[error.start]:02x} cannot be decoded")
    report.raise_faults()
    return None if data is None else text


def _read(path: Path, report: FaultReport) -> bytes | None:
    try:
        # Check this first: opening a pipe would block until it has a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            report.fault(None, "", "cannot be read: it is not a regular file")
            return None
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        report.fault(None, "", f"cannot be read: {error.strerror or error}")
        return None
    if len(data) > MAX_BYTES:
        report.fault(None, "", f"is larger than {MAX_BYTES // 1024**2} MB, so it is not a config file")
    return data


def parse_text(text: str, path: Path) -> tuple[YamlDocument, LoadedConfig]:
    """Validate the text of the file at `path`; relative paths start from its folder. Raises ConfigInvalid."""
    report = FaultReport(path)
    document = parse(text.removeprefix("\ufeff"), report)
    config = Config()
    if document.root:
        config = read_config(document.root, report, path.parent.absolute())
    report.raise_faults()
    return document, LoadedConfig(config=config, warnings=report.warnings())
