"""`gnoctl context …`: what scopes are about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from gnoctl import text
from gnoctl.command import JsonOptions, command
from gnoctl.failures import note
from gnoctl.options import argument
from gnoctl.wording import count
from gnod.protocol.base import NoParams
from gnod.protocol.collections import (
    ContextAddParams,
    ContextAddResult,
    ContextListResult,
    ContextRemoveParams,
    ContextRemoveResult,
)


class AddOptions(JsonOptions, frozen=True, kw_only=True):
    scope: Annotated[str, argument("SCOPE", help="/ for everything, collection:, or gno://collection/prefix")]
    words: Annotated[list[str], argument("TEXT", help="What it is about")]


@command("context add", AddOptions)
def add(options: AddOptions) -> None:
    """Describe what a folder is about; the text accompanies every result from it.

    Examples:
      gnoctl context add / 'My notes since 2019'
      gnoctl context add work: 'Documentation of the payment team'
      gnoctl context add gno://work/adr 'Decisions; newer ones replace older ones'
    """
    params = ContextAddParams(scope=options.scope, text=" ".join(options.words))
    result = options.call("context.add", params, ContextAddResult)
    options.show(result, text.line(f"{result.context.scope}  {result.context.text}"))


@command("context list", JsonOptions)
def list_contexts(options: JsonOptions) -> None:
    """List the contexts."""
    result = options.call("context.list", NoParams(), ContextListResult)
    options.show(result, _contexts(result))


def _contexts(result: ContextListResult) -> Iterator[str]:
    if not result.contexts:
        note("No contexts yet: run `gnoctl context add SCOPE TEXT`")
    width = max((text.cells(each.scope) for each in result.contexts), default=0)
    for each in result.contexts:
        yield f"{text.pad(text.line(each.scope), width)}  {text.line(each.text)}"


class RemoveOptions(JsonOptions, frozen=True, kw_only=True):
    scope: Annotated[str, argument("SCOPE", help="The scope, as it was added")]
    words: Annotated[list[str], argument("TEXT", help="Remove only the context with this text")] = []


@command("context rm", RemoveOptions)
def remove(options: RemoveOptions) -> None:
    """Remove the contexts of a scope, or the one with the given text."""
    params = ContextRemoveParams(scope=options.scope, text=" ".join(options.words) or None)
    result = options.call("context.remove", params, ContextRemoveResult)
    options.show(result, f"removed {count(len(result.removed), 'context')}")
