"""Counters of the daemon: connections, and the calls of each method. Their memory does not grow with time."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from dataclasses import dataclass, field

# Percentiles are computed from this many of the last calls of each method.
_RECENT_CALLS = 256


@dataclass
class MethodCalls:
    """`failures`: the failed calls by kind of error. `recent_s`: the durations of the last calls, in order."""

    total_s: float = 0.0
    calls: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    recent_s: deque[float] = field(default_factory=lambda: deque(maxlen=_RECENT_CALLS))

    def percentile_s(self, part: float) -> float:
        """Return the time within which `part` of the recent calls ended (the nearest rank).

        >>> MethodCalls(recent_s=deque([0.3, 0.1, 0.2])).percentile_s(0.5)
        0.2
        """
        return sorted(self.recent_s)[max(0, math.ceil(part * len(self.recent_s)) - 1)]


@dataclass
class Stats:
    """`connections`: the open ones. `requests`: all received since the start, including notifications. `manager`: the
    service manager that runs this process, if any. `socket`: the path where clients connect now. `calls`: by method.
    `in_flight`: the method of each running call."""

    manager: str | None = None
    socket: str = ""
    connections: int = 0
    requests: int = 0
    calls: dict[str, MethodCalls] = field(default_factory=dict)
    in_flight: dict[object, str] = field(default_factory=dict)
    _started: float = field(default_factory=time.monotonic)

    @property
    def uptime_s(self) -> float:
        return time.monotonic() - self._started

    def note_call(self, method: str, took_s: float, failure: str | None) -> None:
        """Count a call that has ended. `method` must exist, because clients can send any number of other names."""
        known = self.calls.setdefault(method, MethodCalls())
        known.calls += 1
        known.total_s += took_s
        known.recent_s.append(took_s)
        if failure:
            known.failures[failure] += 1
