"""What the functions of the store are given: a connection, or a way to read. Opens nothing, and has no table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import apsw

T = TypeVar("T")
Connection = apsw.Connection


class Read(Protocol):
    """Runs work on a reader thread, for coroutines."""

    def __call__(self, work: Callable[[Connection], T], /) -> Awaitable[T]: ...
