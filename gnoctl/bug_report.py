"""The file that `gnoctl doctor --report` writes, to be attached to a bug report.

It contains only what is known to be harmless: numbers, and the texts listed here, which gnod itself chose. A number
replaces every other text; equal texts get the same number. `with_names` keeps everything except queries, texts,
commands and passwords.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, TypeVar

import msgspec

from gnod import __version__
from gnod.client.connection import Connection
from gnod.errors import GnoError
from gnod.paths import IndexPaths
from gnod.presets import PRESETS
from gnod.protocol.base import NoParams, Params, Result
from gnod.protocol.daemon import Check, DaemonStatsResult, DaemonStatusResult, DoctorConfigResult, DoctorResult
from gnod.protocol.index import IndexStatusParams, IndexStatusResult

R = TypeVar("R", bound=Result)

_LOG_LINES = 200

_CONTENTS = """# Report of gnod

It contains versions, settings, sizes, times, failures by kind, the checks of `gnoctl doctor`, and the end of the log.
{names}
Texts of documents, queries, memories, commands and passwords are left out. Read it before you send it.
"""
_WITHOUT_NAMES = (
    "Numbers (`#1`) replace the names of files, folders, collections and servers; `--with-names` keeps the names."
)
_WITH_NAMES = "It contains the names of files, folders, collections and servers."

# Fields whose text is a time or comes from a fixed set. A sentence in such a field may contain names.
_CHOSEN_BY_GNOD = {
    *("egress", "log_level", "gpu", "preset", "state", "watch", "method", "process", "cache", "start"),
    *("last_event", "last_sync", "last_reconcile", "last_sent", "restored_at", "sqlite_version", "manager"),
    *("ts", "level", "kind", "error_id"),
}
# Fields with a mapping whose keys come from a fixed set: sections of the config, languages, and kinds of failures.
_FIXED_KEYS = {
    *("config", "collections", "attached", "contexts", "ingest", "watch", "daemon", "models", "memory", "capture"),
    *("viewers", "searches", "languages", "failed_by_kind", "skipped_by_kind", "partial_by_kind", "failures"),
}
# Settings that the report never contains.
_NEVER = {"update_command", "command", "query", "text", "head"}
# Checks whose message consists of gnod's own words, up to the first path.
_OWN_WORDS = {
    *("disk", "files", "converter workers", "converter sandbox", "inference worker", "graphics card", "file events"),
    "sqlite-vec",
}
# Other checks whose name gnod chose, at least its beginning.
_CHECK = re.compile(
    r"(config|config file|data folder|cache folder|log file|socket|runtime folder|database|storage|memories|daemon)\Z"
    r"|(collection|attached collection|published|model) "
)
_MODULES = {"gnod", "apsw", "msgspec", *sys.stdlib_module_names}
_WORD = re.compile(r"[\w:.+-]+")
_VERSION = re.compile(r"[\d.]+((dev|a|b|rc|post)\d+)?")
_KNOWN_MODELS = {uri for models in PRESETS.values() for uri in models.values()}
_FROM_PATH = re.compile(r"\S*[/\\].*", re.DOTALL)
_FRAME = re.compile(r'  File "(?P<path>.*)", line (?P<line>\d+), in (?P<name>\S+)')
_IN_PACKAGE = re.compile(r".*/((?:site-packages|python3\.\d+|gnod|gnoctl)/.*?\.py)\Z")


class BugReport:
    """`daemon`: the connection, or the error that prevented it."""

    def __init__(self, daemon: Connection | GnoError, *, with_names: bool) -> None:
        self._daemon = daemon
        self._with_names = with_names
        self._numbers: dict[str, str] = {}
        self._commands: set[str] = set()
        self._packages = dict(_packages())

    def text(self, places: IndexPaths) -> str:
        config = self._asked("doctor.config", NoParams(), DoctorConfigResult)  # first, because it contains the commands
        sections = {
            "Versions": _versions() | {"packages": self._packages},
            "Daemon": self._asked("daemon.status", NoParams(), DaemonStatusResult),
            "Settings": config,
            "Checks": self._checks(),
            "Sizes": _sizes(places),
            "Index": self._asked("index.status", IndexStatusParams(), IndexStatusResult),
            "Times, memory and failures": self._asked("daemon.stats", NoParams(), DaemonStatsResult),
            "Log": list(self._log(places)),
        }
        parts = [_CONTENTS.format(names=_WITH_NAMES if self._with_names else _WITHOUT_NAMES)]
        parts += [f"## {title}\n\n```json\n{_pretty(value)}\n```\n" for title, value in sections.items()]
        return "\n".join(parts)

    def _call(self, method: str, params: Params, result: type[R]) -> R | GnoError:
        if isinstance(self._daemon, GnoError):
            return self._daemon
        try:
            return self._daemon.call(method, params, result)
        except GnoError as error:
            return error

    def _asked(self, method: str, params: Params, result: type[Result]) -> object:
        return self._shown(self._call(method, params, result))

    def _checks(self) -> object:
        found = self._call("doctor.run", NoParams(), DoctorResult)
        return [self._check(each) for each in found.checks] if isinstance(found, DoctorResult) else self._shown(found)

    def _check(self, check: Check) -> object:
        has_own_words = check.name in _OWN_WORDS or check.name.lower() in self._packages
        known = _CHECK.match(check.name)
        kept = check.name if has_own_words else known[0] if known else ""
        rest = check.name[len(kept) :]
        cuts = has_own_words and not self._with_names
        message = _FROM_PATH.sub("…", check.message) if cuts else self._name(check.message)
        return {"check": kept + (self._name(rest) if rest else ""), "status": check.status, "message": message}

    def _log(self, places: IndexPaths) -> Iterator[object]:
        from gnoctl.commands.daemon import tail

        with suppress(OSError, GnoError):
            for line in tail(places.log_file, _LOG_LINES):
                with suppress(msgspec.DecodeError):
                    record = msgspec.json.decode(line, type=dict[str, Any])
                    if record.get("level") != "debug":  # debug records contain texts
                        yield self._record(record)

    def _record(self, record: dict[str, Any]) -> object:
        trace = str(record.pop("traceback", ""))
        logger, event = str(record.pop("logger", "")), str(record.pop("event", ""))
        is_own = re.fullmatch(r"gnod(\.\w+)*", logger) and re.fullmatch(r"[a-z_.]+", event)
        shown = {name: self._shown(value, name if isinstance(value, str) else "") for name, value in record.items()}
        head = {"logger": logger, "event": event} if is_own else {"event": self._name(f"{logger} {event}")}
        return {**head, **shown, **({"traceback": list(_frames(trace))} if trace else {})}

    def _shown(self, value: object, field: str = "") -> object:
        """Return the value with numbers instead of texts that may be names."""
        match value:
            case GnoError():
                return {"not available": value.kind, "message": self._name(value.message)}
            case msgspec.Struct():
                return {name: self._shown(getattr(value, name), name) for name in value.__struct_fields__}
            case dict():
                is_fixed = field in _FIXED_KEYS
                items = [(str(key), each) for key, each in value.items()]
                return {key if is_fixed else self._name(key): self._shown(each, key) for key, each in items}
            case list() | tuple():
                return [self._shown(each, field) for each in value]
            case str():
                chosen = _VERSION if field == "version" else _WORD if field in _CHOSEN_BY_GNOD else None
                is_own = value in _KNOWN_MODELS or (chosen and chosen.fullmatch(value))
                return value if is_own else self._name(value, field)
            case _:
                return value

    def _name(self, text: str, field: str = "") -> str:
        if field == "update_command":  # it may hold a password, and a message may quote it
            self._commands.add(text)
        if self._with_names and field not in _NEVER:
            for command in filter(None, self._commands):
                text = text.replace(command, "…")
            return text
        return self._numbers.setdefault(text, f"#{len(self._numbers) + 1}")


def _versions() -> dict[str, object]:
    return {
        "gnoctl": __version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _packages() -> Iterator[tuple[str, str | None]]:
    """Yield the packages that gnod needs or can use, and their versions; None for one that is not installed."""
    try:
        required = metadata.requires("gnod") or []
    except metadata.PackageNotFoundError:  # gnod runs from a copy of its sources
        return
    needed = [each for each in required if not re.search(r"extra == .(test|bench)", each)]
    for name in dict.fromkeys(re.split(r"[^\w.-]", each, maxsplit=1)[0] for each in needed):
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, None


def _sizes(places: IndexPaths) -> dict[str, int]:
    """Return the sizes of gnod's own files in bytes. The write-ahead log of the database is not counted."""
    files = {"config": places.config_file, "database": places.database, "memories": places.memory_database}
    return {name: path.stat().st_size for name, path in files.items() if path.is_file()}


def _frames(trace: str) -> Iterator[str]:
    """Yield the places and types of exceptions. At the level debug, a traceback would also contain their messages."""
    if trace.startswith("Traceback"):
        yield "left out, because the log's level is debug"
        return
    for line in trace.splitlines():
        if frame := _FRAME.match(line):
            path = _IN_PACKAGE.match(frame["path"])
            yield f"{path[1] if path else '…'}:{frame['line']} {frame['name']}"
        elif line == "caused by" or (re.fullmatch(r"\w+(\.\w+)+", line) and line.split(".")[0] in _MODULES):
            yield line


def _pretty(value: object) -> str:
    """Return JSON, with one line for each element of a list."""
    if isinstance(value, list):
        return "\n".join(msgspec.json.encode(each).decode() for each in value)
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
