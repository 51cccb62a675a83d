"""How long the clients wait for a method, and whether they repeat it: what `gnod.protocol.methods` says of it."""

from __future__ import annotations

from gnod.client.connection import REPEAT_PAUSES_S, OnProgress
from gnod.protocol.base import ProgressValue
from gnod.protocol.methods import LONG_S, METHODS, SHORT_S


def pauses_s(method: str) -> tuple[float, ...]:
    """Return the pauses before a call is repeated after its connection was lost; empty if it must not be repeated."""
    known = METHODS.get(method)
    return REPEAT_PAUSES_S if known is not None and known.is_repeatable else ()


def waiting(method: str, timeout_s: float | None, on_progress: OnProgress | None) -> tuple[float, OnProgress | None]:
    """Return the seconds to wait between two messages, and who gets the progress: what takes long must tell of it."""
    known = METHODS.get(method)
    limit_s = known.limit_s if known is not None else SHORT_S
    return timeout_s or limit_s, on_progress or (_ignore if limit_s == LONG_S else None)


def _ignore(_: ProgressValue) -> None:
    pass
