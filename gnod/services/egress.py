"""Which scope a request has, by the collections whose texts or queries it carries: the only place that decides it.

Whoever wants a model states for which collections, or that it is for memories; `ModelFactory.make` takes the scope that
follows, and no connection is opened beyond it (gnod/models/remote).
"""

from __future__ import annotations

from collections.abc import Sequence

from gnod.config.model import AttachedConfig, CollectionConfig
from gnod.egress import SCOPES, Egress, narrowest
from gnod.services.configuration import Configuration


class EgressPolicy:
    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def of_collections(self, names: Sequence[str]) -> Egress:
        """Return the scope of texts and queries of collections (all when empty): the narrowest of theirs."""
        config = self._configuration.current
        known: list[CollectionConfig | AttachedConfig] = [*config.collections, *config.attached]
        chosen = [
            Egress(each.egress, f"the collection {each.name}") for each in known if not names or each.name in names
        ]
        return narrowest(chosen) or Egress("local", "a collection that is not in index.yml")

    def of_memories(self) -> Egress:
        return Egress(self._configuration.current.memory.egress, "the memories")

    def widest(self) -> Egress:
        """Return the widest scope of all: within it, `doctor` tries a model with texts that say nothing of the user."""
        config = self._configuration.current
        scopes = [config.memory.egress, *(each.egress for each in config.collections)]
        return Egress(max(scopes, key=SCOPES.index), "every collection and of the memories")
