"""`context.*`: the user's descriptions of scopes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from gnod.config import edit
from gnod.config.model import ContextConfig
from gnod.protocol.base import NoParams
from gnod.protocol.collections import (
    ContextAddParams,
    ContextAddResult,
    ContextInfo,
    ContextListResult,
    ContextRemoveParams,
    ContextRemoveResult,
)
from gnod.rpc.dispatcher import Call, Handler
from gnod.services.configuration import Configuration


def handlers(configuration: Configuration) -> Mapping[str, Handler]:
    async def context_add(params: ContextAddParams, _: Call) -> ContextAddResult:
        context = ContextConfig(scope=params.scope, text=params.text)
        await configuration.edit(partial(edit.add_context, context=context))
        return ContextAddResult(context=_info(context))

    async def context_list(_: NoParams, __: Call) -> ContextListResult:
        return ContextListResult(contexts=[_info(context) for context in configuration.current.contexts])

    async def context_remove(params: ContextRemoveParams, _: Call) -> ContextRemoveResult:
        removed = await configuration.edit(partial(edit.remove_context, scope=params.scope, text=params.text))
        return ContextRemoveResult(removed=[_info(context) for context in removed])

    return {"context.add": context_add, "context.list": context_list, "context.remove": context_remove}


def _info(context: ContextConfig) -> ContextInfo:
    return ContextInfo(scope=context.scope, text=context.text)
