"""`gnoctl follow`: what changes in the index, as it changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, field, structs

from gnoctl import freshness, text
from gnoctl.failures import note
from gnoctl.json_output import json_text
from gnoctl.options import Command, JsonOptions, option
from gnoctl.searching import Names, split_commas
from gnoctl.terminal import DIM, GREEN, RED, YELLOW, Terminal
from gnoctl.wording import count
from gnod.client.subscription import Subscription
from gnod.errors import Unavailable
from gnod.protocol.params import IndexSubscribeParams
from gnod.protocol.results import EmbeddingStatus, Freshness, IndexChanged, IndexSubscribeResult

HELP = """Print what changes in the index, a line for each file, until Ctrl-C.

Nothing is lost between two runs: each ends with the clock that the next one goes on from. With --json, the first
line is the present state, and each later one holds some changes and the clock after them. How far the daemon is with
its work is said on standard error.

Examples:

  gnoctl follow -c notes

  gnoctl follow --since 0 --json
"""


class FollowOptions(JsonOptions, frozen=True, kw_only=True):
    since: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        option("--since", metavar="CLOCK", help="First what changed after that clock; 0: all that there is."),
    ] = None
    collection: Names = field(default_factory=list)


def follow(options: FollowOptions) -> None:
    params = IndexSubscribeParams(since=options.since, collections=split_commas(options.collection))
    with options.connect() as daemon:
        changes = Subscription(daemon, params)
        try:
            _begin(changes.begun, options)
            for changed in changes:
                _show(changed, options)
        except KeyboardInterrupt:
            note(f"`gnoctl follow --since {changes.clock}` goes on from here", quiet=options.quiet or options.json)
            raise
        except Unavailable as error:
            message = f"the daemon went away; `gnoctl follow --since {changes.clock}` goes on from here"
            raise Unavailable(message, error.details) from None


def _begin(begun: IndexSubscribeResult, options: FollowOptions) -> None:
    if options.json:
        print(json_text(begun), flush=True)
        return
    if begun.reset and options.since:
        note(f"what changed after {options.since} is no longer known: all that there is follows", quiet=options.quiet)
    documents = sum(each.documents for each in begun.state.collections)
    where = ", ".join(each.name for each in begun.state.collections) or "no collection yet"
    note(f"following {where} ({count(documents, 'document')}); Ctrl-C ends it", quiet=options.quiet)


def _show(changed: IndexChanged, options: FollowOptions) -> None:
    if options.json:
        print(json_text(changed), flush=True)
        return
    if changed.reset:
        note("something was missed: all that there is follows, told anew", quiet=options.quiet)
    for line in _lines(changed, options.terminal):
        print(line, flush=True)
    if not (changed.removed or changed.indexed or changed.failed):
        for line in _state(changed.freshness, changed.embedding):
            note(text.line(line), quiet=options.quiet)


def _lines(changed: IndexChanged, terminal: Terminal) -> Iterator[str]:
    for gone in changed.removed:
        yield f"{terminal.paint('removed', YELLOW)}  {text.line(gone.uri)}"
    for new in changed.indexed:
        yield f"{terminal.paint('indexed', GREEN)}  {text.line(new.uri)}  {terminal.paint(text.line(new.title), DIM)}"
    for bad in changed.failed:
        yield f"{terminal.paint('failed', RED)}   {text.line(bad.uri)}  {text.line(f'{bad.kind}: {bad.message}')}"


def _state(known: Freshness, embedding: EmbeddingStatus) -> Iterator[str]:
    """Yield what stands between the index and the disk, and what the embedding does."""
    if missed := freshness.describe(structs.replace(known, unembedded=0)):
        yield missed
    if embedding.state == "embedding":
        yield f"embedding: {count(embedding.pending, 'chunk')} left"
    elif embedding.reason:
        yield f"embedding is {embedding.state}: {embedding.reason}"


COMMAND = Command(FollowOptions, follow, HELP)
