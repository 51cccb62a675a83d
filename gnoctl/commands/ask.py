"""`gnoctl ask`: an answer from the documents, with citations."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field, structs

from gnoctl.answers import Draft, can_redraw, render
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument, option
from gnoctl.progress import Progress
from gnoctl.searching import (
    AnyTags,
    Author,
    Explain,
    Fresh,
    Languages,
    Names,
    PathPrefix,
    Since,
    Tags,
    Types,
    Until,
    scope_of,
)
from gnod.protocol.params import AskParams
from gnod.protocol.results import AskResult

HELP = """Answer a question from your documents, and say where it stands.

The best passages are read by a language model on this machine. Each [1] in the answer is checked against its source;
what has no citation that holds is not given as an answer. While the model speaks, its words are dim: they are not
checked yet. Ctrl-C ends its work. It needs a model for answers: `gnoctl models pull answer` fetches one.

The exit status is 0 also when the documents do not hold the answer: the question was dealt with, and only failures are
errors. For scripts, --json says `answered`.

Examples:

  gnoctl ask how long do we keep backups

  gnoctl ask 'who replaced the valve of boiler 3?' -c house --since 2y

  gnoctl ask what did we decide about logging --tag adr -n 10 --explain

  gnoctl ask when is the rent due --json | jq -r 'if .answered then .answer else empty end'
"""


class AskOptions(JsonOptions, frozen=True, kw_only=True):
    question: Annotated[list[str], argument("QUESTION", help="What you want to know, in your own words.")]
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=50)] | None,
        option("-n", "--limit", help="Look into so many documents (default 6)."),
    ] = None
    max_tokens: Annotated[
        Annotated[int, Meta(ge=1, le=2048)] | None,
        option("--max-tokens", help="The longest answer, in tokens (default 512)."),
    ] = None
    collection: Names = field(default_factory=list)
    tag: Tags = field(default_factory=list)
    any_tag: AnyTags = field(default_factory=list)
    lang: Languages = field(default_factory=list)
    type: Types = field(default_factory=list)
    author: Author = None
    path: PathPrefix = None
    since: Since = None
    until: Until = None
    no_expand: Annotated[bool, option("--no-expand", help="Search for the question as it stands.")] = False
    no_rerank: Annotated[bool, option("--no-rerank", help="Do not have a model reorder what was found.")] = False
    fresh: Fresh = False
    explain: Explain = False


def ask(options: AskOptions) -> None:
    params = _params(options)
    terminal = options.terminal
    draws = can_redraw(terminal) and not options.json and not options.quiet
    progress = Draft(terminal) if draws else Progress(quiet=options.quiet or options.json, no_color=options.no_color)
    with options.connect() as daemon, progress:
        result = daemon.call("ask.answer", params, AskResult, on_progress=progress)
    if options.json:
        print_json(result)
    else:
        for line in render(result, terminal):
            print(line)


def _params(options: AskOptions) -> AskParams:
    params = AskParams(
        question=" ".join(options.question),
        expand=not options.no_expand,
        rerank=not options.no_rerank,
        **scope_of(options),
    )
    given = {name: value for name in ("limit", "max_tokens") if (value := getattr(options, name)) is not None}
    return structs.replace(params, **given)


COMMAND = Command(AskOptions, ask, HELP)
