"""Edits of the config file that keep the user's comments, order, quoting and unknown keys.

Every edit reads and validates the file, changes as few characters as it can, validates the result, compares it with
the intended config, and only then replaces the file. All functions raise ConfigInvalid, and leave the file unchanged,
when it is not valid now or could not be changed as intended, and StorageFailed when it cannot be written. A missing
file is treated as the starter. The caller serialises edits: of two at the same time, one would be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from msgspec.structs import asdict, replace

from gnod.config import splice, storage
from gnod.config.faults import FaultReport, did_you_mean
from gnod.config.load import parse_text, read_text
from gnod.config.model import (
    AttachedConfig,
    CollectionConfig,
    Config,
    ContextConfig,
    SearchConfig,
    normalise,
    parse_scope,
)
from gnod.config.nodes import YamlDocument, YamlNode, is_null
from gnod.config.schema import ROLE_ALIASES, normalise_extension, resolve_path
from gnod.errors import (
    CollectionExists,
    CollectionNotFound,
    ConfigInvalid,
    ContextExists,
    ContextNotFound,
    SearchNotFound,
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

_Plan = Callable[[YamlDocument, Config], tuple[list[splice.Splice], Config]]


def create(path: Path) -> bool:
    """Write a commented starter file if there is none; return whether it was written."""
    return storage.create(path, STARTER)


def add_collection(path: Path, collection: CollectionConfig) -> None:
    """Add a collection, written without its defaults. Raises CollectionExists and InvalidName."""
    check_collection_name(collection.name)

    def plan(document: YamlDocument, config: Config) -> tuple[list[splice.Splice], Config]:
        _check_free(config, collection.name)
        loaded = _as_loaded(collection, path)
        intended = replace(config, collections=(*config.collections, loaded))
        written = _settings(replace(loaded, path=collection.path))
        return splice.append_item(document, "collections", written), intended

    _edit(path, plan)


def remove_collection(path: Path, name: str) -> None:
    """Remove a collection and the contexts below it. Raises CollectionNotFound."""

    def plan(document: YamlDocument, config: Config) -> tuple[list[splice.Splice], Config]:
        index = config.collections.index(config.collection(name))
        orphans = _contexts_of(config, name)
        intended = replace(
            config,
            collections=_without(config.collections, [index]),
            contexts=_without(config.contexts, orphans),
        )
        splices = splice.remove_items(document, "collections", [index]) + splice.remove_items(
            document, "contexts", orphans
        )
        return splices, intended

    _edit(path, plan)


def rename_collection(path: Path, old: str, new: str) -> int:
    """Rename a collection, and in the scopes of its contexts; return how many contexts changed.

    Raises CollectionNotFound, CollectionExists (also for its own name) and InvalidName.
    """
    check_collection_name(new)
    changed: list[int] = []

    def plan(document: YamlDocument, config: Config) -> tuple[list[splice.Splice], Config]:
        index = config.collections.index(config.collection(old))
        _check_free(config, new)
        changed[:] = _contexts_of(config, old)
        collections, contexts = list(config.collections), list(config.contexts)
        collections[index] = replace(collections[index], name=new)
        splices = [splice.replace_string(document, _setting(document, "collections", index, "name"), new)]
        for follower in changed:
            scope = _renamed(contexts[follower].scope, old, new)
            contexts[follower] = replace(contexts[follower], scope=scope)
            node = _setting(document, "contexts", follower, "scope", "scopeKey")
            splices.append(splice.replace_string(document, node, scope))
        return splices, replace(config, collections=tuple(collections), contexts=tuple(contexts))

    _edit(path, plan)
    return len(changed)


def attach(path: Path, attached: AttachedConfig) -> None:
    """Add a collection that another daemon publishes. Raises CollectionExists and InvalidName."""
    check_collection_name(attached.name)

    def plan(document: YamlDocument, config: Config) -> tuple[list[splice.Splice], Config]:
        _check_free(config, attached.name)
        defaults = asdict(AttachedConfig(name="", address=""))
        written = {key: value for key, value in asdict(attached).items() if value != defaults[key]}
        return splice.append_item(document, "attached", written), replace(config, attached=(*config.attached, attached))

    _edit(path, plan)


def detach(path: Path, name: str) -> None:
    """Remove an attached collection and the contexts below it. Raises CollectionNotFound."""

    def plan(document: YamlDocument, config: Config) -> tuple[list[splice.Splice], Config]:
        names = [each.name for each in config.attached]
        if name not in names:
            hint = did_you_mean(name, names) or "; `gnoctl collection list` shows those that are attached"
            raise CollectionNotFound(f"no collection {name!r} is attached{hint}", {"name": name, "known": names})
        index, orphans = names.index(name), _contexts_of(config, name)
        intended = replace(
            config,
            attached=_without(config.attached, [index]),
            contexts=_without(config.contexts, orphans),
        )
        return splice.remove_items(document, "attached", [index]) + splice.remove_items(
            document, "contexts", orphans
        ), intended

    _edit(path, plan)


def publish(path: Path, name: str, address: str | None) -> None:
    """Set where a collection is published; None: nowhere. Raises CollectionNotFound."""

    def plan(document: YamlDocument, config: Config) -> tuple[list[splice.Splice], Config]:
        index = config.collections.index(config.collection(name))
        changed = replace(config.collections[index], publish=address)
        intended = replace(config, collections=_replaced(config.collections, index, changed))
        return splice.set_in_item(document, "collections", index, "publish", address), intended

    _edit(path, plan)


def add_context(path: Path, context: ContextConfig) -> None:
    """Add a context. Raises InvalidReference (its scope), CollectionNotFound and ContextExists."""
    added = ContextConfig(scope=normalise(context.scope), text=normalise(context.text))
    scope = parse_scope(added.scope)

    def plan(document: YamlDocument, config: Config) -> tuple[list[splice.Splice], Config]:
        if scope[0] is not None and not config.is_attached(scope[0]):
            config.collection(scope[0])
        if any((parse_scope(other.scope), other.text) == (scope, added.text) for other in config.contexts):
            raise ContextExists(f"the scope {added.scope!r} already has this context", asdict(added))
        return splice.append_item(document, "contexts", asdict(added)), replace(
            config, contexts=(*config.contexts, added)
        )

    _edit(path, plan)


def remove_context(path: Path, scope: str, text: str | None = None) -> list[ContextConfig]:
    """Remove the contexts of exactly this scope, or the one with this text; return what was removed.

    Raises InvalidReference (the scope) and ContextNotFound.
    """
    parsed = parse_scope(scope)
    removed: list[ContextConfig] = []

    def plan(document: YamlDocument, config: Config) -> tuple[list[splice.Splice], Config]:
        matching = [
            index
            for index, context in enumerate(config.contexts)
            if parse_scope(context.scope) == parsed and (text is None or context.text == normalise(text))
        ]
        if not matching:
            raise _no_context(config, normalise(scope), text)
        removed[:] = [config.contexts[index] for index in matching]
        intended = replace(config, contexts=_without(config.contexts, matching))
        return splice.remove_items(document, "contexts", matching), intended

    _edit(path, plan)
    return removed


def save_search(path: Path, search: SearchConfig) -> None:
    """Save a search under its name. A search with the same name is replaced."""

    def plan(document: YamlDocument, config: Config) -> tuple[list[splice.Splice], Config]:
        names = [each.name for each in config.searches]
        if search.name not in names:
            intended = replace(config, searches=(*config.searches, search))
            return splice.append_item(document, "searches", asdict(search)), intended
        index = names.index(search.name)
        searches = (*config.searches[:index], search, *config.searches[index + 1 :])
        node = _setting(document, "searches", index, "query")
        return [splice.replace_string(document, node, search.query)], replace(config, searches=searches)

    _edit(path, plan)


def remove_search(path: Path, name: str) -> SearchConfig:
    """Remove a saved search, and return it. Raises SearchNotFound."""
    removed: list[SearchConfig] = []

    def plan(document: YamlDocument, config: Config) -> tuple[list[splice.Splice], Config]:
        names = [search.name for search in config.searches]
        if name not in names:
            hint = did_you_mean(name, names) or "; `gnoctl saved list` shows those that exist"
            raise SearchNotFound(f"there is no saved search {name!r}{hint}", {"name": name, "known": names})
        index = names.index(name)
        removed[:] = [config.searches[index]]
        intended = replace(config, searches=_without(config.searches, [index]))
        return splice.remove_items(document, "searches", [index]), intended

    _edit(path, plan)
    return removed[0]


def use_preset(path: Path, preset: str) -> None:
    """Set which preset of models is used; `preset` is one of PRESETS, or NO_PRESET."""

    def plan(document: YamlDocument, config: Config) -> tuple[list[splice.Splice], Config]:
        intended = replace(config, models=replace(config.models, preset=preset))
        return splice.set_string(document, "models", ["preset", "activePreset"], preset), intended

    _edit(path, plan)


def names_preset(path: Path) -> bool:
    """Tell whether the file chooses models itself: a preset, or an embedding model. Raises ConfigInvalid."""
    text = read_text(path)
    if text is None:
        return False
    document, _ = parse_text(text.removeprefix("\ufeff"), path)
    models = splice.find_entry(document.root, "models") if document.root else None
    names = ("preset", "activePreset", "embed")
    entries = [splice.find_entry(models[1], name) for name in names] if models and models[1].kind == "mapping" else []
    return any(entry and not is_null(entry[1]) for entry in entries)


def _edit(path: Path, plan: _Plan) -> None:
    text = read_text(path)
    text = STARTER if text is None else text
    body = text.removeprefix("\ufeff")
    document, loaded = parse_text(body, path)
    try:
        splices, intended = plan(document, loaded.config)
        changed = splice.apply(body, splices)
        result = _validated(changed, path)
    except splice.UneditableError:
        result = None
    if result is None or result != intended:
        report = FaultReport(path)
        reason = "is laid out in a way that this command cannot follow (aliases or merges?); please edit it by hand"
        report.fault(None, "", reason)
        report.raise_faults()
    storage.write(path, text[: len(text) - len(body)] + changed)


def _validated(text: str, path: Path) -> Config:
    try:
        return parse_text(text, path)[1].config
    except ConfigInvalid as error:
        message = f"{path.name} was not changed, because it would not be valid afterwards:\n{error.message}"
        raise ConfigInvalid(message, error.details) from None


def _check_free(config: Config, name: str) -> None:
    if config.is_attached(name) or any(collection.name == name for collection in config.collections):
        raise CollectionExists(f"there is already a collection {name!r}", {"name": name})


def _no_context(config: Config, scope: str, text: str | None) -> ContextNotFound:
    known = list(dict.fromkeys(context.scope for context in config.contexts))
    missing = "context" if text is None else f"context {normalise(text)!r}"
    hint = f"scopes with a context: {', '.join(known)}" if known else "there are none yet"
    return ContextNotFound(f"the scope {scope!r} has no {missing}; {hint}", {"scope": scope, "known": known})


def _contexts_of(config: Config, name: str) -> list[int]:
    return [i for i, context in enumerate(config.contexts) if parse_scope(context.scope)[0] == name]


def _without(items: tuple[T, ...], indexes: list[int]) -> tuple[T, ...]:
    return tuple(item for index, item in enumerate(items) if index not in indexes)


def _replaced(items: tuple[T, ...], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _as_loaded(collection: CollectionConfig, path: Path) -> CollectionConfig:
    """Return the collection as it will be after reading the file; an invalid value stays unchanged."""
    folder = collection.path
    with suppress(ValueError):
        folder = resolve_path(collection.path, path.parent.absolute())
    include = dict.fromkeys(normalise_extension(written) or written for written in collection.include)
    models = {ROLE_ALIASES.get(role, role): uri for role, uri in collection.models.items()}
    return replace(collection, path=folder, include=tuple(include), models=models)


def _settings(collection: CollectionConfig) -> splice.Settings:
    defaults = asdict(CollectionConfig(name="", path=""))
    return {key: value for key, value in asdict(collection).items() if value != defaults[key]}


def _setting(document: YamlDocument, section: str, index: int, *keys: str) -> YamlNode:
    """Return the value of an item's setting, under whichever of `keys` the user wrote."""
    items = entry[1] if document.root and (entry := splice.find_entry(document.root, section)) else None
    if items is None or items.kind != "sequence":
        raise splice.UneditableError
    for key in keys:
        if entry := splice.find_entry(items.children[index].target, key):
            return entry[1]
    raise splice.UneditableError


def _renamed(scope: str, old: str, new: str) -> str:
    start = len(SCHEME) if scope.startswith(SCHEME) else 0
    return scope[:start] + new + scope[start + len(old) :]
