"""Choose the modes and the models of a measurement from the options, the config and the installed models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gnod.config.model import Config
from gnod.errors import UsageError
from gnod.evaluate.modes import DEFAULT_MODES, MODES, VARIANTS
from gnod.models.files import ModelFiles
from gnod.models.requested_models import uri_for
from gnod.models.uris import endpoint_of

# The option of each role's model.
_OPTIONS = {"embed": "--model", "expand": "--expand", "rerank": "--rerank"}
_TASKS = {"embed": "embedding", "expand": "query expansion", "rerank": "reranking"}


class ModelsForModes(NamedTuple):
    """`models`: address by role, of the models that some mode uses. `notes`: messages about what is left out."""

    modes: list[str]
    models: dict[str, str]
    notes: list[str]


def choose(
    named: Sequence[str], given: Mapping[str, str | None], config: Config, files: ModelFiles, *, ablation: bool
) -> ModelsForModes:
    """Return what to run. `named`: modes that the user named; other modes are left out if a model is missing. `given`:
    addresses by role that override the config; whether these models are installed is checked when they are loaded.

    Raises UsageError if a named mode or every mode is impossible.
    """
    modes = list(
        dict.fromkeys([*named, *(VARIANTS if ablation else ()), *(() if named or ablation else DEFAULT_MODES)])
    )
    models: dict[str, str] = {}
    absent: dict[str, str] = {}
    for role in _OPTIONS:
        uri = given[role] or uri_for(config, role)
        is_required = bool(given[role]) or (role == "embed" and any(role in MODES[mode].needs for mode in named))
        if uri and (is_required or endpoint_of(uri) or files.find(uri)):
            models[role] = uri
        else:
            absent[role] = f"the model {uri} is not installed: run `gnoctl models pull {role}`" if uri else _none(role)
    possible = [mode for mode in modes if absent.keys().isdisjoint(MODES[mode].needs)]
    for mode in modes:
        if mode in named and mode not in possible:
            [reason, *_] = [reason for role, reason in absent.items() if role in MODES[mode].needs]
            raise UsageError(f"the mode {mode} cannot be measured: {reason}")
    if not possible:
        raise UsageError(f"no mode can be measured: {absent['embed']}")
    notes = []
    if "embed" in absent and len(possible) < len(modes):
        notes.append(f"only {', '.join(possible)}: {absent['embed']}")
    elif "embed" in models:
        notes = _notes(modes, possible, absent, is_ablation=ablation)
    used = {role for mode in possible for role in MODES[mode].uses}
    return ModelsForModes(possible, {role: uri for role, uri in models.items() if role in used}, notes)


def _none(role: str) -> str:
    return f"no model for {_TASKS[role]} is configured: name one with {_OPTIONS[role]} URI"


def _notes(modes: Sequence[str], possible: Sequence[str], absent: Mapping[str, str], *, is_ablation: bool) -> list[str]:
    """Return a note for each role without a model. A role that the preset leaves empty matters in an ablation only."""
    notes = []
    for role, reason in absent.items():
        missed = [mode for mode in modes if mode not in possible and role in MODES[mode].needs]
        if any(role in MODES[mode].uses for mode in modes) and (is_ablation or reason != _none(role)):
            without = f" and without {', '.join(missed)}" if missed else ""
            notes.append(f"measured without {_TASKS[role]}{without}: {reason}")
    return notes
