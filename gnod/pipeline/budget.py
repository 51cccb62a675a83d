"""The time that a query may spend on models, and what became of each of its stages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import NamedTuple, TypeVar

from gnod.errors import GnoError, RequestCancelled, ShuttingDown

T = TypeVar("T")

# What the other stages and the answer itself take.
MARGIN_S = 0.05


class Stage(NamedTuple):
    """`why` it did not run, or not whole."""

    name: str
    ran: bool
    ms: float
    why: str | None
    details: dict[str, object]


class Skipped(Exception):
    """A stage is left out, for this reason."""


class Budget:
    """`stages`: in the order in which they ended."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.stages: list[Stage] = []
        self._deadline = time.monotonic() + limit_s

    def left_s(self) -> float:
        return self._deadline - time.monotonic() - MARGIN_S

    def note(
        self, name: str, started: float, details: dict[str, object], *, why: str | None = None, ran: bool = True
    ) -> None:
        """Remember what became of a stage that began at `started`, a reading of `time.monotonic`."""
        self.stages.append(Stage(name, ran, round((time.monotonic() - started) * 1000, 3), why, details))

    async def within(self, who: str, work: Awaitable[T], limit_s: float | None = None) -> T:
        """Wait for a model: until the limit, or as long as there is time. Raises Skipped with the reason."""
        try:
            async with asyncio.timeout(max(self.left_s(), 0.0) if limit_s is None else limit_s):
                return await work
        except TimeoutError:
            raise Skipped(f"{who} did not answer within the time budget; it may still be loading") from None
        except (ShuttingDown, RequestCancelled):
            raise
        except GnoError as error:
            raise Skipped(error.message) from None
