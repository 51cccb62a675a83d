"""The settings of a valid config file. Each is declared once with its default, range and description.

`schema` reads them, `edit` writes some, docs/settings.md lists all. This module must not depend on YAML, and reads no
files. The structs have no checks: `schema` checks values while it still knows their lines.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec

from gnod.config.faults import did_you_mean
from gnod.egress import Scope
from gnod.errors import CollectionNotFound, InvalidReference
from gnod.presets import MODEL_ROLES, ModelRole, models_of
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
    ".Trashes",
    ".Spotlight-V100",
    ".fseventsd",
    "Thumbs.db",
)

# In place of a model's address: use no model, not even the preset's.
NO_MODEL = "none"

_DAY_S = 86_400


def setting(doc: str, low: float | None = None, high: float | None = None, *, gno: str | None = None) -> msgspec.Meta:
    """Describe a setting for docs/settings.md. `low` and `high` are inclusive. `gno`: GNO's name for it."""
    return msgspec.Meta(description=doc, ge=low, le=high, extra={"gno": gno})


class CollectionConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A folder to index.

    `path` is absolute; the folder may be missing (an unmounted drive). `include`: lower-case extensions with their dot;
    empty means all supported formats. `models` maps some of MODEL_ROLES to addresses, see model_uris.
    """

    name: Annotated[str, setting("Lower-case letters, digits, `-` and `_`, at most 64.")]
    path: Annotated[str, setting("The folder. Relative paths start at the folder of the config file; `~` is expanded.")]
    pattern: Annotated[str, setting("Glob of the files to index, relative to the folder.")] = "**/*"
    include: Annotated[
        tuple[str, ...], setting("Extensions to index, such as `.md`; empty: all supported formats.")
    ] = ()
    exclude: Annotated[tuple[str, ...], setting("Names or globs to exclude. It replaces the default list.")] = (
        DEFAULT_EXCLUDES
    )
    gitignore: Annotated[bool, setting("Apply `.gitignore` and `.gnoignore` files in every folder.")] = True
    hidden: Annotated[
        bool, setting("Also index hidden files and folders (whose names begin with a dot), such as `.obsidian`.")
    ] = False
    language: Annotated[
        str | None,
        setting(
            "Language of all its documents, such as `de`; by default, detected for each document.", gno="languageHint"
        ),
    ] = None
    update_command: Annotated[
        str | None,
        setting("Command that `gnoctl update` runs before it indexes, such as `git pull`.", gno="updateCmd"),
    ] = None
    models: Annotated[
        dict[str, str],
        setting(
            f"Models for this collection only, by role ({', '.join(f'`{role}`' for role in MODEL_ROLES)}): "
            "`hf:org/repo`, `hf:org/repo/file.gguf`, `hf:org/repo:QUANT`, `file:/path`, "
            "`pypi:package==version#path` or `https://host:port/v1#model`. Other roles use the preset."
        ),
    ] = {}
    ocr: Annotated[
        str,
        setting(
            "Recognise the text of pictures and of scanned pages: `on`, `off`, or their languages, such as `ru,de`. "
            "Scripts other than Latin, Greek, Chinese and Japanese need tesseract with their language."
        ),
    ] = "on"
    mask_secrets: Annotated[
        bool, setting("Mask keys and passwords in conversations: searches and answers do not see them.")
    ] = True
    egress: Annotated[
        Scope,
        setting(
            "How far its texts (to model servers, or when published) and queries over it may travel: "
            "`local` (this machine), `lan` (private and link-local addresses) or `any`."
        ),
    ] = "local"
    publish: Annotated[
        str | None,
        setting(
            "Where the collection is published for others, such as `milvus://host:19530/team/handbook`. "
            "`gnoctl collection publish` asks and then sets it; `gnoctl collection unpublish` removes it."
        ),
    ] = None


class AttachedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A collection that another daemon publishes. It is searched together with this daemon's."""

    name: Annotated[str, setting("Its name here. No other collection may have it.")]
    address: Annotated[str, setting("Its address, such as `milvus+tls://milvus.example:19530/team/handbook`.")]
    egress: Annotated[
        Scope,
        setting(
            "How far queries over it may travel: `local` (this machine), `lan` (private and link-local addresses) or "
            "`any`. A collection outside this scope is not searched."
        ),
    ] = "local"
    budget_s: Annotated[
        float,
        setting("How long a search waits for it. Then it returns the results of the other collections.", 0.05, 60),
    ] = 2


class ContextConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A hint about everything below `scope`."""

    scope: Annotated[str, setting("`/` (everything), `name:` (a collection) or `gno://name/prefix`.", gno="scopeKey")]
    text: Annotated[str, setting("Description of the scope; returned with every result from it.")]


class IngestConfig(msgspec.Struct, frozen=True, kw_only=True):
    max_file_mb: Annotated[int, setting("Larger files are skipped and counted, except growing logs.", 1, 100_000)] = 100
    timeout_s: Annotated[float, setting("Time limit for the conversion of a file.", 0.1, _DAY_S)] = 60
    max_characters: Annotated[int, setting("Files with a longer text fail and are listed as errors.", 1_000, 10**9)] = (
        50_000_000
    )
    memory_mb: Annotated[int, setting("Memory limit of a converter worker.", 64, 1_048_576)] = 2048
    workers: Annotated[
        int | None, setting("Number of converter workers; the default depends on the machine.", 1, 256)
    ] = None


class WatchConfig(msgspec.Struct, frozen=True, kw_only=True):
    rescan_s: Annotated[
        float, setting("Interval at which each folder is walked even without events (± 25 %).", 0.1, 30 * _DAY_S)
    ] = 3600


class DaemonConfig(msgspec.Struct, frozen=True, kw_only=True):
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], setting("Level of the log; `gnod --log-level` overrides it.")
    ] = "info"
    autostart: Annotated[
        bool, setting("Whether gnoctl starts the daemon when needed (also `--no-start` and `GNO_NO_AUTOSTART=1`).")
    ] = True
    readers: Annotated[
        int | None,
        setting(
            "Reader processes that search for the daemon while many clients send queries, from its next start on;"
            " 0: none. Default: by cores.",
            0,
            64,
        ),
    ] = None


def _role(role: str, gno: str | None = None) -> msgspec.Meta:
    return setting(f"Model for the role `{role}` instead of the preset's: a URI as above, or `none`.", gno=gno)


class ModelsConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`preset`: one of PRESETS, or NO_PRESET. A role: the address of its model (see model_uris), NO_MODEL, or None for
    the preset's model."""

    preset: Annotated[
        str,
        setting(
            "The set of models (`gnoctl models list` shows them, `gnoctl models use` changes it).",
            gno="activePreset",
        ),
    ] = "mini-multilingual"
    embed: Annotated[str | None, _role("embed")] = None
    rerank: Annotated[str | None, _role("rerank")] = None
    expand: Annotated[str | None, _role("expand")] = None
    answer: Annotated[str | None, _role("answer", gno="gen")] = None
    idle_unload_s: Annotated[
        float, setting("Idle time after which models are unloaded; 0: immediately.", 0, 30 * _DAY_S)
    ] = 300
    gpu: Annotated[Literal["auto", "off"], setting("Whether to use a GPU, if llama.cpp was built for one.")] = "auto"
    threads: Annotated[
        int | None, setting("Processor cores that a model uses; by default, all physical cores.", 1, 256)
    ] = None
    embed_on_battery: Annotated[bool, setting("Whether to embed on battery, down to a charge of 15 %.")] = False


class ViewerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A program that the user chose for some files. `files`: lower-case extensions with their dot, and MIME types,
    which may be globs."""

    files: Annotated[tuple[str, ...], setting("Extensions such as `.pdf`, or MIME types such as `text/*`; `*`: all.")]
    command: Annotated[
        tuple[str, ...],
        setting(
            "Program and arguments, such as `[zathura, -P, '{page}', '{path}']`, with `{path}`, `{uri}`, `{line}`, "
            "`{page}` (or slide) and `{row}`. Without any of them, known programs get path and line or page in their "
            "own syntax, others the path. No shell reads it."
        ),
    ]


class MemoryConfig(msgspec.Struct, frozen=True, kw_only=True):
    egress: Annotated[
        Scope, setting("How far memories, and searches in them, may travel to model servers; as for a collection.")
    ] = "local"


class CaptureConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of notes written by `gnoctl capture`, and their beginning. `{date}`, `{time}` and `{title}` are
    replaced by today, now and the first line of the text."""

    collection: Annotated[str | None, setting("The collection of captured notes; by default, the only one.")] = None
    folder: Annotated[str, setting("The folder inside the collection; it is created when needed.")] = "Inbox"
    name: Annotated[str, setting("The name of the file, without extension.")] = "{date} {title}"
    head: Annotated[str, setting("The beginning of the note; `\\n` is a line break.")] = (
        "---\ncreated: {date}T{time}\n---\n\n"
    )


class SearchConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A saved search. `@name` at the beginning of a query is replaced by it."""

    name: Annotated[str, setting("Lower-case letters, digits, `-` and `_`, at most 64.")]
    query: Annotated[str, setting("The query with its fields, such as `tag:work status:open`.")]


class Use(NamedTuple):
    """One model that the config names. `collection`: the collection with its own model; None: all others."""

    uri: str
    role: ModelRole
    collection: str | None = None


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The whole file. Names of collections (including attached ones) and of searches are unique. A context may name a
    collection that does not exist."""

    version: str = "1.0"
    collections: tuple[CollectionConfig, ...] = ()
    attached: tuple[AttachedConfig, ...] = ()
    contexts: tuple[ContextConfig, ...] = ()
    ingest: IngestConfig = msgspec.field(default_factory=IngestConfig)
    watch: WatchConfig = msgspec.field(default_factory=WatchConfig)
    daemon: DaemonConfig = msgspec.field(default_factory=DaemonConfig)
    models: ModelsConfig = msgspec.field(default_factory=ModelsConfig)
    memory: MemoryConfig = msgspec.field(default_factory=MemoryConfig)
    capture: CaptureConfig = msgspec.field(default_factory=CaptureConfig)
    viewers: tuple[ViewerConfig, ...] = ()
    searches: tuple[SearchConfig, ...] = ()

    @property
    def saved_queries(self) -> dict[str, str]:
        return {search.name: search.query for search in self.searches}

    def collection(self, name: str) -> CollectionConfig:
        """Return the collection. Raises CollectionNotFound."""
        for collection in self.collections:
            if collection.name == name:
                return collection
        if self.is_attached(name):
            raise CollectionNotFound(
                f"{name!r} is an attached collection, which its publisher indexes: use a collection of your own",
                {"name": name},
            )
        known = [collection.name for collection in self.collections]
        hint = f"; known: {', '.join(known)}" if known else "; add one with `gnoctl collection add FOLDER`"
        details: dict[str, object] = {"name": name, "known": known}
        raise CollectionNotFound(f"there is no collection {name!r}{did_you_mean(name, known) or hint}", details)

    def is_attached(self, name: str) -> bool:
        return any(attached.name == name for attached in self.attached)

    def model_for(self, role: str, collection: str | None = None) -> str | None:
        """Return the address of the model for `role`: the collection's own, or that of `models`, or that of the preset.
        None: no model."""
        for known in self.collections:
            if known.name == collection and role in known.models:
                return known.models[role]
        own: str | None = getattr(self.models, role)
        if own is None:
            return models_of(self.models.preset)[role]
        return None if own == NO_MODEL else own

    def model_uses(self) -> list[Use]:
        """Return every model that the config names: first the general ones in the order of the roles, then those of
        collections."""
        shared = [Use(uri, role) for role in MODEL_ROLES if (uri := self.model_for(role))]
        own = [(known, role) for known in self.collections for role in MODEL_ROLES if role in known.models]
        return shared + [Use(known.models[role], role, known.name) for known, role in own]

    def viewer(self, path: str, mime: str) -> list[str]:
        """Return the command of the first viewer for this file; empty if there is none."""
        name = path.lower()
        return next(
            (
                list(viewer.command)
                for viewer in self.viewers
                if any(name.endswith(file) if file[0] == "." else fnmatchcase(mime, file) for file in viewer.files)
            ),
            [],
        )


class Setting(NamedTuple):
    """A setting as its struct declares it. `kind`: its type without `| None`. `default`: NODEFAULT if it is
    required."""

    name: str
    kind: Any
    default: Any
    doc: str
    low: float
    high: float
    gno: str | None


@cache
def settings_of(section: type[msgspec.Struct]) -> tuple[Setting, ...]:
    return tuple(_setting(field) for field in msgspec.structs.fields(section))


def _setting(field: msgspec.structs.FieldInfo) -> Setting:
    declared, meta = get_args(field.type)
    kinds = [kind for kind in get_args(declared) if kind is not type(None)]
    default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return Setting(
        name=field.name,
        kind=kinds[0] if type(None) in get_args(declared) else declared,
        default=default,
        doc=meta.description or "",
        low=-math.inf if meta.ge is None else meta.ge,
        high=math.inf if meta.le is None else meta.le,
        gno=meta.extra["gno"],
    )


def normalise(text: str) -> str:
    """Return the form in which scopes and context texts are compared and stored: NFC, without outer blanks."""
    return unicodedata.normalize("NFC", text).strip()


def parse_scope(scope: str) -> tuple[str | None, str]:
    """Return (collection, prefix) of a context's scope; (None, "") is global. Raises InvalidReference.

    The prefix has no outer slashes and may be empty.

    >>> parse_scope("/"), parse_scope("notes:"), parse_scope("gno://notes/a%20b/")
    ((None, ''), ('notes', ''), ('notes', 'a b'))
    """
    scope = normalise(scope)
    if scope == "/":
        return None, ""
    if scope.endswith(":") and COLLECTION_NAME.match(scope[:-1]):
        return scope[:-1], ""
    try:
        collection, path = parse_uri(scope)
    except InvalidReference:
        raise InvalidReference(_malformed(scope), {"scope": scope}) from None
    parts = [part for part in normalise(path).split("/") if part]
    if ".." in parts or "." in parts:
        raise InvalidReference(f"scope {scope!r} must not contain '.' or '..' as a folder", {"scope": scope})
    return collection, "/".join(parts)


def _malformed(scope: str) -> str:
    collection, slash, prefix = scope.strip("/").partition("/")
    hint = ""
    if COLLECTION_NAME.match(collection):
        hint = f"; did you mean '{SCHEME}{collection}/{prefix}'?" if slash else f"; did you mean '{collection}:'?"
    return f"{scope!r} is not a scope: expected '/', 'name:' or 'gno://name/prefix'{hint}"


def contexts_for(contexts: Sequence[ContextConfig], collection: str, path: str) -> str | None:
    """Return the texts that apply to a document, joined with newlines; None if there are none.

    The global text comes first, then the collection's, then prefixes from broad to specific. Equal texts appear once,
    and the file's order breaks ties. `path` is relative to the collection. "a/b" covers "a/b/c" but not "a/bc".
    """
    if not contexts:
        return None
    texts: list[tuple[int, str]] = []
    document = normalise(path).strip("/") + "/"
    for context in contexts:
        named, prefix = parse_scope(context.scope)
        if named is None:
            texts.append((-1, context.text))
        elif named == collection and (not prefix or document.startswith(prefix + "/")):
            texts.append((len(prefix.split("/")) if prefix else 0, context.text))
    texts.sort(key=lambda pair: pair[0])
    return "\n".join(dict.fromkeys(text for _, text in texts)) or None
