"""A gate for tests about other things: it lets everything within a scope through, and records it."""

from __future__ import annotations

from typing import NamedTuple

from gnod.egress import Egress, Purpose, Scope


class Noted(NamedTuple):
    address: str
    purpose: Purpose
    requests: int
    size: int


class OpenGate:
    """`scope` may be changed at any time."""

    def __init__(self, scope: Scope = "local", owner: str = "the collection notes") -> None:
        self.scope: Scope = scope
        self.noted: list[Noted] = []
        self._owner = owner

    def within(self, address: str, purpose: Purpose) -> Egress:  # noqa: ARG002
        return Egress(self.scope, self._owner)

    def note(self, address: str, purpose: Purpose, *, requests: int, size: int) -> None:
        self.noted.append(Noted(address, purpose, requests, size))
