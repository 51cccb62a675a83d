"""Decide whether a question was answered. Pure; the only place that does."""

from __future__ import annotations

from typing import Literal, NamedTuple

from gnod.answers.citations import CheckedAnswer

# The smallest model that is called by default, in parameters. Models of 0.13 and 0.27 billion were measured, and are
# far worse than the first quote. Larger ones were not available, so this value is an assumption
# (docs/adr/0032-generated-answers.md; `benchmarks/generated.py` revises it).
MIN_PARAMETERS = 1_000_000_000

NotCalled = Literal["no_model", "model_too_small", "not_wanted"]
Reason = Literal[
    "not_found", "no_model", "model_too_small", "not_wanted", "no_sources", "model_declined", "unsupported"
]


class Verdict(NamedTuple):
    """`reason`: not_found, or why the quotes are the whole answer; None if there is a generated text."""

    answered: bool
    reason: Reason | None


def is_capable(parameters: int | None) -> bool:
    """Tell whether a model is called by default. None: a server runs it, and the user chose that server.

    Names of models are rounded, so the size is rounded as well: a "1B" model may have 999,885,952 parameters.
    """
    return parameters is None or round(parameters / 1e9, 2) * 1e9 >= MIN_PARAMETERS


def too_small(name: str, parameters: int) -> str:
    """Return why a model is not called, and what to do.

    >>> too_small("gemma3-270m", 268_098_176)[:76]
    'gemma3-270m has 0.27 billion parameters; only models with at least 1 billion'
    """
    return (
        f"{name} has {parameters / 1e9:.2f} billion parameters; only models with at least "
        f"{MIN_PARAMETERS / 1e9:g} billion write answers: use --generate to call it anyway"
    )


def decide(not_called: NotCalled | None, sources: int, checked: CheckedAnswer | None, *, quoted: bool) -> Verdict:
    """Return whether the question is answered: by a generated text of which a source supports a part, or by quotes with
    enough confidence (`quoted`). `not_called`: why no model was called. `sources`: how many it could read."""
    if checked is not None and checked.reason is None:
        return Verdict(True, None)
    if not quoted:
        return Verdict(False, "not_found")
    if not_called is not None:
        return Verdict(True, not_called)
    return Verdict(True, checked.reason if sources and checked and checked.reason else "no_sources")
