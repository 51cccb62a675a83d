"""One function a method: parameters in, result out. The only place that knows both the wire's types and ours."""

from __future__ import annotations

from collections.abc import Mapping

from gnod.server.dispatcher import Handler
from gnod.server.handlers import (
    answers,
    backup,
    collection,
    context,
    daemon,
    doctor,
    document,
    embedding,
    hybrid,
    index,
    memory,
    models,
    search,
    semantic,
    subscribe,
)
from gnod.server.index import Index


def all_handlers(served: Index) -> Mapping[str, Handler]:
    """Return the handlers of every method but `rpc.discover`, which the dispatcher answers."""
    modules = (
        *(answers, backup, collection, context, daemon, doctor, document),
        *(embedding, hybrid, index, memory, models, search, semantic, subscribe),
    )
    return {name: handler for module in modules for name, handler in module.handlers(served).items()}
