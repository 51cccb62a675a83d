"""Choose the modes and models to measure from the options, the config and the installed models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gnod.config.model import Config
from gnod.config.model_uris import endpoint_of
from gnod.errors import UsageError
from gnod.models.files import ModelFiles

KEYWORD, VECTOR, HYBRID = "keyword", "vector", "hybrid"
# The roles of the models that each mode uses. Without an embedding model, only `keyword` can run.
MODES: Mapping[str, Sequence[str]] = {KEYWORD: (), VECTOR: ("embed",), HYBRID: ("embed", "expand", "rerank")}

# The option of each role's model.
_OPTIONS = {"embed": "--model", "expand": "--expand", "rerank": "--rerank"}
_TASKS = {"embed": "embedding", "expand": "query expansion", "rerank": "reranking"}


class ModelsForModes(NamedTuple):
    """`models`: the addresses of the used models, by role. `notes`: messages about models that are left out."""

    modes: list[str]
    models: dict[str, str]
    notes: list[str]


def choose(named: Sequence[str], given: Mapping[str, str | None], config: Config, files: ModelFiles) -> ModelsForModes:
    """Return the modes and models to run. `named`: modes that the user named; if empty, all modes that have models.
    `given`: addresses by role that override the config; loading checks whether they are installed.

    Raises UsageError if a named mode is impossible.
    """
    modes = list(dict.fromkeys(named or MODES))
    needs_vectors = any("embed" in MODES[mode] for mode in named)
    models: dict[str, str] = {}
    absent: dict[str, str | None] = {}
    for role in _OPTIONS:
        uri = given[role] or config.model_for(role)
        is_required = bool(given[role]) or (role == "embed" and needs_vectors)
        if uri and (is_required or endpoint_of(uri) or files.find(uri)):
            models[role] = uri
        else:
            absent[role] = uri
    if "embed" in absent:
        if needs_vectors:
            raise UsageError(_reason("embed", None))
        return ModelsForModes([KEYWORD], {}, [] if named else [f"only keyword: {_reason('embed', absent['embed'])}"])
    used = {role for mode in modes for role in MODES[mode]}
    # A role for which the preset has no model is not worth a note.
    notes = [f"without {_TASKS[role]}: {_reason(role, uri)}" for role, uri in absent.items() if uri and role in used]
    return ModelsForModes(modes, {role: uri for role, uri in models.items() if role in used}, notes)


def _reason(role: str, uri: str | None) -> str:
    if uri:
        return f"the model {uri} is not installed: run `gnoctl models pull {role}`"
    return f"no model for {_TASKS[role]} is configured: name one with {_OPTIONS[role]} URI"
