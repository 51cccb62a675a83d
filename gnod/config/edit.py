"""Edits of the config file that keep the user's comments, order, quoting and unknown keys.

Every edit reads and validates the file, changes as few characters as it can, validates the result, compares
it with what was meant, and only then replaces the file. All functions raise ConfigInvalid, and leave the file
as it was, when it is not valid now or could not be changed as meant, and StorageFailed when it cannot be
written. A missing file is as good as the starter. Two edits at the same time would lose one of them: the
caller does them one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec.structs import asdict, replace

from gnod.config import storage
from gnod.config.faults import Report, did_you_mean
from gnod.config.load import parse_text, read_text
from gnod.config.model import CollectionConfig, Config, ContextConfig, parse_scope, settle
from gnod.config.nodes import Document, Node
from gnod.config.schema import ROLE_KEYS, normalise_extension, resolve_path
from gnod.config.splice import (
    Settings,
    Splice,
    UneditableError,
    append_item,
    apply,
    find_entry,
    remove_items,
    replace_string,
    set_string,
)
from gnod.errors import (
    CollectionExists,
    CollectionNotFound,
    ConfigInvalid,
    ContextExists,
    ContextNotFound,
)
from gnod.types import SCHEME, check_collection_name

STARTER = """\
# What gnod indexes, and how. Commands such as `gnoctl collection add` edit this file and keep your comments.
version: "1.0"

# Folders to index:
#   - name: notes
#     path: ~/notes
#     include: [.md, .txt, .pdf]
#     exclude: [drafts]
collections: []

# Hints that go with every search result from a place:
#   - scope: "gno://notes/recipes"
#     text: Family recipes, in German
contexts: []
"""

T = TypeVar("T")

_Plan = Callable[[Document, Config], tuple[list[Splice], Config]]


def create(path: Path) -> bool:
    """Write a commented starter file if there is none; return whether it was written."""
    return storage.create(path, STARTER)


def add_collection(path: Path, collection: CollectionConfig) -> None:
    """Add a collection, written without its defaults. Raises CollectionExists and InvalidName."""
    check_collection_name(collection.name)

    def plan(document: Document, config: Config) -> tuple[list[Splice], Config]:
        _check_free(config, collection.name)
        loaded = _as_loaded(collection, path)
        meant = replace(config, collections=(*config.collections, loaded))
        written = _settings(replace(loaded, path=collection.path))
        return append_item(document, "collections", written), meant

    _edit(path, plan)


def remove_collection(path: Path, name: str) -> None:
    """Remove a collection and the contexts below it. Raises CollectionNotFound."""

    def plan(document: Document, config: Config) -> tuple[list[Splice], Config]:
        _check_known(config, name)
        index = [collection.name for collection in config.collections].index(name)
        orphans = _contexts_of(config, name)
        meant = replace(
            config,
            collections=_without(config.collections, [index]),
            contexts=_without(config.contexts, orphans),
        )
        splices = remove_items(document, "collections", [index]) + remove_items(document, "contexts", orphans)
        return splices, meant

    _edit(path, plan)


def rename_collection(path: Path, old: str, new: str) -> int:
    """Rename a collection, and in the scopes of its contexts; return how many contexts changed.

    Raises CollectionNotFound, CollectionExists (also for its own name) and InvalidName.
    """
    check_collection_name(new)
    changed = 0

    def plan(document: Document, config: Config) -> tuple[list[Splice], Config]:
        nonlocal changed
        _check_known(config, old)
        _check_free(config, new)
        index = [collection.name for collection in config.collections].index(old)
        followers = _contexts_of(config, old)
        changed = len(followers)
        collections, contexts = list(config.collections), list(config.contexts)
        collections[index] = replace(collections[index], name=new)
        splices = [replace_string(document, _setting(document, "collections", index, "name"), new)]
        for follower in followers:
            scope = _renamed(contexts[follower].scope, old, new)
            contexts[follower] = replace(contexts[follower], scope=scope)
            node = _setting(document, "contexts", follower, "scope", "scopeKey")
            splices.append(replace_string(document, node, scope))
        return splices, replace(config, collections=tuple(collections), contexts=tuple(contexts))

    _edit(path, plan)
    return changed


def add_context(path: Path, context: ContextConfig) -> None:
    """Add a context. Raises InvalidReference (its scope), CollectionNotFound and ContextExists."""
    added = ContextConfig(scope=settle(context.scope), text=settle(context.text))
    scope = parse_scope(added.scope)

    def plan(document: Document, config: Config) -> tuple[list[Splice], Config]:
        if scope[0] is not None:
            _check_known(config, scope[0])
        if any((parse_scope(other.scope), other.text) == (scope, added.text) for other in config.contexts):
            details: dict[str, object] = {"scope": added.scope, "text": added.text}
            raise ContextExists(f"the scope {added.scope!r} already has this context", details)
        meant = replace(config, contexts=(*config.contexts, added))
        return append_item(document, "contexts", {"scope": added.scope, "text": added.text}), meant

    _edit(path, plan)


def remove_context(path: Path, scope: str, text: str | None = None) -> list[ContextConfig]:
    """Remove the contexts of exactly this scope, or the one with this text; return what was removed.

    Raises InvalidReference (the scope) and ContextNotFound.
    """
    wanted = parse_scope(scope)
    removed: list[ContextConfig] = []

    def plan(document: Document, config: Config) -> tuple[list[Splice], Config]:
        found = [
            index
            for index, context in enumerate(config.contexts)
            if parse_scope(context.scope) == wanted and (text is None or context.text == settle(text))
        ]
        if not found:
            raise ContextNotFound(*_no_context(config, settle(scope), text))
        removed[:] = [config.contexts[index] for index in found]
        meant = replace(config, contexts=_without(config.contexts, found))
        return remove_items(document, "contexts", found), meant

    _edit(path, plan)
    return removed


def use_preset(path: Path, preset: str) -> None:
    """Set which preset of models is used; `preset` is one of PRESETS."""

    def plan(document: Document, config: Config) -> tuple[list[Splice], Config]:
        meant = replace(config, models=replace(config.models, preset=preset))
        return set_string(document, "models", ["preset", "activePreset"], preset), meant

    _edit(path, plan)


def _edit(path: Path, plan: _Plan) -> None:
    text = read_text(path)
    text = STARTER if text is None else text
    body = text.removeprefix("\ufeff")
    document, loaded = parse_text(body, path)
    try:
        splices, meant = plan(document, loaded.config)
        changed = apply(body, splices)
        result = _validated(changed, path)
    except UneditableError:
        raise _uneditable(path) from None
    if result != meant:
        raise _uneditable(path)
    storage.write(path, text[: len(text) - len(body)] + changed)


def _validated(text: str, path: Path) -> Config:
    try:
        return parse_text(text, path)[1].config
    except ConfigInvalid as error:
        message = f"{path.name} was not changed, because it would not be valid afterwards:\n{error.message}"
        raise ConfigInvalid(message, error.details) from None


def _uneditable(path: Path) -> ConfigInvalid:
    report = Report(path)
    reason = "is laid out in a way that this command cannot follow (aliases or merges?); please edit it by hand"
    report.fault(None, "", reason)
    return report.error()


def _check_free(config: Config, name: str) -> None:
    if any(collection.name == name for collection in config.collections):
        raise CollectionExists(f"there is already a collection {name!r}", {"name": name})


def _check_known(config: Config, name: str) -> None:
    known = [collection.name for collection in config.collections]
    if name not in known:
        hint = did_you_mean(name, known)
        listed = f"; known: {', '.join(known)}" if known else "; there are none yet"
        details: dict[str, object] = {"name": name, "known": known}
        raise CollectionNotFound(f"there is no collection {name!r}{hint or listed}", details)


def _no_context(config: Config, scope: str, text: str | None) -> tuple[str, dict[str, object]]:
    known = list(dict.fromkeys(context.scope for context in config.contexts))
    what = f"the scope {scope!r} has no " + ("context" if text is None else f"context {settle(text)!r}")
    listed = f"; scopes with a context: {', '.join(known)}" if known else "; there are none yet"
    return what + listed, {"scope": scope, "known": known}


def _contexts_of(config: Config, name: str) -> list[int]:
    return [i for i, context in enumerate(config.contexts) if parse_scope(context.scope)[0] == name]


def _without(items: tuple[T, ...], indexes: list[int]) -> tuple[T, ...]:
    return tuple(item for index, item in enumerate(items) if index not in indexes)


def _as_loaded(collection: CollectionConfig, path: Path) -> CollectionConfig:
    """Return what a reader will make of it; a value that no reader accepts stays as it is."""
    folder = collection.path
    with suppress(ValueError):
        folder = resolve_path(collection.path, path.parent.absolute())
    include = dict.fromkeys(normalise_extension(written) or written for written in collection.include)
    models = {ROLE_KEYS.aliases.get(role, role): uri for role, uri in collection.models.items()}
    return replace(collection, path=folder, include=tuple(include), models=models)


def _settings(collection: CollectionConfig) -> Settings:
    defaults = asdict(CollectionConfig(name="", path=""))
    return {key: value for key, value in asdict(collection).items() if value != defaults[key]}


def _setting(document: Document, section: str, index: int, *keys: str) -> Node:
    """Return the value of an item's setting, under whichever of `keys` the user wrote."""
    items = entry[1] if document.root and (entry := find_entry(document.root, section)) else None
    item = items.children[index] if items and items.kind == "sequence" else None
    found = [find_entry(item.target, key) for key in keys] if item and item.kind == "mapping" else []
    for entry in found:
        if entry is not None:
            return entry[1]
    raise UneditableError


def _renamed(scope: str, old: str, new: str) -> str:
    start = len(SCHEME) if scope.startswith(SCHEME) else 0
    return scope[:start] + new + scope[start + len(old) :]
