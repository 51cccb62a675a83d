"""`gnoctl status`: how the index compares with the disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from gnoctl import freshness, text
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, option
from gnoctl.table import columns
from gnoctl.terminal import BOLD, DIM, GREEN, RED, YELLOW, Terminal
from gnoctl.wording import ago, count, size
from gnod.protocol.params import IndexStatusParams
from gnod.protocol.results import CollectionStatus, IndexStatusResult, IngestError

HELP = """Compare the index with the disk.

The folders are walked for this answer, so it is exact. `gnoctl status --errors` lists the files that could
not be read, and `gnoctl why PATH` explains a single one.

pending files differ from the index and are being taken in; skipped ones are no documents (binary, empty, too large);
excluded ones are left out by a rule. watch says how changes are noticed: events (at once), polling (walks every few
seconds, where the system gives no events) or off. reconciled: when everything was compared with the disk last.
"""


class StatusOptions(JsonOptions, frozen=True, kw_only=True):
    errors: Annotated[bool, option("--errors", help="List the files that could not be read.")] = False


def status(options: StatusOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("index.status", IndexStatusParams(errors=options.errors), IndexStatusResult)
    if options.json:
        print_json(result)
        return
    for line in render(result, options.terminal):
        print(line)


def render(result: IndexStatusResult, terminal: Terminal) -> Iterator[str]:
    documents, chunks = count(result.documents, "document"), count(result.chunks, "chunk")
    yield (terminal.paint(f"Index {result.index}", BOLD) + f": {documents}, {chunks}, {size(result.database_bytes)}")
    yield terminal.paint(text.line(f"{result.database} · {result.config_file}"), DIM)
    if result.languages:
        most = sorted(result.languages.items(), key=lambda item: (-item[1], item[0]))
        yield text.line("languages: " + ", ".join(f"{code or 'unknown'} {number:,}" for code, number in most[:8]))
    if result.collections:
        yield ""
        yield from _collections(result.collections, terminal)
    yield ""
    yield from _models(result, terminal)
    yield from _verdict(result, terminal)
    for error in result.errors or []:
        yield ""
        yield from _error(error, terminal)
    if result.errors_left_out:
        yield ""
        yield f"… and {count(result.errors_left_out, 'more file')}"


def _collections(collections: list[CollectionStatus], terminal: Terminal) -> Iterator[str]:
    headers = [
        "collection",
        "on disk",
        "indexed",
        "pending",
        "failed",
        "skipped",
        "excluded",
        "embedded",
        "watch",
        "last event",
        "reconciled",
        "path",
    ]
    rows = [
        [
            each.name,
            *(f"{n:,}" for n in _counts(each)),
            _embedded(each),
            each.watch,
            ago(each.last_event),
            ago(each.last_reconcile),
            each.path,
        ]
        for each in collections
    ]
    yield from columns(headers, rows, terminal)


def _counts(collection: CollectionStatus) -> tuple[int, ...]:
    each = collection
    return each.on_disk, each.indexed, each.pending, each.failed, each.skipped, each.excluded


def _embedded(collection: CollectionStatus) -> str:
    """Return the share of its chunks that have a vector; 100 % is all of them and no less."""
    if not collection.chunks:
        return "-"
    return f"{100 * collection.embedded // collection.chunks} %"


def _models(result: IndexStatusResult, terminal: Terminal) -> Iterator[str]:
    """Say what embeds, and what that takes."""
    embedding, inference = result.embedding, result.inference
    if embedding.state == "embedding":
        rate = f", {embedding.chunks_per_s:.1f} chunks/s" if embedding.chunks_per_s else ""
        yield f"embedding: {count(embedding.pending, 'chunk')} left{rate}"
    elif embedding.reason:
        yield terminal.paint(text.line(f"embedding is {embedding.state}: {embedding.reason}"), YELLOW)
    for each in result.collections:
        if each.next_model and each.model:
            yield text.line(f"{each.name}: {each.model} answers until {each.next_model} has embedded everything")
        if each.unembeddable:
            yield terminal.paint(text.line(f"{each.name}: {count(each.unembeddable, 'chunk')} cannot be embedded"), RED)
    if inference.pid:
        loaded = f", {count(len(inference.models), 'model')} loaded" if inference.models else ""
        line = f"inference worker: {inference.state}, pid {inference.pid}, {size(inference.resident_bytes)}{loaded}"
        yield terminal.paint(line, DIM)
    else:
        yield terminal.paint(f"inference worker: {inference.state}", DIM)
    if inference.crashes:
        crashed = f"the inference worker died {count(inference.crashes, 'time')}, last of {inference.last_crash}"
        yield terminal.paint(text.line(crashed), YELLOW)
    if inference.vectors_bytes:
        yield terminal.paint(f"vectors in memory: {size(inference.vectors_bytes)}", DIM)


def _verdict(result: IndexStatusResult, terminal: Terminal) -> Iterator[str]:
    """Say what stands between the index and the disk, or that nothing does."""
    for problem in result.storage_problems:
        yield terminal.paint(text.line(problem), RED)
    for note in result.storage_notes:
        yield terminal.paint(text.line(note), YELLOW)
    if result.config_error:
        yield terminal.paint(f"config: {text.block(result.config_error)}", RED)
    for warning in result.config_warnings:
        yield terminal.paint(f"config: {text.line(warning)}", YELLOW)
    for each in result.collections:
        for reason in dict.fromkeys(filter(None, (each.reason, each.watch_reason))):
            yield terminal.paint(text.line(f"{each.name}: {reason}"), YELLOW)
        if each.failed:
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(each.failed_by_kind.items()))
            yield text.line(f"{each.name}: failed: {kinds} (`gnoctl status --errors` lists them)")
    if result.syncing:
        yield "indexing right now"
    if missed := freshness.describe(result.freshness, nothing_found=True):
        yield terminal.paint(text.line(missed), YELLOW)
    elif not result.collections:
        yield "no folders yet: `gnoctl init FOLDER`"
    elif result.freshness.current:
        yield terminal.paint("the index equals the disk", GREEN)
    explained = {each.name for each in result.collections if each.watch_reason}
    if names := ", ".join(name for name in result.freshness.unwatched if name not in explained):
        yield text.line(f"changes are not watched in {names}: `gnoctl index` takes them in")


def _error(error: IngestError, terminal: Terminal) -> Iterator[str]:
    yield terminal.paint(text.line(f"{error.collection}/{error.path}"), BOLD)
    what = text.line(f"{error.stage}: {error.message}")
    yield f"  {terminal.paint(text.line(error.kind), RED)} while {what}"
    yield terminal.paint(f"  {count(error.count, 'time')}, last {ago(error.last_at)}", DIM)


COMMAND = Command(StatusOptions, status, HELP)
