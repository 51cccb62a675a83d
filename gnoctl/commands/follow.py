"""`gnoctl follow`: changes of the index, as they happen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from gnoctl.arguments.options import option
from gnoctl.arguments.plain_search_options import split_commas
from gnoctl.arguments.shared_options import Collections
from gnoctl.command import JsonOptions, command
from gnoctl.printing import text
from gnoctl.printing.output import json_text
from gnoctl.printing.terminal import DIM, GREEN, RED, YELLOW, Terminal
from gnoctl.printing.wording import count, missed_by
from gnod.client.blocking import Subscription
from gnod.errors import Unavailable
from gnod.protocol.base import Freshness
from gnod.protocol.index import EmbeddingStatus
from gnod.protocol.subscription import IndexChanged, IndexSubscribeParams, IndexSubscribeResult


class FollowOptions(JsonOptions, frozen=True, kw_only=True):
    since: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        option("--since", "Begin with the changes after this clock; 0: with all documents", "CLOCK"),
    ] = None
    collections: Collections = []


@command("follow", FollowOptions)
def follow(options: FollowOptions) -> None:
    """Print each change of the index, one line per file, until Ctrl-C.

    At the end it prints the clock from which the next run continues, so no change is lost in between. With --json, the
    first line is the present state; each later line contains changes and the clock after them. The state of the
    daemon's work goes to standard error.

    Examples:
      gnoctl follow -c notes
      gnoctl follow --since 0 --json
    """
    params = IndexSubscribeParams(since=options.since, collections=split_commas(options.collections))
    with options.connect() as daemon:
        changes = Subscription(daemon, params)
        try:
            _show_state(changes.begun, options)
            for changed in changes:
                _show(changed, options)
        except KeyboardInterrupt:
            if not options.json:
                options.note(f"`gnoctl follow --since {changes.clock}` continues from here")
            raise
        except Unavailable as error:
            again = f"`gnoctl follow --since {changes.clock}` continues from here"
            raise Unavailable(f"the daemon closed the connection: {again}", error.details) from None


def _show_state(subscribed: IndexSubscribeResult, options: FollowOptions) -> None:
    if options.json:
        print(json_text(subscribed), flush=True)
        return
    if subscribed.reset and options.since:
        options.note(f"the changes since clock {options.since} are no longer recorded: all documents follow")
    documents = sum(collection.documents for collection in subscribed.state.collections)
    names = ", ".join(collection.name for collection in subscribed.state.collections) or "no collection yet"
    options.note(f"following {names} ({count(documents, 'document')}); Ctrl-C stops")


def _show(changed: IndexChanged, options: FollowOptions) -> None:
    if options.json:
        print(json_text(changed), flush=True)
        return
    if changed.reset:
        options.note("some changes were missed: all documents follow again")
    for line in _lines(changed, options.terminal):
        print(line, flush=True)
    if not (changed.removed or changed.indexed or changed.failed):
        for line in _work(changed.freshness, changed.embedding):
            options.note(text.line(line))


def _lines(changed: IndexChanged, terminal: Terminal) -> Iterator[str]:
    for path in changed.removed:
        yield f"{terminal.paint('removed', YELLOW)}  {text.line(path.uri)}"
    for document in changed.indexed:
        title = terminal.line(document.title, DIM)
        yield f"{terminal.paint('indexed', GREEN)}  {text.line(document.uri)}  {title}"
    for failure in changed.failed:
        reason = text.line(f"{failure.kind}: {failure.message}")
        yield f"{terminal.paint('failed', RED)}   {text.line(failure.uri)}  {reason}"


def _work(state: Freshness, embedding: EmbeddingStatus) -> Iterator[str]:
    """Yield what the daemon still has to do."""
    if missed := missed_by(state):
        yield missed
    if embedding.state == "embedding":
        yield f"embedding: {count(embedding.pending, 'chunk')} left"
    elif embedding.reason:
        yield f"embedding is {embedding.state}: {embedding.reason}"
