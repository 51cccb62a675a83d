"""`gnoctl evidence`: the passages that an answer needs, within a number of tokens."""

from __future__ import annotations

from typing import Annotated

from gnoctl.arguments.options import option
from gnoctl.arguments.shared_options import QuestionOptions, question_values
from gnoctl.command import command
from gnoctl.printing.evidence import render
from gnod.protocol import evidence as wire


class EvidenceOptions(QuestionOptions, frozen=True, kw_only=True):
    tokens: Annotated[
        wire.TokenLimit, option("-t", "--tokens", help="Return at most this many tokens [default: 1500]")
    ] = 1500
    limit: Annotated[
        int, option("-n", "--limit", help="Look for passages in this many documents [default: 20]", ge=1, le=50)
    ] = 20
    budget: Annotated[
        wire.BudgetSeconds,
        option("--budget", metavar="SECONDS", help="Time for the steps that run a model [default: 1]"),
    ] = 1.0


@command("evidence", EvidenceOptions)
def evidence(options: EvidenceOptions) -> None:
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
        tokens=options.tokens,
        limit=options.limit,
        budget_s=options.budget,
        **question_values(options),
    )
    result = options.call("evidence.gather", params, wire.EvidenceResult)
    options.show(result, render(result, options.terminal))
