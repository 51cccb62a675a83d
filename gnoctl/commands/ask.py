"""`gnoctl ask`: quotes from the documents that answer a question, and an answer with citations. `gnoctl evidence`: the
passages that an answer needs, within a number of tokens."""

from __future__ import annotations

from typing import Annotated, Any

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.shared_options import FilterOptions, filter_values
from gnoctl.arguments.standard_input import given_text
from gnoctl.command import command
from gnoctl.printing import answers as drawn_answers
from gnoctl.printing import evidence as drawn_evidence
from gnoctl.printing.output import EXIT_NOTHING
from gnod.errors import UsageError
from gnod.protocol import evidence as wire
from gnod.protocol.search import AskParams, AskResult


class QuestionOptions(FilterOptions, frozen=True, kw_only=True):
    question: Annotated[list[str], argument("QUESTION", "The question")]
    no_expand: Annotated[bool, option("--no-expand", "Search for the question without query variants")] = False
    no_rerank: Annotated[bool, option("--no-rerank", "Do not let a model rerank the documents")] = False
    exact: Annotated[bool, option("--exact", "Do not correct words that no document contains")] = False


def question_values(options: QuestionOptions) -> dict[str, Any]:
    question, expand, rerank = " ".join(options.question), not options.no_expand, not options.no_rerank
    steps = {"question": question, "expand": expand, "rerank": rerank, "exact": options.exact}
    return {**filter_values(options), **steps}


class AskOptions(QuestionOptions, frozen=True, kw_only=True):
    question: Annotated[list[str], argument("QUESTION", "The question; with --verify, a text (-: standard input)")] = []
    limit: Annotated[int, option("-n, --limit", "Read this many documents", ge=1, le=50)] = 6
    max_tokens: Annotated[int, option("--max-tokens", "Longest answer, in tokens", ge=1, le=2048)] = 512
    generate: Annotated[bool, option("--generate", "Call the model for answers, however small it is")] = False
    no_generate: Annotated[bool, option("--no-generate", "Show quotes only; call no model for answers")] = False
    verify: Annotated[bool, option("--verify", "Check the claims and citations of a text instead")] = False


@command("ask", AskOptions)
def ask(options: AskOptions) -> int:
    r"""Quote the sentences that answer a question, and answer it with citations.

    First, it quotes up to three sentences, table rows, list items or lines of your documents that best answer the
    question, word for word and with their location. This needs no language model and takes a fraction of a second.

    Then a language model reads the best passages and answers, if a large enough model is installed; --generate also
    calls a smaller one, and --no-generate calls none. The answer keeps only sentences whose figures, dates, names and
    words are in a source, which is cited as [1]; without such a sentence, no answer is shown. While the model writes,
    its text is dim because it is not checked yet. Ctrl-C stops the model. `gnoctl models pull answer` downloads it.

    If your documents probably do not contain the answer, `ask` says so and shows the nearest passages. The exit status
    is 0 in any case: scripts read `answered` and `confidence` with --json.

    With --verify, each sentence of a text is looked up: a sentence of your documents supports it, contradicts it, or
    neither. Citations (`gno://notes/plan.md:12@9f3b2c1d4e5f`, as in --json) are unchanged, moved, changed or gone. No
    model writes anything. The exit status is 1 if a claim is not supported, or if cited lines changed or are gone.

    Examples:
      gnoctl ask how long do we keep backups
      gnoctl ask 'who replaced the valve of boiler 3?' -c house --since 2y
      gnoctl ask what did we decide about logging --tag adr -n 10 --explain
      gnoctl ask --no-generate when is the rent due --json | jq -r '.quotes[0] | "\(.path):\(.line) \(.text)"'
      gnoctl ask --verify 'We keep backups for 30 days.'
      gnoctl ask --verify < answer.md
    """
    if options.verify:
        return _verify(options)
    if not options.question:
        raise UsageError("no question was given: gnoctl ask how long do we keep backups")
    if options.generate and options.no_generate:
        raise UsageError("--generate and --no-generate cannot be used together: choose one")
    params = AskParams(
        limit=options.limit,
        max_tokens=options.max_tokens,
        generate=True if options.generate else False if options.no_generate else None,
        **question_values(options),
    )
    terminal = options.terminal
    draws = drawn_answers.can_redraw(terminal) and not options.json and not options.quiet
    progress = drawn_answers.DrawnDraft(terminal) if draws else options.progress(quiet=options.json)
    with options.connect() as daemon, progress:
        result = daemon.call("ask.answer", params, AskResult, on_progress=progress)
    has_quotes = isinstance(progress, drawn_answers.DrawnDraft) and progress.has_quotes
    options.show(result, drawn_answers.render(result, terminal, quotes=not has_quotes))
    return 0


def _verify(options: AskOptions) -> int:
    given = given_text(
        options.question, missing="no text was given: gnoctl ask --verify 'We keep backups for 30 days.'"
    )
    values: dict[str, Any] = {"text": given, "limit": options.limit, **filter_values(options)}
    params = wire.AskVerifyParams(**values)
    with options.connect() as daemon, options.progress(quiet=options.json) as progress:
        result = daemon.call("ask.verify", params, wire.AskVerifyResult, on_progress=progress)
    options.show(result, drawn_evidence.render_claims(result, options.terminal))
    stands = all(each.stance == "supported" for each in result.claims)
    return 0 if stands and all(each.state in ("unchanged", "moved") for each in result.citations) else EXIT_NOTHING


class EvidenceOptions(QuestionOptions, frozen=True, kw_only=True):
    tokens: Annotated[wire.TokenLimit, option("-t, --tokens", "Return at most this many tokens")] = 1500
    limit: Annotated[int, option("-n, --limit", "Look for passages in this many documents", ge=1, le=50)] = 20
    budget: Annotated[
        wire.BudgetSeconds, option("--budget", "Time for the steps that run a model [default: 1]", "SECONDS")
    ] = 1.0


@command("evidence", EvidenceOptions)
def evidence(options: EvidenceOptions) -> int:
    """Collect the passages that an answer to a question needs.

    Prints the fewest passages of your documents that support an answer, word for word and with their lines: whole
    paragraphs, list items, table rows with their header, blocks of code. No text occurs twice. They are grouped by
    document, best document first, and fit into --tokens. What was left out is listed below, with the reason.

    Meant for agents and scripts, which write the answer themselves. `gnoctl ask` prints the best sentences instead.

    Examples:
      gnoctl evidence how do we restore a backup
      gnoctl evidence 'which limits does the upload API have?' -t 3000 -c docs
      gnoctl evidence who maintains the pumps --json | jq -r '.passages[] | "\\(.uri):\\(.line)\\n\\(.text)\\n"'
    """
    params = wire.EvidenceParams(
        tokens=options.tokens, limit=options.limit, budget_s=options.budget, **question_values(options)
    )
    result = options.call("evidence.gather", params, wire.EvidenceResult)
    options.show(result, drawn_evidence.render(result, options.terminal))
    return 0 if result.passages else EXIT_NOTHING
