"""The listeners of an event. Must not depend on publishers or listeners."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Signal(Generic[P]):
    """Calls its listeners in the order in which they were connected, in the thread of `emit`.

    >>> changed: Signal[[str]] = Signal()
    >>> changed.connect(print)
    >>> changed.emit("notes")
    notes
    """

    def __init__(self) -> None:
        self._listeners: list[Callable[P, object]] = []

    def connect(self, listener: Callable[P, object]) -> None:
        self._listeners.append(listener)

    def disconnect(self, listener: Callable[P, object]) -> None:
        self._listeners.remove(listener)

    def emit(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for listener in list(self._listeners):
            listener(*args, **kwargs)
