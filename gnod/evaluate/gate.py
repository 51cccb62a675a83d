"""The gate of a measurement: whoever starts it names the models and how far the texts of the test collection may go."""

from __future__ import annotations

from gnod.egress import Egress, Purpose, Scope
from gnod.errors import EgressForbidden, StorageFailed
from gnod.store.tables.egress_journal import EgressJournal

OWNER = "(bench)"


class MeasurementGate:
    """`egress`: that of --egress. What is sent is recorded beside what the daemon sends."""

    def __init__(self, egress: Scope, journal: EgressJournal) -> None:
        self._egress = Egress(egress, "this measurement (--egress)")
        self._journal = journal

    def within(self, address: str, purpose: Purpose) -> Egress:  # noqa: ARG002  (the command line names the address)
        return self._egress

    def note(self, address: str, purpose: Purpose, *, requests: int, size: int) -> None:
        try:
            self._journal.note(address, purpose.role, [OWNER], requests=requests, size=size)
        except StorageFailed as error:
            raise EgressForbidden(f"nothing was sent to {address}: {error.message}") from error
