"""Wait in a coroutine for changes without an event: in another process, a thread, or the other side of a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_POLL_S = 0.01


async def until(condition: Callable[[], object], timeout_s: float = 60.0) -> None:
    """Wait until the condition is true. Raises TimeoutError."""
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)
