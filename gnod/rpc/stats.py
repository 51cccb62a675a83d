"""Counters of the daemon."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Stats:
    """`connections` are open now; `requests` were received since the start, notifications included. `manager`: the
    service manager that runs this process, if any. `socket`: the path where clients connect now."""

    manager: str | None = None
    socket: str = ""
    connections: int = 0
    requests: int = 0
    _started: float = field(default_factory=time.monotonic)

    @property
    def uptime_s(self) -> float:
        return time.monotonic() - self._started
