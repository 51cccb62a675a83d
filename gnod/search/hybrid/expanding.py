"""Query expansion: the searches that a model adds to a query, if the query needs them and there is time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import exp

from gnod.search.expansion.expander import Expander, Expansion
from gnod.search.hybrid.budget import Backoff, StageSkipped, TimeBudget
from gnod.search.keyword.lexical import LexicalSurvey
from gnod.search.query.parsing import ParsedQuery, QueryLine, variant_lines

# The first read of the cache and the first language detection take this long.
_AROUND_S = 0.5
# A query needs no expansion if its best document by keyword is clearly the best. See `is_strong`.
STRONG_CENTRE, STRONG_WIDTH = 4.5, 2.8
STRONG_TOP, STRONG_GAP, STRONG_RANKS = 0.84, 0.14, 5


async def variants(
    expander: Expander,
    backoff: Backoff,
    query: ParsedQuery,
    surveys: Sequence[LexicalSurvey],
    budget: TimeBudget,
    *,
    kept_s: float,
    on_begin: Callable[[], None],
) -> list[QueryLine]:
    """Return the searches that a model adds. Notes them in the budget, or why there are none. `surveys`: the keyword
    surveys of the query itself. `kept_s`: the time kept for other stages. `on_begin`: called before the model
    writes."""
    started = time.perf_counter()
    try:
        if query.is_structured:
            raise StageSkipped("a structured query is not expanded")
        if any(map(is_strong, surveys)):
            raise StageSkipped("skipped_strong: the best document by keyword stands out")
        on_begin()
        expansion = await _expanded(expander, backoff, query.text, budget, budget.left_s() - kept_s)
    except StageSkipped as skipped:
        budget.note("expand", started, {}, why=str(skipped), ran=False)
        return []
    why = None
    if expansion.timed_out:
        why = "the model did not finish within the time budget"
        why += "; it continues, so the same query will have its variants the next time" if expansion.goes_on else ""
    details: dict[str, object] = {
        "cached": expansion.cached,
        "language": expansion.language,
        "variants": [f"{variant.kind}: {variant.text}" for variant in expansion.variants],
        "dropped": [f"{each.kind}: {each.text} ({reason})" for each, reason in expansion.dropped],
    }
    budget.note("expand", started, details, why=why)
    return variant_lines(expansion.variants)


def is_strong(survey: LexicalSurvey) -> bool:
    """Return whether the best document by keyword stands out, by its score after a sigmoid and by its lead."""
    scores = list(survey.scores.values())[:STRONG_RANKS]
    best = [1 / (1 + exp(-(abs(score) - STRONG_CENTRE) / STRONG_WIDTH)) for score in scores]
    return bool(best) and best[0] >= STRONG_TOP and best[0] - (best[1] if len(best) > 1 else 0.0) >= STRONG_GAP


async def _expanded(expander: Expander, backoff: Backoff, text: str, budget: TimeBudget, limit_s: float) -> Expansion:
    if limit_s > 0 and backoff.skips(limit_s):
        limit_s = 0.0  # use only the cache
    # The expander enforces its own limit. This limit is for the rest of its work.
    work = expander.expand(text, limit_s=limit_s)
    expansion = await budget.within("the expansion model", work, limit_s + _AROUND_S)
    if limit_s > 0 and not expansion.cached and (expansion.goes_on or not expansion.timed_out):
        backoff.learn(limit_s, in_time=not expansion.timed_out)
    elif expansion.timed_out:
        raise StageSkipped(_why_not_expanded(limit_s))
    return expansion


def _why_not_expanded(limit_s: float) -> str:
    if limit_s > 0:
        return "the model is still writing the variants of an earlier query"
    return "no time left" if limit_s < 0 else "the model timed out recently; gnod will try it again soon"
