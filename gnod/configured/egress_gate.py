"""The gate for every byte to a model server or a shared collection. It decides according to the current content of
`index.yml`, and records what is sent.

Callers state what they send and who owns it (`Purpose`). The config at the start of their work does not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from gnod.config import shared_addresses as shared_address
from gnod.config.model import AttachedConfig, CollectionConfig, Config
from gnod.configured.configuration import Configuration
from gnod.egress import Egress, Purpose, Role, narrowest, widest
from gnod.errors import ConfigInvalid, EgressForbidden, InvalidAddress, StorageFailed
from gnod.store.tables.egress_journal import EgressJournal

MEMORIES = "memories"
MEMORY_ROLES: tuple[Role, ...] = ("embed", "rerank")
# The journal's names for these senders. Names of collections have no brackets.
OWNERS = {"memories": "(memories)", "check": "(checks)"}


class _Requested(NamedTuple):
    """The names in a running request. `egress`: the scope of a collection that is not in the config yet."""

    address: str
    role: Role
    name: str
    egress: Egress | None


class EgressPolicy:
    """The `Gate` of the daemon."""

    def __init__(self, configuration: Configuration, journal: EgressJournal) -> None:
        self.journal = journal
        self._configuration = configuration
        self._requested: list[_Requested] = []

    def of_collections(
        self, role: Role, names: Sequence[str], *, users: Sequence[str] = (), seen: Sequence[str] = ()
    ) -> Purpose:
        """Return the purpose of a request over collections; all of them if `names` is empty. `users`: see Purpose; by
        default, the only collection. `seen`: collections in the request's snapshot, which may be gone from the
        config."""
        if names:
            return Purpose(role, collections=tuple(names), users=tuple(users or (names if len(names) == 1 else ())))
        config = self._configuration.current
        known = {
            *(collection.name for collection in config.collections),
            *(collection.name for collection in config.attached),
            *seen,
        }
        return Purpose(role, collections=tuple(sorted(known)), users=tuple(users), is_all=True)

    def within(self, address: str, purpose: Purpose) -> Egress:
        """Return how far texts for this purpose may travel now. Raises EgressForbidden."""
        config = self._present(address)
        if purpose.owner == "check":
            return self._of_anybody(config, address, purpose)
        if purpose.owner == "memories":
            owners = {MEMORIES: Egress(config.memory.egress, "the memories")}
        else:
            owners = self._of_collections(config, address, purpose)
        if not self._names(config, address, purpose):
            raise _unnamed(address, purpose)
        return narrowest(owners.values()) or Egress("local", "no collection")

    def note(self, address: str, purpose: Purpose, *, requests: int, size: int) -> None:
        whose = (OWNERS[purpose.owner],) if purpose.owner in OWNERS else purpose.collections
        try:
            self.journal.note(address, purpose.role, whose, requests=requests, size=size)
        except StorageFailed as error:
            text = f"nothing was sent to {address}, because that could not be recorded: {error.message}"
            raise EgressForbidden(text, {"uri": address}) from error

    @contextmanager
    def requested(self, address: str, role: Role, name: str, egress: Egress | None = None) -> Iterator[None]:
        """Allow requests to a collection's server while a user's request names it, before the config does. `egress`:
        the scope of a collection that is not in the config yet."""
        named = _Requested(address, role, name, egress)
        self._requested.append(named)
        try:
            yield
        finally:
            self._requested.remove(named)

    def _present(self, address: str) -> Config:
        try:
            return self._configuration.present()
        except ConfigInvalid as error:
            text = f"index.yml has errors, so nothing was sent to {address}: correct it; `gnoctl status` shows them"
            raise EgressForbidden(text, {"uri": address}) from error

    def _of_collections(self, config: Config, address: str, purpose: Purpose) -> dict[str, Egress]:
        entries: list[CollectionConfig | AttachedConfig] = [*config.collections, *config.attached]
        known = {
            collection.name: Egress(collection.egress, f"the collection {collection.name}") for collection in entries
        }
        requested = {
            request.name: request.egress for request in self._requested if request.egress and request.address == address
        }
        known = requested | known
        if gone := [name for name in purpose.collections if name not in known]:
            text = f"{gone[0]} is no longer in index.yml: nothing was sent to {address}"
            raise EgressForbidden(text, {"uri": address})
        return known if purpose.is_all else {name: known[name] for name in purpose.collections}

    def _names(self, config: Config, address: str, purpose: Purpose) -> bool:
        """Return whether the config, or a request, names this address for this purpose."""
        requested = [request.name for request in self._requested if request[:2] == (address, purpose.role)]
        return all(
            _address(config, purpose.role, name) == address or name in requested for name in purpose.users or (None,)
        )

    def _of_anybody(self, config: Config, address: str, purpose: Purpose) -> Egress:
        """Return the widest scope of all users that name the address."""
        users = [(collection.name, collection.egress) for collection in config.collections]
        found = [
            Egress(egress, f"the collection {name}")
            for name, egress in users
            if _address(config, purpose.role, name) == address
        ]
        if purpose.role in MEMORY_ROLES and _address(config, purpose.role, None) == address:
            found.append(Egress(config.memory.egress, "the memories"))
        allowed = widest(found)
        if allowed is None:
            raise _unnamed(address, purpose)
        return allowed


def _address(config: Config, role: Role, name: str | None) -> str | None:
    """Return the address that the config names for a role. `name`: the collection; None: all."""
    if role == "search":
        return next((_written(attached.address) for attached in config.attached if attached.name == name), None)
    if role == "publish":
        return next(
            (_written(collection.publish, name) for collection in config.collections if collection.name == name), None
        )
    return config.model_for(role, name)


def _written(address: str | None, name: str | None = None) -> str | None:
    try:
        return str(shared_address.parse(address, name)) if address else None
    except InvalidAddress:
        return None


def _unnamed(address: str, purpose: Purpose) -> EgressForbidden:
    details: dict[str, object] = {"uri": address}
    if purpose.role in ("search", "publish"):
        does = "attach" if purpose.role == "search" else "publish"
        return EgressForbidden(
            f"index.yml does not {does} {', '.join(purpose.users)} at {address}: nothing was sent", details
        )
    whose = f" of {', '.join(purpose.users)}" if purpose.users else ""
    return EgressForbidden(
        f"index.yml does not name {address} as the model for `{purpose.role}`{whose}: nothing was sent; name it in"
        " index.yml, or choose other models with `gnoctl models use auto`",
        details,
    )
