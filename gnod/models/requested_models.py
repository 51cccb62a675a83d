"""Which models a config asks for: a collection's own, the config's, or those of its preset. Must not depend on
files."""

from __future__ import annotations

from typing import NamedTuple

from gnod.config.model import NO_MODEL, Config
from gnod.models import uris
from gnod.presets import MODEL_ROLES, ModelRole, models_of


class Use(NamedTuple):
    """One model that the configuration asks for. `collection`: that has its own model; None: all others."""

    uri: str
    role: ModelRole
    collection: str | None = None


def uri_for(config: Config, role: str, collection: str | None = None) -> str | None:
    """Return the address of the model for `role`: the collection's own, else that of the configuration, else of the
    preset. None: no model."""
    for known in config.collections:
        if known.name == collection and role in known.models:
            return str(uris.parse(known.models[role]))
    own: str | None = getattr(config.models, role)
    if own is None:
        return models_of(config.models.preset)[role]
    return None if own == NO_MODEL else str(uris.parse(own))


def uses(config: Config) -> list[Use]:
    """Return every model that the configuration asks for: for all in the order of the roles, then the collections'."""
    shared = [Use(uri, role) for role in MODEL_ROLES if (uri := uri_for(config, role))]
    own = [(known, role) for known in config.collections for role in MODEL_ROLES if role in known.models]
    return shared + [Use(str(uris.parse(known.models[role])), role, known.name) for known, role in own]
