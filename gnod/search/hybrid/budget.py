"""What a query may spend on models: its budget, the result of each stage, and how fast models are on this machine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Mapping
from typing import NamedTuple, TypeVar

from gnod.errors import EgressForbidden, EndpointChanged, EndpointFailed, GnoError, RequestCancelled, ShuttingDown

T = TypeVar("T")

# The time that the other stages and the reply take.
MARGIN_S = 0.05

# Do not read less of a document than this, and do not reorder fewer documents: it is not worth it.
MIN_CHARACTERS = 400
MIN_DOCUMENTS = 3
# The share of the time that is planned to be used. The rest is a reserve.
_PLANNED = 0.8
_LEARNING_RATE = 0.3
_RECOVERY = 1.1
# A query and a model's template add about this much to each document.
FRAME_CHARACTERS = 200

_MAX_SKIPPED = 64
_PLAINLY_MORE = 1.5


class Stage(NamedTuple):
    """`why` it did not run, or not to its end."""

    name: str
    ran: bool
    ms: float
    why: str | None
    details: dict[str, object]


def stage(name: str, started: float, details: Mapping[str, object]) -> Stage:
    """Return a stage that ran from `started`, a reading of `time.perf_counter`, until now."""
    return Stage(name, True, milliseconds_since(started), None, dict(details))


def milliseconds_since(started: float) -> float:
    """Return the time since `started`, a reading of `time.perf_counter`."""
    return round((time.perf_counter() - started) * 1000, 3)


class StageSkipped(Exception):
    """A stage is left out, for this reason."""


class TimeBudget:
    """`stages`: in the order in which they ended. `left_out`: why model servers were not asked, or failed."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.stages: list[Stage] = []
        self.left_out: list[str] = []
        self._deadline = time.monotonic() + limit_s

    def left_s(self) -> float:
        return self._deadline - time.monotonic() - MARGIN_S

    def note(
        self, name: str, started: float, details: dict[str, object], *, why: str | None = None, ran: bool = True
    ) -> None:
        """Record the result of a stage that began at `started`, a reading of `time.monotonic`."""
        self.stages.append(Stage(name, ran, round((time.monotonic() - started) * 1000, 3), why, details))

    async def within(self, model: str, work: Awaitable[T], limit_s: float | None = None) -> T:
        """Wait for a model until the limit, or as long as there is time. Raises Skipped with the reason."""
        try:
            async with asyncio.timeout(max(self.left_s(), 0.0) if limit_s is None else limit_s):
                return await work
        except TimeoutError:
            raise StageSkipped(f"{model} did not answer within the time budget; it may still be loading") from None
        except (ShuttingDown, RequestCancelled):
            raise
        except GnoError as error:
            if isinstance(error, EgressForbidden | EndpointFailed | EndpointChanged):
                self.left_out.append(error.message)
            raise StageSkipped(error.message) from None


class RerankPlan(NamedTuple):
    """How many documents are read, and the maximum number of characters of each."""

    documents: int
    characters: int


class ThroughputEstimate:
    """How many characters per second a reranker reads on this machine: measured when it is loaded, later learned from
    its work. `window_characters`: of query and document together."""

    def __init__(self) -> None:
        self.is_known = False
        self.characters_per_s = 0.0
        self.window_characters = 0

    def begin(self, characters_per_s: float, window_characters: int) -> None:
        """Take what was measured."""
        self.is_known = True
        self.characters_per_s = characters_per_s
        self.window_characters = window_characters

    def learn(self, characters: int, took_s: float) -> None:
        """`characters`: 0 when nothing was read in that time."""
        if took_s > 0:
            self.characters_per_s += _LEARNING_RATE * (characters / took_s - self.characters_per_s)

    def plan(self, documents: int, query: str, limit_s: float) -> RerankPlan | None:
        """Return what can be read in the time: shorter passages first, then fewer documents. None: too little."""
        enough = min(documents, MIN_DOCUMENTS)
        frame = len(query) + FRAME_CHARACTERS
        readable = self.characters_per_s * limit_s * _PLANNED
        room = self.window_characters - len(query)
        characters = min(room, int(readable / max(documents, 1)) - frame)
        if characters < MIN_CHARACTERS:
            characters = min(room, MIN_CHARACTERS)
            documents = min(documents, int(readable / (characters + frame)))
        if documents >= enough and characters > 0:
            return RerankPlan(documents, characters)
        # A reranker that reads nothing learns nothing: without this, one busy minute would stop reranking forever.
        self.characters_per_s *= _RECOVERY
        return None


class Backoff:
    """Skips a model that timed out for one query, then two, four, …: it would use up its share of the budget each time.
    A query that grants plainly more time is not refused."""

    def __init__(self) -> None:
        self._misses = 0
        self._skips = 0
        self._enough_s = 0.0

    def skips(self, limit_s: float) -> bool:
        """Tell whether this query does without the model. Counts the query."""
        if self._skips == 0 or limit_s >= self._enough_s:
            return False
        self._skips -= 1
        return True

    def learn(self, limit_s: float, *, in_time: bool) -> None:
        self._misses = 0 if in_time else self._misses + 1
        self._skips = min(2 ** (self._misses - 1), _MAX_SKIPPED) if self._misses else 0
        self._enough_s = 0.0 if in_time else _PLAINLY_MORE * limit_s
