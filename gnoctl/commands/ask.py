"""`gnoctl ask`: an answer from the documents, with citations."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field, structs

from gnoctl.answers import Draft, can_redraw, render
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument, option
from gnoctl.progress import Progress
from gnoctl.searching import split_commas
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
    collection: Annotated[
        list[str],
        option(
            "-c",
            "--collection",
            metavar="NAME",
            help="Only there; repeat it, or separate names by commas.",
            complete="collections",
        ),
    ] = field(default_factory=list)
    tag: Annotated[list[str], option("--tag", metavar="TAG", help="Only with all these tags.")] = field(
        default_factory=list
    )
    any_tag: Annotated[list[str], option("--any-tag", metavar="TAG", help="Only with one of these tags.")] = field(
        default_factory=list
    )
    lang: Annotated[list[str], option("--lang", metavar="CODE", help="Only in these languages (en, de, …).")] = field(
        default_factory=list
    )
    type: Annotated[list[str], option("--type", metavar="TYPE", help="Only of these frontmatter types.")] = field(
        default_factory=list
    )
    author: Annotated[str | None, option("--author", metavar="TEXT", help="Only by authors with this in the name.")] = (
        None
    )
    path: Annotated[str | None, option("--path", metavar="PREFIX", help="Only below this path in a collection.")] = None
    since: Annotated[
        str | None,
        option("--since", metavar="DATE", help="Only from that day on: 2026-11-21, or an age like 7d."),
    ] = None
    until: Annotated[str | None, option("--until", metavar="DATE", help="Only until that day.")] = None
    no_expand: Annotated[bool, option("--no-expand", help="Search for the question as it stands.")] = False
    no_rerank: Annotated[bool, option("--no-rerank", help="Do not have a model reorder what was found.")] = False
    fresh: Annotated[bool, option("--fresh", help="Take in what changed on disk first.")] = False
    explain: Annotated[bool, option("--explain", help="Say how the answer came about.")] = False


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
        collections=split_commas(options.collection),
        tags_all=split_commas(options.tag),
        tags_any=split_commas(options.any_tag),
        languages=split_commas(options.lang),
        types=split_commas(options.type),
        path_prefix=options.path,
        author=options.author,
        since=options.since,
        until=options.until,
        fresh=options.fresh,
        explain=options.explain,
        expand=not options.no_expand,
        rerank=not options.no_rerank,
    )
    given = {name: value for name in ("limit", "max_tokens") if (value := getattr(options, name)) is not None}
    return structs.replace(params, **given)


COMMAND = Command(AskOptions, ask, HELP)
