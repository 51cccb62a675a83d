"""The settings of the config file: their names, GNO's spellings of them, their ranges and their meaning.

Turns a parsed document into a `Config`; whatever is wrong goes to the report.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, cast

from gnod.config import model_uris
from gnod.config.faults import Report, did_you_mean, quoted
from gnod.config.fields import Fields, Keys, Visits, mapping
from gnod.config.model import (
    DEFAULT_EXCLUDES,
    MODEL_ROLES,
    NO_MODEL,
    PRESETS,
    CollectionConfig,
    Config,
    ContextConfig,
    DaemonConfig,
    IngestConfig,
    ModelsConfig,
    WatchConfig,
    parse_scope,
    settle,
)
from gnod.config.model_uris import FORMS
from gnod.config.nodes import Node
from gnod.errors import InvalidModelUri, InvalidName, InvalidReference
from gnod.types import check_collection_name

_GNO_ROOT = """
    contentTypes editorUriTemplate ftsTokenizer gateway projectAffinity projectProfileBindings recordAdapters
    retrievalTraces
"""
_GNO_MODELS = "presets loadTimeout inferenceTimeout expandContextSize warmModelTtl"

ROOT_KEYS = Keys(own=Config.__struct_fields__, foreign=frozenset(_GNO_ROOT.split()))
COLLECTION_KEYS = Keys(
    own=CollectionConfig.__struct_fields__,
    aliases={"updateCmd": "update_command", "languageHint": "language"},
    foreign=frozenset({"egressPolicy", "sourceAvailability", "recordAdapters"}),
)
ROLE_KEYS = Keys(own=MODEL_ROLES, aliases={"gen": "answer"})
CONTEXT_KEYS = Keys(own=("scope", "text", "scopeType"), aliases={"scopeKey": "scope"})
INGEST_KEYS = Keys(own=IngestConfig.__struct_fields__)
WATCH_KEYS = Keys(own=WatchConfig.__struct_fields__)
DAEMON_KEYS = Keys(own=DaemonConfig.__struct_fields__)
MODELS_KEYS = Keys(
    own=ModelsConfig.__struct_fields__,
    aliases={"activePreset": "preset", **ROLE_KEYS.aliases},
    foreign=frozenset(_GNO_MODELS.split()),
)

_DAY_S = 86_400
_EXTENSION = re.compile(r"[^\s./\\*?]+(?:\.[^\s./\\*?]+)*")
# The primary subtag has two or three letters (RFC 5646); which ones are registered is not our business.
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")


def resolve_path(written: str, folder: Path) -> str:
    """Return the absolute form of a path in a config file of `folder`. Raises ValueError with a sentence."""
    expanded = os.path.expanduser(written)  # noqa: PTH111  (Path's raises RuntimeError)
    if expanded.startswith("~"):
        raise ValueError(f"{quoted(written)} names no home folder; write './~…' for a folder of such a name")
    # Unlike Path.resolve this leaves the disk alone: a root on a dead network drive must not hang us.
    return os.path.abspath(os.path.join(folder, expanded))  # noqa: PTH100, PTH118


def normalise_extension(written: str) -> str | None:
    """Return ".md" for "md", ".MD" or "*.md"; None for what is no extension."""
    bare = written.strip().removeprefix("*").removeprefix(".")
    return f".{bare.lower()}" if _EXTENSION.fullmatch(bare) else None


def read_config(root: Node, report: Report, folder: Path) -> Config:
    """Return the config that `root` holds; only to be used when the report has no faults afterwards.

    `folder` is the config file's own. Raises `fields.TooManyVisitsError`.
    """
    visits = Visits()
    fields = mapping(report, visits, root, "", ROOT_KEYS)
    if fields is None:
        return Config()
    places: dict[str, str] = {}
    return Config(
        version=_version(fields),
        collections=tuple(_collections(fields, folder, places)),
        contexts=tuple(_contexts(fields, places)),
        ingest=_ingest(fields),
        watch=_watch(fields),
        daemon=_daemon(fields),
        models=_models(fields),
    )


def _version(fields: Fields) -> str:
    version = fields.raw("version")
    if version is None:
        return Config().version
    if not re.fullmatch(r"1(\.[0-9]{1,9})?", version):
        fields.warn("version", f"gnod knows version '1.0' of this file, not {quoted(version)}")
    return version


def _collections(fields: Fields, folder: Path, places: dict[str, str]) -> Iterator[CollectionConfig]:
    """Yield the faultless ones. `places` becomes name → place, for all whose name is good."""
    for entry in fields.mappings("collections", COLLECTION_KEYS):
        name, path = _name(entry, places), _path(entry, folder)
        exclude = entry.texts("exclude")
        collection = CollectionConfig(
            name=name or "",
            path=path or "",
            pattern=entry.text("pattern") or "**/*",
            include=_include(entry),
            exclude=DEFAULT_EXCLUDES if exclude is None else exclude,
            gitignore=entry.flag("gitignore", default=True),
            language=_language(entry),
            update_command=entry.text("update_command", blank=True),
            models=_roles(entry),
        )
        if name and path:
            yield collection


def _name(fields: Fields, places: dict[str, str]) -> str | None:
    name = fields.required("name")
    if name is None:
        return None
    try:
        check_collection_name(name)
    except InvalidName as error:
        fields.fault("name", error.message)
        return None
    if name in places:
        fields.fault("name", f"'{name}' is already the name of {places[name]}")
        return None
    places[name] = f"{fields.where} (line {fields.line})"
    return name


def _path(fields: Fields, folder: Path) -> str | None:
    written = fields.required("path")
    try:
        return None if written is None else resolve_path(written, folder)
    except ValueError as error:
        fields.fault("path", str(error))
        return None


def _include(fields: Fields) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for written in fields.texts("include") or ():
        if extension := normalise_extension(written):
            found[extension] = None
        else:
            fields.fault("include", f"expected extensions such as '.md', got {quoted(written)}")
    return tuple(found)


def _language(fields: Fields) -> str | None:
    language = fields.text("language")
    if language is None or _LANGUAGE.fullmatch(language):
        return language
    dashed = language.replace("_", "-")
    hint = f"; did you mean '{dashed}'?" if _LANGUAGE.fullmatch(dashed) else ""
    fields.fault("language", f"expected a language tag such as 'en' or 'zh-CN', got {quoted(language)}{hint}")
    return None


def _roles(fields: Fields) -> dict[str, str]:
    roles = fields.mapping("models", ROLE_KEYS)
    return {role: uri for role in MODEL_ROLES if (uri := _model_uri(roles, role))} if roles else {}


def _model_uri(roles: Fields, role: str, *, or_none: bool = False) -> str | None:
    """Return an address; with `or_none`, it may also be NO_MODEL. None: nothing is said, so others decide."""
    written = roles.text(role)
    if written is None:
        return None
    if or_none and written.strip().lower() == NO_MODEL:
        return NO_MODEL
    if written.startswith(("http://", "https://")) and ".gguf" not in written:
        # GNO can ask a server; a file that it may have written is no fault.
        roles.warn(role, "gnod runs models itself and asks no server, so the preset's is used; expected " + FORMS)
        return None
    try:
        model_uris.parse(written)
    except InvalidModelUri as error:
        roles.fault(role, error.message)
        return None
    return written


def _contexts(fields: Fields, places: dict[str, str]) -> Iterator[ContextConfig]:
    for entry in fields.mappings("contexts", CONTEXT_KEYS):
        scope, text = _scope(entry, places), entry.required("text")
        if scope and text:
            yield ContextConfig(scope=scope, text=settle(text))


def _scope(fields: Fields, places: dict[str, str]) -> str | None:
    scope = fields.required("scope")
    kind = fields.choice("scopeType", ("global", "collection", "prefix"))
    if scope is None:
        return None
    try:
        collection, _ = parse_scope(scope)
    except InvalidReference as error:
        fields.fault("scope", error.message)
        return None
    if kind and kind != (actual := _scope_type(settle(scope))):
        fields.fault("scopeType", f"is '{kind}', but {quoted(scope)} is a scope of type '{actual}'")
    if collection is not None and collection not in places:
        hint = did_you_mean(collection, places)
        fields.warn("scope", f"there is no collection '{collection}', so this context is not used{hint}")
    return settle(scope)


def _scope_type(scope: str) -> str:
    if scope == "/":
        return "global"
    return "collection" if scope.endswith(":") else "prefix"


def _ingest(fields: Fields) -> IngestConfig:
    entry = fields.mapping("ingest", INGEST_KEYS)
    base = IngestConfig()
    if entry is None:
        return base
    return IngestConfig(
        max_file_mb=entry.integer("max_file_mb", default=base.max_file_mb, low=1, high=100_000),
        timeout_s=entry.seconds("timeout_s", default=base.timeout_s, low=0.1, high=_DAY_S),
        max_characters=entry.integer("max_characters", default=base.max_characters, low=1_000, high=10**9),
        memory_mb=entry.integer("memory_mb", default=base.memory_mb, low=64, high=1_048_576),
        workers=entry.integer("workers", default=1, low=1, high=256) if entry.has("workers") else None,
    )


def _watch(fields: Fields) -> WatchConfig:
    entry = fields.mapping("watch", WATCH_KEYS)
    base = WatchConfig()
    if entry is None:
        return base
    return WatchConfig(rescan_s=entry.seconds("rescan_s", default=base.rescan_s, low=0.1, high=30 * _DAY_S))


def _daemon(fields: Fields) -> DaemonConfig:
    entry = fields.mapping("daemon", DAEMON_KEYS)
    base = DaemonConfig()
    if entry is None:
        return base
    level = entry.choice("log_level", ("debug", "info", "warning", "error"))
    return DaemonConfig(
        shutdown_grace_s=entry.seconds("shutdown_grace_s", default=base.shutdown_grace_s, low=0, high=3_600),
        log_level=cast(Literal["debug", "info", "warning", "error"], level or base.log_level),
        autostart=entry.flag("autostart", default=base.autostart),
    )


def _models(fields: Fields) -> ModelsConfig:
    entry = fields.mapping("models", MODELS_KEYS)
    base = ModelsConfig()
    if entry is None:
        return base
    preset = entry.text("preset") or base.preset
    if preset not in PRESETS:
        # A warning: a file of GNO may name a preset of GNO's, or one that it defines itself.
        hint = did_you_mean(preset, PRESETS)
        entry.warn("preset", f"there is no preset {quoted(preset)}, so '{base.preset}' is used{hint}")
        preset = base.preset
    gpu = entry.choice("gpu", ("auto", "off"))
    return ModelsConfig(
        preset=preset,
        embed=_model_uri(entry, "embed", or_none=True),
        rerank=_model_uri(entry, "rerank", or_none=True),
        expand=_model_uri(entry, "expand", or_none=True),
        answer=_model_uri(entry, "answer", or_none=True),
        idle_unload_s=entry.seconds("idle_unload_s", default=base.idle_unload_s, low=0, high=30 * _DAY_S),
        gpu=cast(Literal["auto", "off"], gpu or base.gpu),
        threads=entry.integer("threads", default=1, low=1, high=256) if entry.has("threads") else None,
        embed_on_battery=entry.flag("embed_on_battery", default=base.embed_on_battery),
    )
