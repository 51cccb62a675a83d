"""`gnoctl bench`: search quality on test collections."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Literal, NoReturn

import msgspec
from msgspec import Meta

from gnoctl.arguments.options import argument, option
from gnoctl.command import Options, command
from gnod.protocol.collections import Scope

# The modes of gnod.evaluate. A test compares the two lists.
Mode = Literal["keyword", "vector", "hybrid", "hybrid-rrf", "hybrid-no-expand", "hybrid-no-rerank", "hybrid-no-floor"]


def _model(flag: str, help: str) -> object:
    return option(flag, help, "URI")


class BenchOptions(Options, frozen=True, kw_only=True):
    folders: Annotated[list[str], argument("DIR", "The test collections")]
    mode: Annotated[list[Mode], option("--mode", "Search mode. Repeatable [default: keyword, vector, hybrid]")] = []
    memory: Annotated[bool, option("--memory", "Measure the recall of memories: DIR contains memories.jsonl")] = False
    ablation: Annotated[bool, option("--ablation", "Change one part of the hybrid query at a time")] = False
    model: Annotated[str | None, _model("--model", "Embedding model [default: the one in your index.yml]")] = None
    expand: Annotated[str | None, _model("--expand", "Model for query variants [default: as for --model]")] = None
    rerank: Annotated[str | None, _model("--rerank", "Reranking model [default: as for --model]")] = None
    egress: Annotated[
        Scope,
        option("--egress", "How far the texts may travel to model servers: local, lan or any", "SCOPE"),
    ] = "local"
    budget: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        option("--budget", "Time for each hybrid query [default: no limit]", "SECONDS"),
    ] = None
    no_tune: Annotated[bool, option("--no-tune", "Do not let the collections learn how much vectors count")] = False
    never_below: Annotated[
        Annotated[float, Meta(ge=0, lt=1)] | None,
        option(
            "--never-below",
            "Fail if hybrid search loses more than this against the better side in a collection (nDCG@10)",
            "LOSS",
        ),
    ] = None
    limit: Annotated[
        Annotated[int, Meta(ge=1)] | None, option("--limit", "Run only this many queries of each collection")
    ] = None
    save: Annotated[str | None, option("--save", "Write all figures as JSON", "FILE")] = None
    compare: Annotated[str | None, option("--compare", "Show the changes since --save wrote FILE", "FILE")] = None
    json: Annotated[bool, option("--json", "Print the figures as JSON")] = False
    run: Annotated[str | None, option("--run", "Write the results as a TREC run file", "FILE")] = None


@command("bench", BenchOptions)
def bench(options: BenchOptions) -> NoReturn:
    """Measure search quality on test collections in BEIR layout.

    Each DIR contains corpus.jsonl, queries.jsonl and qrels.tsv. It is indexed in a temporary index, without the daemon,
    and every judged query runs in every mode. A query without results scores 0. The modes vector and hybrid need an
    installed model (`gnoctl models pull embed`) and time to embed everything. The measures need optional packages:
    `pip install 'gnod[bench]'`.

    With --memory, DIR contains memories.jsonl (id, namespace, text; when, speaker) and queries.jsonl (id, namespace,
    question, category, evidence), as for LoCoMo. The memories are stored in a temporary database. The figures are the
    part of the evidence among the first 1, 5, 10 and 20 results of `gnoctl recall`, by kind of question.

    If DIR also contains answers.tsv (query-id, corpus-id, answer), the mode hybrid quotes as `gnoctl ask` does: the
    figures say in how many queries the first quote, or one of the first three, contains an answer. In every
    collection, it asks each query with and without its relevant documents (and copies of them): the figures say how
    well the confidence tells the two apart. unanswerable.jsonl may have queries (_id, text) that no document answers.
    It also gathers evidence of up to 1,000 tokens, and says how often that contains an answer or a part of a relevant
    document.

    Hybrid queries run without a time limit, and query variants are generated beforehand, so the figures show what each
    stage contributes; with --budget a query runs as in the daemon. The modes hybrid-rrf, hybrid-no-expand,
    hybrid-no-rerank and hybrid-no-floor are hybrid with that option of `gnoctl query`; --ablation measures all. The
    other modes are compared with hybrid query by query; a * marks significant differences. Collections learn as
    `gnoctl tune` does it.

    Examples:
      gnoctl bench collections/scifact
      gnoctl bench collections/* --ablation
      gnoctl bench collections/* --save before.json
      gnoctl bench collections/* --compare before.json
      gnoctl bench collections/* --never-below .01
      gnoctl bench --memory memories/locomo
    """
    # The measurement uses the daemon's code, which gnoctl does not import. -P: do not import a folder named gnod from
    # the current directory.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "gnod", "bench", request(options)])


def request(options: BenchOptions) -> str:
    """Return what `gnod bench` reads: the options in JSON."""
    own = set(BenchOptions.__struct_fields__) - set(Options.__struct_fields__) | {"quiet"}
    return msgspec.json.encode({name: getattr(options, name) for name in own}).decode()
