"""`gnoctl why`: what the index knows about one path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from gnoctl import text
from gnoctl.command import JsonOptions, command
from gnoctl.options import argument
from gnoctl.references import absolute
from gnoctl.terminal import BOLD, GREEN, YELLOW, Terminal
from gnoctl.wording import ago, count
from gnod.protocol.index import IndexWhyParams, IndexWhyResult, WhyCollection


class WhyOptions(JsonOptions, frozen=True, kw_only=True):
    path: Annotated[str, argument("PATH", help="A path on disk, or any reference that get takes")]


@command("why", WhyOptions)
def why(options: WhyOptions) -> None:
    """Explain why a file is or is not in the index.

    Examples:
      gnoctl why ./drafts/plan.md
      gnoctl why notes/plan.md
    """
    result = options.call("index.why", IndexWhyParams(path=absolute(options.path)), IndexWhyResult)
    options.show(result, _report(result, options.terminal))


def _report(result: IndexWhyResult, terminal: Terminal) -> Iterator[str]:
    yield terminal.paint(text.line(result.path), BOLD)
    if not result.collections:
        yield "  " + text.line(result.reason)
    for each in result.collections:
        colour = GREEN if each.verdict == "indexed" else YELLOW
        yield f"  {text.line(each.collection)}: {terminal.paint(text.line(each.verdict), colour)}"
        for name, value in _facts(each).items():
            if value:
                yield f"    {name:<10} {text.line(value)}"


def _facts(each: WhyCollection) -> dict[str, str | None]:
    error = ""
    if failure := each.error:
        times = f"{count(failure.count, 'time')}, last {ago(failure.last_at)}"
        error = f"{failure.kind} while {failure.stage}: {failure.message} ({times})"
    return {
        "because": each.reason,
        "document": f"{each.docid or ''} {each.uri}".strip() if each.uri else None,
        "title": each.title,
        "converter": each.converter,
        "language": each.language,
        "chunks": f"{each.chunks:,}" if each.chunks else None,
        "indexed": ago(each.indexed_at) if each.indexed_at else None,
        "error": error,
    }
