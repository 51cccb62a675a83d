"""The stages of a hybrid query as `explain` shows them."""

from __future__ import annotations

from collections.abc import Sequence

from gnod.pipeline.budget import Stage


def stages_of(stages: Sequence[Stage]) -> list[dict[str, object]]:
    """Return the stages in the order in which they ended. `why`: for what reason one did not run, or not whole."""
    return [
        {"stage": each.name, "ran": each.ran, "ms": each.ms, **({"why": each.why} if each.why else {}), **each.details}
        for each in stages
    ]
