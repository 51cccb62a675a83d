"""Answers identical requests that are in flight at the same time once (single flight). Must not depend on the methods.

The second of two clients that ask the same thing would otherwise wait for a second search, which slows down the first.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from gnod.protocol.base import Params, ProgressParams, Result
from gnod.rpc.call import Call
from gnod.rpc.dispatcher import Handler

_ITSELF = 0  # stands for a progress token: a call needs one to report anything


class Flights:
    """Call `part` whenever an answer may change: requests that come later do not join those under way."""

    def __init__(self) -> None:
        self._states = itertools.count(1)
        self._state = 0
        self._flights: dict[tuple[object, ...], _Flight] = {}

    def part(self) -> None:
        """May be called in any thread."""
        self._state = next(self._states)

    def shared(self, handler: Handler, unless: Callable[[Any], bool] = lambda _: False) -> Handler:
        """Return a handler that joins requests with the same parameters; not those with parameters for which `unless`
        is true. All get the same result or error; a cancelled one leaves the others alone."""

        async def answer(params: Params, call: Call) -> Result | msgspec.Raw:
            if unless(params):
                return await handler(params, call)
            key = (handler, self._state, msgspec.json.encode(msgspec.structs.replace(params, progress_token=None)))
            flight = self._flights.get(key)
            if flight is None or flight.is_over:
                flight = self._flights[key] = _Flight(lambda everyone: handler(params, everyone))
                flight.task.add_done_callback(lambda _: self._forget(key))
            return await flight.join(call)

        return answer

    def _forget(self, key: tuple[object, ...]) -> None:
        if key in self._flights and self._flights[key].is_over:
            del self._flights[key]


class _Flight:
    """One piece of work, and the calls that wait for it."""

    def __init__(self, work: Callable[[Call], Awaitable[Result | msgspec.Raw]]) -> None:
        self._calls: list[Call] = []
        self._is_abandoned = False
        self.task = asyncio.create_task(self._run(work))

    @property
    def is_over(self) -> bool:
        return self._is_abandoned or self.task.done()

    async def join(self, call: Call) -> Result | msgspec.Raw:
        self._calls.append(call)
        try:
            return await asyncio.shield(self.task)
        finally:
            self._calls.remove(call)
            if not self._calls:
                self._is_abandoned = True
                self.task.cancel()

    async def _run(self, work: Callable[[Call], Awaitable[Result | msgspec.Raw]]) -> Result | msgspec.Raw:
        everyone = Call(self._tell)
        everyone.progress_token = _ITSELF
        try:
            return await work(everyone)
        finally:
            everyone.finish()

    def _tell(self, progress: ProgressParams) -> bool:
        for call in self._calls:
            call.progress(progress.value)
        return True
