"""`gnoctl why`: all that is known of one path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from gnoctl import text
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument
from gnoctl.references import absolute
from gnoctl.terminal import BOLD, GREEN, YELLOW, Terminal
from gnoctl.wording import ago, count
from gnod.protocol.params import IndexWhyParams
from gnod.protocol.results import IndexWhyResult, WhyCollection

HELP = """Say why a file is found, or why it is not.

Examples:

  gnoctl why ./drafts/plan.md

  gnoctl why notes/plan.md
"""


class WhyOptions(JsonOptions, frozen=True, kw_only=True):
    path: Annotated[str, argument("PATH", help="A path on disk, or any reference that get takes.")]


def why(options: WhyOptions) -> None:
    with options.connect() as daemon:
        result = daemon.call("index.why", IndexWhyParams(path=absolute(options.path)), IndexWhyResult)
    if options.json:
        print_json(result)
        return
    for line in render(result, options.terminal):
        print(line)


def render(result: IndexWhyResult, terminal: Terminal) -> Iterator[str]:
    yield terminal.paint(text.line(result.path), BOLD)
    if not result.collections:
        yield "  " + text.line(result.reason)
    for each in result.collections:
        colour = GREEN if each.verdict == "indexed" else YELLOW
        yield f"  {text.line(each.collection)}: {terminal.paint(text.line(each.verdict), colour)}"
        for name, value in _facts(each):
            yield f"    {name:<10} {text.line(value)}"


def _facts(each: WhyCollection) -> Iterator[tuple[str, str]]:
    yield "because", each.reason
    if each.uri:
        yield "document", f"{each.docid or ''} {each.uri}".strip()
    if each.title:
        yield "title", each.title
    if each.converter:
        yield "read by", each.converter
    if each.language:
        yield "language", each.language
    if each.chunks:
        yield "chunks", f"{each.chunks:,}"
    if each.indexed_at:
        yield "indexed", ago(each.indexed_at)
    if error := each.error:
        times = count(error.count, "time")
        yield (
            "error",
            f"{error.kind} while {error.stage}: {error.message} ({times}, last {ago(error.last_at)})",
        )


COMMAND = Command(WhyOptions, why, HELP)
