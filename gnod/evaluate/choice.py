"""Which modes a measurement runs and with which models: what was asked for, as far as the models are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gnod.config.model import Config
from gnod.errors import UsageError
from gnod.evaluate.hybrid import VARIANTS
from gnod.evaluate.retrievers import DEFAULT_MODES, MODES
from gnod.models.files import ModelFiles
from gnod.models.presets import uri_for

# The option of each role's model.
_OPTIONS = {"embed": "--model", "expand": "--expand", "rerank": "--rerank"}
_DOES = {"embed": "embeds", "expand": "expands queries", "rerank": "reranks"}


class Choice(NamedTuple):
    """`models`: address by role, of those that some mode uses. `notes`: what is not as one might think, for people."""

    modes: list[str]
    models: dict[str, str]
    notes: list[str]


def choose(
    named: Sequence[str], given: Mapping[str, str | None], config: Config, files: ModelFiles, *, ablation: bool
) -> Choice:
    """Return what is to be run. `named`: the modes asked for by name, which must be possible; the others are left out
    where a model is missing. `given`: addresses by role, instead of the config's.

    Raises UsageError. Whether a model that was given is here is for whoever loads it.
    """
    modes = list(
        dict.fromkeys([*named, *(VARIANTS if ablation else ()), *(() if named or ablation else DEFAULT_MODES)])
    )
    models: dict[str, str] = {}
    absent: dict[str, str] = {}
    for role in _OPTIONS:
        uri = given[role] or uri_for(config, role)
        insists = bool(given[role]) or (role == "embed" and any(role in MODES[mode].needs for mode in named))
        if uri and (insists or files.find(uri)):
            models[role] = uri
        else:
            absent[role] = f"the model {uri} is not here (`gnoctl models pull {role}`)" if uri else _none(role)
    possible = [mode for mode in modes if absent.keys().isdisjoint(MODES[mode].needs)]
    notes = []
    for mode in modes:
        if mode in named and mode not in possible:
            [reason, *_] = [why for role, why in absent.items() if role in MODES[mode].needs]
            raise UsageError(f"the mode {mode} cannot be measured: {reason}")
    if "embed" in absent and len(possible) < len(modes):
        notes.append(f"only {', '.join(possible)}: {absent['embed']}" if possible else absent["embed"])
    elif "embed" in models:
        notes += _without(modes, possible, absent, is_ablation=ablation)
    if not possible:
        raise UsageError(f"nothing can be measured: {absent['embed']}")
    used = {role for mode in possible for role in MODES[mode].uses}
    return Choice(possible, {role: uri for role, uri in models.items() if role in used}, notes)


def _none(role: str) -> str:
    return f"there is no model that {_DOES[role]}; {_OPTIONS[role]} URI names one"


def _without(
    modes: Sequence[str], possible: Sequence[str], absent: Mapping[str, str], *, is_ablation: bool
) -> list[str]:
    """Say of each role without a model what is missing for it. That a preset has none is news in an ablation only."""
    notes = []
    for role, why in absent.items():
        missed = [mode for mode in modes if mode not in possible and role in MODES[mode].needs]
        if any(role in MODES[mode].uses for mode in modes) and (is_ablation or why != _none(role)):
            without = f", and without {', '.join(missed)}" if missed else ""
            notes.append(f"measured as if nothing {_DOES[role]}{without}: {why}")
    return notes
