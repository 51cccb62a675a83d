"""How long a model server may take, and how much it may send. Imports no HTTP library."""

from __future__ import annotations

from typing import NamedTuple


class RequestLimits(NamedTuple):
    """Seconds: to connect, and for the whole answer when somebody waits for it, or does not. `silent_s`: between two
    parts of a streamed answer. `wait_s`: before the second attempt. `patience_s`: what a
    server may take before it counts as one that does not answer. `answer_bytes`: of one answer."""

    connect_s: float = 5.0
    interactive_s: float = 30.0
    background_s: float = 180.0
    silent_s: float = 120.0
    wait_s: float = 0.25
    patience_s: float = 1.0
    answer_bytes: int = 64 * 1024 * 1024
