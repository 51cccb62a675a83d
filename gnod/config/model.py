"""What a valid config file means: settled values only. Knows no YAML and reads no file.

The structs do not check themselves; `load` checks while it still knows the line of each value.
"""

from __future__ import annotations

import unicodedata
from typing import Literal

import msgspec

from gnod.errors import InvalidReference
from gnod.types import COLLECTION_NAME, SCHEME, parse_uri

DEFAULT_EXCLUDES = (
    ".git",
    "node_modules",
    ".venv",
    ".idea",
    "dist",
    "build",
    "__pycache__",
    ".DS_Store",
    "Thumbs.db",
)

PRESETS = ("mini", "mini-multilingual", "slim", "multilingual", "balanced", "quality")

MODEL_ROLES = ("embed", "rerank", "expand", "answer")

# Instead of a model's address: the preset's is not wanted either.
NO_MODEL = "none"


class CollectionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A folder to index.

    `path` is absolute; the folder need not exist (an unmounted drive). `include` holds extensions in lower
    case with their dot, and empty means all that gnod can read. `models` maps some of MODEL_ROLES to URIs.
    """

    name: str
    path: str
    pattern: str = "**/*"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDES
    gitignore: bool = True
    language: str | None = None
    update_command: str | None = None
    models: dict[str, str] = {}


class ContextConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A hint about everything below `scope`: "/", "name:" or "gno://name/prefix"."""

    scope: str
    text: str


class IngestConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for one file, and how many are converted at once (`workers=None`: decided by the machine)."""

    max_file_mb: int = 100
    timeout_s: float = 60
    max_characters: int = 50_000_000
    memory_mb: int = 2048
    workers: int | None = None


class WatchConfig(msgspec.Struct, frozen=True, kw_only=True):
    rescan_s: float = 3600


class DaemonConfig(msgspec.Struct, frozen=True, kw_only=True):
    shutdown_grace_s: float = 5
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    autostart: bool = True


class ModelsConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`preset` is one of PRESETS. Each of MODEL_ROLES: an address or NO_MODEL instead of the preset's model; None is
    the preset's. `threads`: of the processor, for one step of a model (None: its physical cores)."""

    preset: str = "slim"
    embed: str | None = None
    rerank: str | None = None
    expand: str | None = None
    answer: str | None = None
    idle_unload_s: float = 300
    gpu: Literal["auto", "off"] = "auto"
    threads: int | None = None
    embed_on_battery: bool = False


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file. Collection names are unique; a context may name a collection that is not there."""

    version: str = "1.0"
    collections: tuple[CollectionConfig, ...] = ()
    contexts: tuple[ContextConfig, ...] = ()
    ingest: IngestConfig = msgspec.field(default_factory=IngestConfig)
    watch: WatchConfig = msgspec.field(default_factory=WatchConfig)
    daemon: DaemonConfig = msgspec.field(default_factory=DaemonConfig)
    models: ModelsConfig = msgspec.field(default_factory=ModelsConfig)


def settle(text: str) -> str:
    """Return the form in which scopes and context texts are compared and kept: NFC, without outer blanks."""
    return unicodedata.normalize("NFC", text).strip()


def parse_scope(scope: str) -> tuple[str | None, str]:
    """Return (collection, prefix) of a context's scope; (None, "") is global. Raises InvalidReference.

    The prefix has no outer slashes and may be empty.

    >>> parse_scope("/"), parse_scope("notes:"), parse_scope("gno://notes/a%20b/")
    ((None, ''), ('notes', ''), ('notes', 'a b'))
    """
    scope = settle(scope)
    if scope == "/":
        return None, ""
    if scope.endswith(":") and COLLECTION_NAME.match(scope[:-1]):
        return scope[:-1], ""
    if not scope.startswith(SCHEME):
        raise InvalidReference(_malformed(scope), {"scope": scope})
    try:
        collection, path = parse_uri(scope)
    except InvalidReference:
        raise InvalidReference(_malformed(scope), {"scope": scope}) from None
    parts = [part for part in settle(path).split("/") if part]
    if ".." in parts or "." in parts:
        raise InvalidReference(f"scope {scope!r} must not contain '.' or '..' as a folder", {"scope": scope})
    return collection, "/".join(parts)


def _malformed(scope: str) -> str:
    collection, slash, prefix = scope.strip("/").partition("/")
    hint = ""
    if COLLECTION_NAME.match(collection):
        hint = f"; did you mean '{SCHEME}{collection}/{prefix}'?" if slash else f"; did you mean '{collection}:'?"
    return f"{scope!r} is not a scope: expected '/', 'name:' or 'gno://name/prefix'{hint}"


def contexts_for(config: Config, collection: str, path: str) -> str | None:
    """Return the texts that apply to a document, joined by newlines; None where there are none.

    Global first, then the collection's, then prefixes from broad to specific; equal texts appear once, and
    the file's order breaks ties. `path` is relative to the collection. "a/b" covers "a/b/c" and not "a/bc".
    """
    found: list[tuple[int, str]] = []
    document = settle(path).strip("/") + "/"
    for context in config.contexts:
        named, prefix = parse_scope(context.scope)
        if named is None:
            found.append((-1, context.text))
        elif named == collection and (not prefix or document.startswith(prefix + "/")):
            found.append((len(prefix.split("/")) if prefix else 0, context.text))
    found.sort(key=lambda pair: pair[0])
    return "\n".join(dict.fromkeys(text for _, text in found)) or None
