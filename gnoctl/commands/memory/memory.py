"""`gnoctl remember`, `recall` and most of `gnoctl memory …`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.standard_input import confirmed, given_text
from gnoctl.command import JsonOptions, Options, command
from gnoctl.printing import text
from gnoctl.printing.memories import memories, render_history, render_list, render_results, render_whole
from gnoctl.printing.output import EXIT_NOTHING, note
from gnoctl.printing.terminal import Terminal
from gnod.client.connection import Connection
from gnod.errors import UsageError
from gnod.memory_types import MEMORY_TYPES
from gnod.protocol import memory as wire
from gnod.protocol.base import copied

RECALL_LIMIT = 10
_DONE = "_done"
_TYPES = [known.name for known in MEMORY_TYPES]

_WHEN = "When it happened, as 2026-05-31 or another ISO 8601 time"
_TIMES = ", as 2026, 2026-05 or 2026-05-31"
_SUPERSEDES = "Mark this older memory as superseded. Repeatable"

Ids = Annotated[list[str], argument("ID", "A memory, as `gnoctl recall` and `gnoctl remember` print it")]
ValidFrom = Annotated[str | None, option("--valid-from", f"True from this time{_TIMES}", "TIME")]
ValidUntil = Annotated[str | None, option("--valid-until", f"True until this time{_TIMES}", "TIME")]
Namespaces = Annotated[list[str], option("--namespace", "Only this namespace. Repeatable", "NAME")]


class RememberOptions(JsonOptions, frozen=True, kw_only=True):
    words: Annotated[list[str], argument("TEXT", "The text; - reads standard input")] = []
    type: Annotated[
        str, option("-t, --type", f"{', '.join(_TYPES)}, or a word of your own", "TYPE", complete="|".join(_TYPES))
    ] = "fact"
    topic: Annotated[list[str], option("--topic", "A name to find it by. Repeatable", "NAME")] = []
    namespace: Annotated[str, option("--namespace", "Store it in this namespace", "NAME")] = "personal"
    when: Annotated[str | None, option("--when", f"{_WHEN} [default: now]", "TIME")] = None
    valid_from: ValidFrom = None
    valid_until: ValidUntil = None
    supersedes: Annotated[list[str], option("--supersedes", _SUPERSEDES, "ID")] = []


@command("remember", RememberOptions)
def remember(options: RememberOptions) -> None:
    """Store a memory, and print its id.

    Store one thing at a time: it is easier to find. The text is stored encrypted. Without TEXT, it is read from
    standard input. gnod reads from a text such as "We used Postgres 14 until March 2026" how long it is true.

    Examples:
      gnoctl remember 'The staging database is restored from production every Monday' --topic staging --topic postgres
      gnoctl remember 'Prefers tabs to spaces in Makefiles only' -t preference
      git log -1 --format=%B | gnoctl remember -t result
      gnoctl remember 'Anna lives in Bremen' --supersedes m4x0q2v7ke --when 2026-05-31
    """
    words = given_text(options.words, missing="nothing to remember: give a text, `gnoctl remember TEXT`, or pipe it in")
    params = copied(wire.MemoryStoreParams, options, text=words, topics=options.topic)
    result = options.call("memory.store", params, wire.MemoryStoreResult)
    options.show(result, result.id)
    if result.existed and not options.json:
        options.note(f"{result.id} already has this text: its topics were added and its type was set")
    for each in [] if options.json else result.proposals:
        options.note(
            text.line(
                f"{each.id} may be superseded, {each.reason}: `gnoctl memory update {result.id} --supersedes {each.id}`"
            )
        )


class RecallOptions(JsonOptions, frozen=True, kw_only=True):
    query: Annotated[list[str], argument("QUERY", "A question, or keywords")]
    deep: Annotated[
        bool, option("--deep", "Search four times as many candidates; slower, needs at least two keywords")
    ] = False
    as_of: Annotated[str | None, option("--as-of", f"Only what was true then{_TIMES}", "TIME")] = None
    namespace: Namespaces = []
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=wire.MAX_DEEP_RESULTS)] | None,
        option(
            "-n, --limit",
            f"Return at most this many, up to {wire.MAX_RESULTS} (--deep: {wire.MAX_DEEP_RESULTS}) "
            f"[default: {RECALL_LIMIT}; all with --json]",
        ),
    ] = None
    budget: Annotated[float, option("--budget", "Time for the reranker", "SECONDS")] = 2.0


@command("recall", RecallOptions)
def recall(options: RecallOptions) -> int:
    """Find memories by meaning and by topic.

    Each result begins with its score: 0.30 and above is excellent, 0.20 to 0.30 good, below 0.20 weak. Long texts are
    shortened; `gnoctl memory show ID` prints all of a memory. Memories that are no longer true rank lower; --as-of asks
    for another time.

    Examples:
      gnoctl recall how is the staging database filled
      gnoctl recall which postgres do we use --as-of 2026-02
      gnoctl recall 'postgres restore' --deep --namespace team
    """
    query = " ".join(options.query)
    most = wire.MAX_DEEP_RESULTS if options.deep else wire.MAX_RESULTS
    if options.limit and options.limit > most:
        raise UsageError(f"--limit is at most {wire.MAX_RESULTS}, and {wire.MAX_DEEP_RESULTS} with --deep")
    kind = wire.MemoryDeepSearchParams if options.deep else wire.MemorySearchParams
    limit = options.limit or (most if options.json else RECALL_LIMIT)
    params = copied(kind, options, query=query, namespaces=options.namespace, limit=limit, budget_s=options.budget)
    result = options.call("memory.deep_search" if options.deep else "memory.search", params, wire.MemorySearchResult)
    options.show(result, _recalled(result, query, options))
    return 0 if result.results else EXIT_NOTHING


def _recalled(result: wire.MemorySearchResult, query: str, options: RecallOptions) -> Iterator[str]:
    if result.results:
        yield from render_results(result, options.terminal)
    else:
        note(f"No memories match {query}")
        for each in result.notes:
            options.note(each)


class IdsOptions(JsonOptions, frozen=True, kw_only=True):
    ids: Ids


@command("memory show", IdsOptions)
def show(options: IdsOptions) -> None:
    """Print complete memories."""
    result = options.call("memory.retrieve", wire.MemoryIdsParams(ids=options.ids), wire.MemoryRecordsResult)
    options.show(result, _whole(result, options.terminal))


def _whole(result: wire.MemoryRecordsResult, terminal: Terminal) -> Iterator[str]:
    for number, each in enumerate(result.memories):
        yield from [""] if number else []
        yield from render_whole(each, terminal)


class ListOptions(JsonOptions, frozen=True, kw_only=True):
    type: Annotated[list[str], option("-t, --type", "Only this type. Repeatable", "TYPE")] = []
    topic: Annotated[list[str], option("--topic", "Only with all these topics. Repeatable", "NAME")] = []
    namespace: Namespaces = []
    since: Annotated[
        str | None,
        option("--since", "Only what was stored, changed or superseded since then, as 2026-05-31 or 7d", "TIME"),
    ] = None
    limit: Annotated[int, option("-n, --limit", "List at most this many", ge=1, le=1000)] = 100
    cursor: Annotated[str | None, option("--cursor", "Continue there; the previous list prints it", "CURSOR")] = None


@command("memory list", ListOptions)
def list_memories(options: ListOptions) -> None:
    """List memories, the latest first.

    Examples:
      gnoctl memory list --type decision
      gnoctl memory list --topic postgres --namespace team
      gnoctl memory list --since 7d
    """
    names = {"namespaces": options.namespace, "types": options.type, "topics": options.topic}
    params = copied(wire.MemoryListParams, options, **names)
    result = options.call("memory.list", params, wire.MemoryListResult)
    options.show(result, _listed(result, options))


def _listed(result: wire.MemoryListResult, options: ListOptions) -> Iterator[str]:
    if not result.total:
        note("No memories match: run `gnoctl remember TEXT` to store one")
        return
    yield from render_list(result, options.terminal)
    if result.cursor:
        options.note(text.line(f"The next page: --cursor {result.cursor}"))


class UpdateOptions(JsonOptions, frozen=True, kw_only=True):
    id: Annotated[str, argument("ID", "The memory")]
    words: Annotated[list[str], argument("TEXT", "The new text; - reads standard input")] = []
    type: Annotated[str | None, option("-t, --type", "The new type", "TYPE")] = None
    topic: Annotated[list[str], option("--topic", "The new topics, instead of all old ones; '' for none", "NAME")] = []
    remove_topic: Annotated[
        list[str], option("--remove-topic", "Remove a topic, given or suggested (~). Repeatable", "NAME")
    ] = []
    when: Annotated[str | None, option("--when", f"{_WHEN}; '' for none", "TIME")] = None
    valid_from: ValidFrom = None
    valid_until: ValidUntil = None
    supersedes: Annotated[list[str], option("--supersedes", _SUPERSEDES, "ID")] = []


@command("memory update", UpdateOptions)
def update(options: UpdateOptions) -> None:
    """Change the text, the type, the topics or the times of a memory, or what it supersedes.

    What is not given stays the same. '' removes a time.

    Examples:
      gnoctl memory update m4x0q2v7ke 'The staging database is restored every Tuesday'
      gnoctl memory update m4x0q2v7ke --type decision_done
      gnoctl memory update m4x0q2v7ke - < note.txt
      gnoctl memory update m4x0q2v7ke --remove-topic staging
      gnoctl memory update m4x0q2v7ke --supersedes mtmv2eq90aw
    """
    times = (options.when, options.valid_from, options.valid_until)
    is_timed = any(time is not None for time in times)
    if not (options.words or options.type or options.topic or options.remove_topic or is_timed or options.supersedes):
        raise UsageError("nothing to change: give a text, a type, topics, a time or --supersedes")
    params = copied(
        wire.MemoryUpdateParams,
        options,
        text=given_text(options.words, missing="standard input is empty") if options.words else None,
        topics=options.topic or None,
        remove_topics=[name.removeprefix("~") for name in options.remove_topic],
    )
    result = options.call("memory.update", params, wire.MemoryRecord)
    options.show(result, render_whole(result, options.terminal))


class HistoryOptions(JsonOptions, frozen=True, kw_only=True):
    id: Annotated[str, argument("ID", "Any memory of the chain")]


@command("memory history", HistoryOptions)
def history(options: HistoryOptions) -> None:
    """Show what a memory superseded, and what supersedes it, with the times at which each was true.

    The current memory comes first.
    """
    result = options.call("memory.history", wire.MemoryHistoryParams(id=options.id), wire.MemoryHistoryResult)
    options.show(result, render_history(result, options.terminal))


class DoneOptions(Options, frozen=True, kw_only=True):
    ids: Ids


@command("memory done", DoneOptions)
def done(options: DoneOptions) -> None:
    """Mark memories as finished or superseded.

    Adds `_done` to their type. They can still be found, below current memories.
    """
    with options.connect() as daemon:
        result = daemon.call("memory.retrieve", wire.MemoryIdsParams(ids=options.ids), wire.MemoryRecordsResult)
        for memory in result.memories:
            new_type = memory.type if memory.type.endswith(_DONE) else memory.type + _DONE
            if new_type != memory.type:
                daemon.call("memory.update", wire.MemoryUpdateParams(id=memory.id, type=new_type), wire.MemoryRecord)
            print(text.line(f"{memory.id}  {new_type}"))


class ForgetOptions(IdsOptions, frozen=True, kw_only=True):
    yes: Annotated[bool, option("-y, --yes", "Do not ask")] = False


@command("memory forget", ForgetOptions)
def forget(options: ForgetOptions) -> int:
    """Delete memories permanently.

    To keep what is finished or superseded, use `gnoctl memory done`.
    """
    params = wire.MemoryIdsParams(ids=options.ids)
    with options.connect() as daemon:
        if not options.yes and not _confirmed(daemon, params):
            note("Nothing was deleted")
            return 1
        result = daemon.call("memory.forget", params, wire.MemoryForgetResult)
    options.show(result, f"deleted {memories(result.forgotten)}")
    return 0


def _confirmed(daemon: Connection, params: wire.MemoryIdsParams) -> bool:
    if sys.stdin.isatty():
        records = daemon.call("memory.retrieve", params, wire.MemoryRecordsResult).memories
        for line in render_list(wire.MemoryListResult(memories=records, total=len(records)), Terminal(width=80)):
            print(text.line(line), file=sys.stderr)
    return confirmed("Delete permanently?")


class MemoryPublishOptions(IdsOptions, frozen=True, kw_only=True):
    to: Annotated[str | None, option("--to", "The namespace; required", "NAME")] = None


@command("memory publish", MemoryPublishOptions)
def publish(options: MemoryPublishOptions) -> None:
    """Copy memories into a shared namespace.

    The namespace is created if it does not exist. The originals stay where they are.
    """
    if not options.to:
        raise UsageError("no namespace given: add --to NAME")
    params = wire.MemoryPublishParams(ids=options.ids, namespace=options.to)
    result = options.call("memory.publish", params, wire.MemoryManyResult)
    existed = sum(memory.existed for memory in result.memories)
    existing = f"; {existed:,} existed there already" if existed else ""
    options.show(result, text.line(f"published {memories(len(result.memories))} to {options.to}{existing}"))
