"""Edits the config file and keeps the user's comments, order, quoting and unknown keys.

Every edit reads and validates the file, changes as few characters as possible, validates the result and compares it
with the intended config. Only then does it replace the file. All functions raise ConfigInvalid, and leave the file
unchanged, if it is invalid now or cannot be changed as intended. They raise StorageFailed if it cannot be written. A
missing file is treated as the starter file. The caller must serialise edits: of two simultaneous edits, one would be
lost.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec.structs import asdict, replace

from gnod.config import model_uris, splice, storage
from gnod.config.document import YamlDocument, is_null
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
    settings_of,
)
from gnod.config.schema import ROLE_ALIASES, normalise_extension
from gnod.errors import (
    CollectionExists,
    CollectionNotFound,
    ConfigInvalid,
    ContextExists,
    ContextNotFound,
    InvalidModelUri,
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

_Item = CollectionConfig | AttachedConfig | ContextConfig | SearchConfig
_Change = Callable[[Config], Config]
_Splices = Callable[[YamlDocument, Config, Config], list[splice.Splice]]


def create(path: Path) -> bool:
    """Write a commented starter file if there is none; return whether it was written."""
    return storage.create(path, STARTER)


def add_collection(path: Path, collection: CollectionConfig) -> None:
    """Add a collection, written without its defaults. Raises CollectionExists and InvalidName."""
    check_collection_name(collection.name)

    def change(config: Config) -> Config:
        _check_free(config, collection.name)
        return replace(config, collections=(*config.collections, _as_loaded(collection)))

    _edit(path, change)


def remove_collection(path: Path, name: str) -> None:
    """Remove a collection and the contexts below it. Raises CollectionNotFound."""

    def change(config: Config) -> Config:
        removed = config.collection(name)
        return replace(
            config,
            collections=tuple(other for other in config.collections if other != removed),
            contexts=_contexts_outside(config, name),
        )

    _edit(path, change)


def rename_collection(path: Path, old: str, new: str) -> None:
    """Rename a collection, also in the scopes of its contexts. Raises CollectionNotFound, CollectionExists (even for
    its own name) and InvalidName."""
    check_collection_name(new)

    def change(config: Config) -> Config:
        renamed = config.collection(old)
        _check_free(config, new)
        contexts = tuple(
            replace(context, scope=_renamed(context.scope, old, new))
            if parse_scope(context.scope)[0] == old
            else context
            for context in config.contexts
        )
        collections = _replaced(config.collections, renamed, replace(renamed, name=new))
        return replace(config, collections=collections, contexts=contexts)

    _edit(path, change)


def attach(path: Path, attached: AttachedConfig) -> None:
    """Add a collection that another daemon publishes. Raises CollectionExists and InvalidName."""
    check_collection_name(attached.name)

    def change(config: Config) -> Config:
        _check_free(config, attached.name)
        return replace(config, attached=(*config.attached, attached))

    _edit(path, change)


def detach(path: Path, name: str) -> None:
    """Remove an attached collection and the contexts below it. Raises CollectionNotFound."""

    def change(config: Config) -> Config:
        names = [collection.name for collection in config.attached]
        if name not in names:
            hint = did_you_mean(name, names) or "; `gnoctl collection list` shows the attached ones"
            raise CollectionNotFound(f"no collection {name!r} is attached{hint}", {"name": name, "known": names})
        attached = tuple(collection for collection in config.attached if collection.name != name)
        return replace(config, attached=attached, contexts=_contexts_outside(config, name))

    _edit(path, change)


def publish(path: Path, name: str, address: str | None) -> None:
    """Set the address at which a collection is published; None: not published. Raises CollectionNotFound."""

    def change(config: Config) -> Config:
        before = config.collection(name)
        return replace(config, collections=_replaced(config.collections, before, replace(before, publish=address)))

    _edit(path, change)


def add_context(path: Path, context: ContextConfig) -> None:
    """Add a context. Raises InvalidReference (for its scope), CollectionNotFound and ContextExists."""
    added = ContextConfig(scope=normalise(context.scope), text=normalise(context.text))
    scope = parse_scope(added.scope)

    def change(config: Config) -> Config:
        if scope[0] is not None and not config.is_attached(scope[0]):
            config.collection(scope[0])
        if any((parse_scope(other.scope), other.text) == (scope, added.text) for other in config.contexts):
            raise ContextExists(f"the scope {added.scope!r} already has this context", asdict(added))
        return replace(config, contexts=(*config.contexts, added))

    _edit(path, change)


def remove_context(path: Path, scope: str, text: str | None = None) -> list[ContextConfig]:
    """Remove the contexts of exactly this scope, or only the one with this text; return the removed ones.

    Raises InvalidReference (for the scope) and ContextNotFound.
    """
    parsed = parse_scope(scope)

    def change(config: Config) -> Config:
        kept = tuple(
            context
            for context in config.contexts
            if parse_scope(context.scope) != parsed or (text is not None and context.text != normalise(text))
        )
        if kept == config.contexts:
            raise _no_context(config, normalise(scope), text)
        return replace(config, contexts=kept)

    before, after = _edit(path, change)
    return [context for context in before.contexts if context not in after.contexts]


def save_search(path: Path, search: SearchConfig) -> None:
    """Save a search under its name. It replaces a search with the same name."""

    def change(config: Config) -> Config:
        old = next((saved for saved in config.searches if saved.name == search.name), None)
        return replace(config, searches=_replaced(config.searches, old, search) if old else (*config.searches, search))

    _edit(path, change)


def remove_search(path: Path, name: str) -> SearchConfig:
    """Remove a saved search, and return it. Raises SearchNotFound."""

    def change(config: Config) -> Config:
        names = [search.name for search in config.searches]
        if name not in names:
            hint = did_you_mean(name, names) or "; `gnoctl saved list` shows them"
            raise SearchNotFound(f"there is no saved search {name!r}{hint}", {"name": name, "known": names})
        return replace(config, searches=tuple(search for search in config.searches if search.name != name))

    before, _ = _edit(path, change)
    return next(search for search in before.searches if search.name == name)


def use_preset(path: Path, preset: str) -> None:
    """Set the preset of models; `preset` is one of PRESETS, or NO_PRESET."""

    def splices(document: YamlDocument, _: Config, __: Config) -> list[splice.Splice]:
        # Write even the default, so that the file names a preset.
        return splice.set_string(document, "models", ["preset", "activePreset"], preset)

    _edit(path, lambda config: replace(config, models=replace(config.models, preset=preset)), splices)


def names_preset(path: Path) -> bool:
    """Return whether the file itself chooses models: a preset, or an embedding model. Raises ConfigInvalid."""
    text = read_text(path)
    if text is None:
        return False
    document, _ = parse_text(text.removeprefix("\ufeff"), path)
    models = splice.find_entry(document.root, "models") if document.root else None
    names = ("preset", "activePreset", "embed")
    entries = [splice.find_entry(models[1], name) for name in names] if models and models[1].kind == "mapping" else []
    return any(entry and not is_null(entry[1]) for entry in entries)


def _edit(path: Path, change: _Change, splices_of: _Splices | None = None) -> tuple[Config, Config]:
    """Change the file so that it has the meaning that `change` returns; return the config before and after."""
    text = read_text(path)
    text = STARTER if text is None else text
    body = text.removeprefix("\ufeff")
    document, loaded = parse_text(body, path)
    intended = change(loaded.config)
    try:
        changed = splice.apply(body, (splices_of or _difference)(document, loaded.config, intended))
        result = _validated(changed, path)
    except splice.UneditableError:
        result = None
    if result is None or result != intended:
        report = FaultReport(path)
        reason = "has a layout that this command cannot edit (aliases or merges?): edit it by hand"
        report.fault(None, "", reason)
        report.raise_faults()
    storage.write(path, text[: len(text) - len(body)] + changed)
    return loaded.config, intended


def _difference(document: YamlDocument, before: Config, after: Config) -> list[splice.Splice]:
    """Return the splices for the lists that differ: items were appended, removed, or changed in place."""
    splices: list[splice.Splice] = []
    for section in ("collections", "attached", "contexts", "searches"):
        old: tuple[_Item, ...] = getattr(before, section)
        new: tuple[_Item, ...] = getattr(after, section)
        if len(new) > len(old):
            splices += splice.append_item(document, section, _written(new[-1]))
        elif len(new) < len(old):
            gone = [index for index, item in enumerate(old) if item not in new]
            splices += splice.remove_items(document, section, gone)
        else:
            for index, (item, changed) in enumerate(zip(old, new, strict=True)):
                splices += _settings_changed(document, section, index, item, changed)
    return splices


def _settings_changed(
    document: YamlDocument, section: str, index: int, before: _Item, after: _Item
) -> list[splice.Splice]:
    return [
        change
        for setting in settings_of(type(before))
        if (value := getattr(after, setting.name)) != getattr(before, setting.name)
        for change in splice.set_in_item(document, section, index, [setting.name, *filter(None, [setting.gno])], value)
    ]


def _written(item: _Item) -> splice.Settings:
    values = ((setting, getattr(item, setting.name)) for setting in settings_of(type(item)))
    return {setting.name: value for setting, value in values if value != setting.default}


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


def _contexts_outside(config: Config, name: str) -> tuple[ContextConfig, ...]:
    return tuple(context for context in config.contexts if parse_scope(context.scope)[0] != name)


def _replaced(items: tuple[T, ...], before: T, after: T) -> tuple[T, ...]:
    return tuple(after if item == before else item for item in items)


def _as_loaded(collection: CollectionConfig) -> CollectionConfig:
    """Return the collection as it will be after the file is read. An invalid value stays unchanged."""
    include = dict.fromkeys(normalise_extension(written) or written for written in collection.include)
    models = {ROLE_ALIASES.get(role, role): _canonical(uri) for role, uri in collection.models.items()}
    return replace(collection, include=tuple(include), models=models)


def _canonical(uri: str) -> str:
    try:
        return str(model_uris.parse(uri))
    except InvalidModelUri:
        return uri


def _renamed(scope: str, old: str, new: str) -> str:
    start = len(SCHEME) if scope.startswith(SCHEME) else 0
    return scope[:start] + new + scope[start + len(old) :]
