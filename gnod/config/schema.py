"""Turns a parsed document into a `Config`: handles GNO's names, and reports faults that a type cannot express."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gnod.config import model, model_uris
from gnod.config.document import YamlNode
from gnod.config.faults import FaultReport, did_you_mean, quoted
from gnod.config.fields import Fields, Keys, mapping
from gnod.errors import InvalidModelUri, InvalidName, InvalidReference
from gnod.presets import MODEL_ROLES, NO_PRESET, PRESETS
from gnod.types import COLLECTION_NAME, check_collection_name

_GNO_ROOT = """
    contentTypes editorUriTemplate ftsTokenizer gateway projectAffinity projectProfileBindings recordAdapters
    retrievalTraces
"""

Section = TypeVar("Section", bound=msgspec.Struct)
Reader = Callable[[Fields, str], Any]


def _keys(section: type[msgspec.Struct], foreign: str = "", *more: str) -> Keys:
    return Keys(
        own=(*section.__struct_fields__, *more),
        aliases={setting.gno: setting.name for setting in model.settings_of(section) if setting.gno},
        foreign=frozenset(foreign.split()),
    )


_ROOT_KEYS = Keys(own=model.Config.__struct_fields__, foreign=frozenset(_GNO_ROOT.split()))
_COLLECTION_KEYS = _keys(model.CollectionConfig, "egressPolicy sourceAvailability recordAdapters")
_ATTACHED_KEYS = _keys(model.AttachedConfig)
_VIEWER_KEYS = _keys(model.ViewerConfig)
_CONTEXT_KEYS = _keys(model.ContextConfig, "", "scopeType")
_SEARCH_KEYS = _keys(model.SearchConfig)
_MODELS_KEYS = _keys(model.ModelsConfig, "presets loadTimeout inferenceTimeout expandContextSize warmModelTtl")
ROLE_ALIASES: dict[str, str] = {gno: role for gno, role in _MODELS_KEYS.aliases.items() if role in MODEL_ROLES}
_ROLE_KEYS = Keys(own=MODEL_ROLES, aliases=ROLE_ALIASES)

_EXTENSION = re.compile(r"[^\s./\\*?]+(?:\.[^\s./\\*?]+)*")
# The primary subtag has two or three letters (RFC 5646). Its registration is not checked.
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*")


def resolve_path(written: str, folder: Path) -> str:
    """Return the absolute form of a path in a config file of `folder`. Raises ValueError with a message for the
    user."""
    expanded = os.path.expanduser(written)  # noqa: PTH111  (Path's raises RuntimeError)
    if expanded.startswith("~"):
        raise ValueError(f"{quoted(written)} does not name a home folder; write './~…' for a folder of such a name")
    # Unlike Path.resolve, this does not touch the disk: a root on an unreachable network drive would block.
    return os.path.abspath(os.path.join(folder, expanded))  # noqa: PTH100, PTH118


def normalise_extension(written: str) -> str | None:
    """Return ".md" for "md", ".MD" or "*.md"; None if it is not an extension."""
    bare = written.strip().removeprefix("*").removeprefix(".")
    return f".{bare.lower()}" if _EXTENSION.fullmatch(bare) else None


def read_config(root: YamlNode, report: FaultReport, folder: Path) -> model.Config:
    """Return the config in `root`. Use it only if the report has no faults afterwards.

    `folder`: the folder of the config file. Raises ConfigInvalid if the aliases expand to too many values.
    """
    fields = mapping(report, root, "", _ROOT_KEYS)
    if fields is None:
        return model.Config()
    places: dict[str, str] = {}
    return model.Config(
        version=_version(fields),
        collections=tuple(_collections(fields, folder, places)),
        attached=tuple(_attached(fields, places)),
        contexts=tuple(_contexts(fields, places)),
        ingest=_section(fields.mapping("ingest", _keys(model.IngestConfig)), model.IngestConfig),
        watch=_section(fields.mapping("watch", _keys(model.WatchConfig)), model.WatchConfig),
        daemon=_section(fields.mapping("daemon", _keys(model.DaemonConfig)), model.DaemonConfig),
        models=_section(
            fields.mapping("models", _MODELS_KEYS),
            model.ModelsConfig,
            preset=_preset,
            **dict.fromkeys(MODEL_ROLES, partial(_model_uri, or_none=True)),
        ),
        memory=_section(fields.mapping("memory", _keys(model.MemoryConfig)), model.MemoryConfig),
        capture=_section(fields.mapping("capture", _keys(model.CaptureConfig)), model.CaptureConfig),
        viewers=tuple(_viewers(fields)),
        searches=tuple(_searches(fields)),
    )


def _section(fields: Fields | None, section: type[Section], **readers: Reader) -> Section:
    """Read the settings of a section, each with its reader if it has one, and otherwise by its type."""
    if fields is None:
        return section()
    values = {
        setting.name: reader(fields, setting.name) if (reader := readers.get(setting.name)) else fields.read(setting)
        for setting in model.settings_of(section)
    }
    return section(**values)


def _version(fields: Fields) -> str:
    version = fields.raw("version")
    if version is None:
        return model.Config().version
    if not re.fullmatch(r"1(\.[0-9]{1,9})?", version):
        fields.warn("version", f"gnod supports version '1.0' of this file, not {quoted(version)}")
    return version


def _collections(fields: Fields, folder: Path, places: dict[str, str]) -> Iterator[model.CollectionConfig]:
    """Yield the collections with a valid name and path. Fills `places`, which maps every valid name to its place."""
    for entry in fields.mappings("collections", _COLLECTION_KEYS):
        collection = _section(
            entry,
            model.CollectionConfig,
            name=partial(_name, places=places),
            path=partial(_path, folder=folder),
            include=_include,
            language=_language,
            ocr=_ocr,
            update_command=lambda entry, key: entry.text(key, blank=True),
            models=_roles,
        )
        if collection.name and collection.path:
            yield collection


def _attached(fields: Fields, places: dict[str, str]) -> Iterator[model.AttachedConfig]:
    """Yield the attached collections with a valid name and an address. The address is not checked until it is
    opened."""
    for entry in fields.mappings("attached", _ATTACHED_KEYS):
        attached = _section(
            entry,
            model.AttachedConfig,
            name=partial(_name, places=places),
            address=lambda entry, key: entry.required(key) or "",
        )
        if attached.name and attached.address:
            yield attached


def _name(fields: Fields, key: str, places: dict[str, str]) -> str:
    """Return the name; "" after a fault."""
    name = fields.required(key)
    if name is None:
        return ""
    try:
        check_collection_name(name)
    except InvalidName as error:
        fields.fault(key, error.message)
        return ""
    if name in places:
        fields.fault(key, f"'{name}' is already the name of {places[name]}")
        return ""
    places[name] = f"{fields.where} (line {fields.line})"
    return name


def _path(fields: Fields, key: str, folder: Path) -> str:
    """Return the absolute path; "" after a fault."""
    written = fields.required(key)
    try:
        return "" if written is None else resolve_path(written, folder)
    except ValueError as error:
        fields.fault(key, str(error))
        return ""


def _include(fields: Fields, key: str) -> tuple[str, ...]:
    extensions: dict[str, None] = {}
    for written in fields.texts(key) or ():
        if extension := normalise_extension(written):
            extensions[extension] = None
        else:
            fields.fault(key, f"expected extensions such as '.md', got {quoted(written)}")
    return tuple(extensions)


def _language(fields: Fields, key: str) -> str | None:
    language = fields.text(key)
    if language is None or _LANGUAGE.fullmatch(language):
        return language
    dashed = language.replace("_", "-")
    hint = f"; did you mean '{dashed}'?" if _LANGUAGE.fullmatch(dashed) else ""
    fields.fault(key, f"expected a language tag such as 'en' or 'zh-CN', got {quoted(language)}{hint}")
    return None


def _ocr(fields: Fields, key: str) -> str:
    default = "on"
    if not fields.has(key):
        return default
    written = (fields.raw(key, flags=True) or "").replace(" ", "").lower()
    setting = {"true": "on", "false": "off", "yes": "on", "no": "off"}.get(written, written)
    if setting in ("on", "off") or all(_LANGUAGE.fullmatch(tag) for tag in setting.split(",")):
        return setting
    fields.fault(key, f"expected on, off, or languages such as 'ru,de', got {quoted(written)}")
    return default


def _preset(fields: Fields, key: str) -> str:
    default = model.ModelsConfig().preset
    preset = fields.text(key) or default
    if preset in PRESETS or preset == NO_PRESET:
        return preset
    # This is only a warning, because a file of GNO may name one of GNO's presets, or its own.
    fields.warn(key, f"there is no preset {quoted(preset)}, so '{default}' is used{did_you_mean(preset, PRESETS)}")
    return default


def _roles(fields: Fields, key: str) -> dict[str, str]:
    roles = fields.mapping(key, _ROLE_KEYS)
    return {role: uri for role in MODEL_ROLES if (uri := _model_uri(roles, role))} if roles else {}


def _model_uri(fields: Fields, role: str, *, or_none: bool = False) -> str | None:
    """Return an address, or NO_MODEL if that is allowed; None if the setting is missing, ignored or faulty."""
    written = fields.text(role)
    if written is None:
        return None
    if or_none and written.strip().lower() == model.NO_MODEL:
        return model.NO_MODEL
    if written.startswith(("http://", "https://")) and "#" not in written and ".gguf" not in written:
        # GNO may have written this file, so this is not a fault.
        fields.warn(
            role, "does not name a model of the server, so the preset's is used; expected https://host:port/v1#model"
        )
        return None
    try:
        parsed = model_uris.parse(written)
    except InvalidModelUri as error:
        fields.fault(role, error.message)
        return None
    if isinstance(parsed, model_uris.HubRepository) and role in ("expand", "answer"):
        fields.fault(role, f"{written!r} does not name a file: a language model needs one, as in {written}/file.gguf")
        return None
    return str(parsed)


def _viewers(fields: Fields) -> Iterator[model.ViewerConfig]:
    for entry in fields.mappings("viewers", _VIEWER_KEYS):
        for key in _VIEWER_KEYS.own:
            if not entry.has(key):
                entry.fault(key, "is missing")
        yield model.ViewerConfig(files=_viewer_files(entry, "files"), command=entry.texts("command") or ())


def _viewer_files(fields: Fields, key: str) -> tuple[str, ...]:
    files: list[str] = []
    for written in fields.texts(key) or ():
        if found := written.lower() if "/" in written or written == "*" else normalise_extension(written):
            files.append(found)
        else:
            fields.fault(key, f"expected extensions such as '.pdf', or MIME types, got {quoted(written)}")
    return tuple(files)


def _contexts(fields: Fields, places: dict[str, str]) -> Iterator[model.ContextConfig]:
    for entry in fields.mappings("contexts", _CONTEXT_KEYS):
        scope, text = _scope(entry, places), entry.required("text")
        if scope and text:
            yield model.ContextConfig(scope=scope, text=model.normalise(text))


def _searches(fields: Fields) -> Iterator[model.SearchConfig]:
    known: set[str] = set()
    for entry in fields.mappings("searches", _SEARCH_KEYS):
        name, query = entry.required("name"), entry.required("query")
        if name and not COLLECTION_NAME.match(name):
            entry.fault("name", f"{quoted(name)} is not valid: lower-case letters, digits, '-' and '_', at most 64")
        elif name in known:
            entry.fault("name", f"there are two searches {quoted(name)}: give one of them another name")
        elif name and query:
            known.add(name)
            yield model.SearchConfig(name=name, query=query)


def _scope(fields: Fields, places: dict[str, str]) -> str | None:
    written = fields.required("scope")
    kind = fields.choice("scopeType", ("global", "collection", "prefix"))
    if written is None:
        return None
    scope = model.normalise(written)
    try:
        collection, _ = model.parse_scope(scope)
    except InvalidReference as error:
        fields.fault("scope", error.message)
        return None
    if kind and kind != (actual := _scope_type(scope)):
        fields.fault("scopeType", f"is '{kind}', but {quoted(written)} is a scope of type '{actual}'")
    if collection is not None and collection not in places:
        hint = did_you_mean(collection, places)
        fields.warn("scope", f"there is no collection '{collection}', so this context is not used{hint}")
    return scope


def _scope_type(scope: str) -> str:
    if scope == "/":
        return "global"
    return "collection" if scope.endswith(":") else "prefix"
