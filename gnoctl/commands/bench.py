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
Mode = Literal["keyword", "vector", "hybrid"]


def _model(flag: str, help: str) -> object:
    return option(flag, help, "URI")


class BenchOptions(Options, frozen=True, kw_only=True):
    folders: Annotated[list[str], argument("DIR", "The test collections")]
    mode: Annotated[list[Mode], option("--mode", "Search mode. Repeatable [default: all]")] = []
    model: Annotated[str | None, _model("--model", "Embedding model [default: the one in your index.yml]")] = None
    expand: Annotated[str | None, _model("--expand", "Model for query variants [default: as for --model]")] = None
    rerank: Annotated[str | None, _model("--rerank", "Reranking model [default: as for --model]")] = None
    egress: Annotated[
        Scope, option("--egress", "How far the texts may travel to model servers: local, lan or any", "SCOPE")
    ] = "local"
    limit: Annotated[
        Annotated[int, Meta(ge=1)] | None, option("--limit", "Run only this many queries of each collection")
    ] = None
    json: Annotated[bool, option("--json", "Print the figures as JSON")] = False


@command("bench", BenchOptions)
def bench(options: BenchOptions) -> NoReturn:
    """Measure search quality on test collections in BEIR layout.

    Each DIR contains corpus.jsonl, queries.jsonl and qrels.tsv. It is indexed in a temporary index, without the daemon,
    and every judged query runs in every mode. A query without results scores 0. The modes vector and hybrid need an
    installed model (`gnoctl models pull embed`) and time to embed everything. The measures need optional packages:
    `pip install 'gnod[bench]'`.

    Hybrid queries run without a time limit, and query variants are generated beforehand. Collections are tuned as by
    `gnoctl tune`.

    Examples:
      gnoctl bench collections/scifact
      gnoctl bench collections/* --mode vector --model hf:org/repo
      gnoctl bench collections/* --json
    """
    # The measurement uses the daemon's code, which gnoctl does not import. -P: do not import a folder named gnod from
    # the current directory.
    os.execv(sys.executable, [sys.executable, "-P", "-m", "gnod", "bench", request(options)])


def request(options: BenchOptions) -> str:
    """Return the options as JSON, which `gnod bench` reads."""
    own = set(BenchOptions.__struct_fields__) - set(Options.__struct_fields__) | {"quiet"}
    return msgspec.json.encode({name: getattr(options, name) for name in own}).decode()
