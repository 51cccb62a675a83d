"""`gnoctl ask`: quotes from the documents that answer a question, and an answer with citations."""

from __future__ import annotations

from typing import Annotated

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.shared_options import FilterOptions, filter_values
from gnoctl.command import command
from gnoctl.printing.answers import DrawnDraft, can_redraw, render
from gnod.errors import UsageError
from gnod.protocol.search import AskParams, AskResult


class AskOptions(FilterOptions, frozen=True, kw_only=True):
    question: Annotated[list[str], argument("QUESTION", help="The question")]
    limit: Annotated[int, option("-n", "--limit", help="Read this many documents [default: 6]", ge=1, le=50)] = 6
    max_tokens: Annotated[
        int, option("--max-tokens", help="Longest answer, in tokens [default: 512]", ge=1, le=2048)
    ] = 512
    no_expand: Annotated[bool, option("--no-expand", help="Search for the question without query variants")] = False
    no_rerank: Annotated[bool, option("--no-rerank", help="Do not let a model rerank the documents")] = False
    generate: Annotated[bool, option("--generate", help="Call the model for answers, however small it is")] = False
    exact: Annotated[bool, option("--exact", help="Do not correct words that no document contains")] = False
    no_generate: Annotated[bool, option("--no-generate", help="Show quotes only; call no model for answers")] = False


@command("ask", AskOptions)
def ask(options: AskOptions) -> None:
    r"""Quote the sentences that answer a question, and answer it with citations.

    First come up to three sentences, table rows, list items or lines of your documents that best answer the question,
    word for word and with their place. They need no language model and take a fraction of a second.

    Then a language model reads the best passages and answers, if there is one that is large enough; --generate calls a
    smaller one, too, and --no-generate calls none. Only sentences are kept whose figures, dates, names and words are in
    a source, which is cited as [1]; without such a sentence, no answer is shown. While the model writes, its text is
    dim because it is not checked yet. Ctrl-C stops it. `gnoctl models pull answer` downloads it.

    If your documents probably do not contain the answer, `ask` says so and shows the nearest passages. The exit status
    is 0 in any case: scripts read `answered` and `confidence` with --json.

    Examples:
      gnoctl ask how long do we keep backups
      gnoctl ask 'who replaced the valve of boiler 3?' -c house --since 2y
      gnoctl ask what did we decide about logging --tag adr -n 10 --explain
      gnoctl ask --no-generate when is the rent due --json | jq -r '.quotes[0] | "\(.path):\(.line) \(.text)"'
    """
    if options.generate and options.no_generate:
        raise UsageError("--generate and --no-generate cannot be used together: choose one")
    params = AskParams(
        question=" ".join(options.question),
        limit=options.limit,
        max_tokens=options.max_tokens,
        expand=not options.no_expand,
        exact=options.exact,
        rerank=not options.no_rerank,
        generate=True if options.generate else False if options.no_generate else None,
        **filter_values(options),  # type: ignore[arg-type]
    )
    terminal = options.terminal
    draws = can_redraw(terminal) and not options.json and not options.quiet
    progress = DrawnDraft(terminal) if draws else options.progress(quiet=options.json)
    with options.connect() as daemon, progress:
        result = daemon.call("ask.answer", params, AskResult, on_progress=progress)
    has_quotes = isinstance(progress, DrawnDraft) and progress.has_quotes
    options.show(result, render(result, terminal, quotes=not has_quotes))
