"""`gnoctl bench`: how well search finds things, on collections where the right answers are known."""

from __future__ import annotations

import os
import sys
from typing import Annotated, NoReturn

from msgspec import Meta, field

from gnoctl.options import SHARED, Command, Options, argument, option, specs

HELP = """Measure search on test collections in BEIR layout.

Each DIR holds corpus.jsonl, queries.jsonl and qrels.tsv. It is indexed for the occasion, without the daemon
and apart from your own index, and every judged query is asked in every mode. Queries without an answer score 0.
The modes vector and hybrid need a model that `gnoctl models pull embed` has fetched, and time to embed everything.
A hybrid query takes the time that it needs, so that the figures show what each stage is worth, and what a model writes
for it is written beforehand; with --budget it is as in the daemon. Other modes are compared with hybrid query by
query; what is more than chance has a *.

Examples:

  gnoctl bench collections/scifact

  gnoctl bench collections/* --ablation

  gnoctl bench collections/* --save before.json

  gnoctl bench collections/* --compare before.json
"""


# As gnod.evaluate has them: a test compares.
MODES = "|".join(
    [
        "lexical",
        "vector",
        "hybrid",
        "hybrid-rrf",
        "hybrid-half",
        "hybrid-no-expand",
        "hybrid-no-lex",
        "hybrid-no-vec",
        "hybrid-no-hyde",
        "hybrid-no-strong",
        "hybrid-no-rerank",
        "hybrid-no-floor",
    ]
)


class BenchOptions(Options, frozen=True, kw_only=True):
    folders: Annotated[list[str], argument("DIR", help="The test collections.")]
    mode: Annotated[
        list[str],
        option("--mode", help="How to search; repeatable (default: lexical, vector and hybrid).", complete=MODES),
    ] = field(default_factory=list)
    ablation: Annotated[
        bool, option("--ablation", help="Measure the hybrid query with one thing changed at a time.")
    ] = False
    model: Annotated[
        str | None, option("--model", metavar="URI", help="What embeds (default: the model of your index.yml).")
    ] = None
    expand: Annotated[
        str | None,
        option("--expand", metavar="URI", help="What writes other words for a query (default: as for --model)."),
    ] = None
    rerank: Annotated[str | None, option("--rerank", metavar="URI", help="What reranks (default: as for --model).")] = (
        None
    )
    budget: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        option("--budget", metavar="SECONDS", help="Time for each hybrid query (default: no limit)."),
    ] = None
    limit: Annotated[
        Annotated[int, Meta(ge=1)] | None, option("--limit", help="Ask the first so many queries only.")
    ] = None
    save: Annotated[
        str | None, option("--save", metavar="FILE", help="Write the figures, of every query too, as JSON.")
    ] = None
    compare: Annotated[
        str | None, option("--compare", metavar="FILE", help="Show what changed since --save wrote FILE.")
    ] = None
    json: Annotated[bool, option("--json", help="Print the figures as JSON.")] = False
    run: Annotated[str | None, option("--run", metavar="FILE", help="Write what was found as a TREC run file.")] = None


def bench(options: BenchOptions) -> NoReturn:
    """Become `gnod bench`: the measurement is the daemon's code, which this program does not import."""
    # -P: a folder called gnod where the user stands is not to be imported.
    command = [sys.executable, "-P", "-m", "gnod", "bench", *words(options)]
    os.execv(sys.executable, command)


def words(options: BenchOptions) -> list[str]:
    """Return the command line that `gnod bench` reads."""
    handed_on: list[str] = ["--quiet"] if options.quiet else []
    for spec in specs(BenchOptions):
        value = getattr(options, spec.name)
        if spec.name in SHARED or not spec.flags or not value:
            continue
        if spec.kind is bool:
            handed_on.append(spec.flags[-1])
        else:
            handed_on += [f"{spec.flags[-1]}={each}" for each in (value if spec.repeats else [value])]
    return [*handed_on, "--", *options.folders]


COMMAND = Command(BenchOptions, bench, HELP)
